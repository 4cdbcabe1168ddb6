"""Fetch the browser assets that the book carries, so that no page loads from afar.

Run from anywhere: ``python scripts/vendor_assets.py``. It needs npm and a network; the
versions and their checksums stand in ``scripts/vendor``, and the files that it writes
below ``book/_static/vendor`` are part of the repository.
"""

from __future__ import annotations

import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path

PACKAGES = Path(__file__).parent / "vendor"
VENDOR = Path(__file__).resolve().parents[1] / "book" / "_static" / "vendor"
FONTS = {
    "serif": ("serif-4", "normal", "italic"),
    "sans": ("sans-3", "normal", "italic"),
    "code": ("code-pro", "normal"),
}


def kept() -> Iterator[tuple[str, str]]:
    """Yield paths in `node_modules`, each with its path below `VENDOR`."""
    yield "mathjax/LICENSE", "mathjax/LICENSE"
    # `tex-chtml-full` holds every TeX extension (\textcolor, \boldsymbol, …); the
    # smaller builds load them when a page uses them.
    yield "mathjax/es5/tex-chtml-full.js", "mathjax/tex-chtml-full.js"
    fonts = "output/chtml/fonts/woff-v2"
    yield f"mathjax/es5/{fonts}", f"mathjax/{fonts}"
    for family, (name, *styles) in FONTS.items():
        package = f"@fontsource-variable/source-{name}"
        yield f"{package}/LICENSE", f"source-{family}/LICENSE"
        for style in styles:
            file = f"{package}/files/source-{name}-latin-wght-{style}.woff2"
            yield file, f"source-{family}/{style}.woff2"


def main() -> None:
    """Replace the vendored files by freshly fetched ones."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed: get Node.js, then run this again.")
    with tempfile.TemporaryDirectory() as folder:
        shutil.copytree(PACKAGES, folder, dirs_exist_ok=True)
        # It refuses what has another checksum.
        subprocess.run([npm, "ci", "--ignore-scripts"], cwd=folder, check=True)
        shutil.rmtree(VENDOR, ignore_errors=True)
        for source, target in kept():
            there, here = Path(folder) / "node_modules" / source, VENDOR / target
            here.parent.mkdir(parents=True, exist_ok=True)
            (shutil.copytree if there.is_dir() else shutil.copy)(there, here)


if __name__ == "__main__":
    main()
