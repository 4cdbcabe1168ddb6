"""Fetch the browser assets that the book carries, so that no page loads from afar.

Run from anywhere: ``python scripts/vendor_assets.py``. It needs npm and a network;
the files it writes below ``book/_static/vendor`` are part of the repository.
"""

from __future__ import annotations

import base64
import hashlib
import io
import shutil
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parents[1] / "book" / "_static" / "vendor"

PACKAGE = "mathjax@3.2.2"
INTEGRITY = (  # of the npm tarball
    "sha512-Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/"
    "FEsPsjKPZGJvtRZM1vO+geW0OhGw=="
)
# What to keep: path in the tarball → path below `VENDOR`.  `tex-chtml-full` holds every
# TeX extension (\textcolor, \boldsymbol, …); the smaller builds load them when used.
KEEP = {
    "package/LICENSE": "mathjax/LICENSE",
    "package/es5/tex-chtml-full.js": "mathjax/tex-chtml-full.js",
    "package/es5/output/chtml/fonts/woff-v2/": "mathjax/output/chtml/fonts/woff-v2/",
}


def fetch(package: str, folder: Path) -> bytes:
    """Return the tarball of an npm package, downloaded by npm into `folder`."""
    npm = shutil.which("npm")
    if npm is None:
        raise SystemExit("npm is not installed: get Node.js, then run this again.")
    command = [npm, "pack", package, "--silent", "--pack-destination", str(folder)]
    if subprocess.run(command).returncode:
        raise SystemExit(f"npm could not fetch {package}: is there a network?")
    return next(folder.glob("*.tgz")).read_bytes()


def check_integrity(tarball: bytes, integrity: str) -> None:
    """Stop unless the bytes are those the integrity string was made from."""
    algorithm, _, expected = integrity.partition("-")
    digest = base64.b64encode(hashlib.new(algorithm, tarball).digest()).decode()
    if digest != expected:
        raise SystemExit(
            f"{PACKAGE}: got {algorithm}-{digest}, expected {integrity}; nothing was "
            "written. If the version was changed on purpose, change INTEGRITY too."
        )


def unpack(tarball: bytes, target: Path) -> int:
    """Write the files named in `KEEP` below `target` and return their number."""
    written = 0
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        for member in archive.getmembers():
            for source, place in KEEP.items():
                inside = source.endswith("/") and member.name.startswith(source)
                if member.isfile() and (member.name == source or inside):
                    path = target / (place + member.name.removeprefix(source))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.extractfile(member).read())
                    written += 1
    return written


def main() -> None:
    """Replace the vendored files by freshly fetched ones."""
    with tempfile.TemporaryDirectory() as folder:
        tarball = fetch(PACKAGE, Path(folder))
    check_integrity(tarball, INTEGRITY)
    shutil.rmtree(VENDOR, ignore_errors=True)
    print(f"{PACKAGE}: {unpack(tarball, VENDOR)} files in {VENDOR}")


if __name__ == "__main__":
    sys.exit(main())
