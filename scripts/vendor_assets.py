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
import tarfile
import tempfile
from pathlib import Path

VENDOR = Path(__file__).resolve().parents[1] / "book" / "_static" / "vendor"

MATHJAX = "package/es5/output/chtml/fonts/woff-v2/"
FONTS = "package/files/"
# Package → the checksum of its tarball, and what to keep of it: path in the tarball →
# path below `VENDOR`; a folder ends with a slash and is kept whole.
PACKAGES = {
    # `tex-chtml-full` holds every TeX extension (\textcolor, \boldsymbol, …); the
    # smaller builds load them when a page uses them.
    "mathjax@3.2.2": (
        "sha512-Bt+SSVU8eBG27zChVewOicYs7Xsdt40qm4+UpHyX7k0/O9NliPc+x77k1/"
        "FEsPsjKPZGJvtRZM1vO+geW0OhGw==",
        {
            "package/LICENSE": "mathjax/LICENSE",
            "package/es5/tex-chtml-full.js": "mathjax/tex-chtml-full.js",
            MATHJAX: "mathjax/output/chtml/fonts/woff-v2/",
        },
    ),
    "@fontsource-variable/source-serif-4@5.3.1": (
        "sha512-4Rtay22SC4lMvw11r/+9kxANB6P3M0X8s1NudBC2v0J1KU2y3DcMoNcT3lBoZ/"
        "CqLirzf+StlO6UlJilyrvaUg==",
        {
            "package/LICENSE": "source-serif/LICENSE",
            FONTS
            + "source-serif-4-latin-wght-normal.woff2": "source-serif/normal.woff2",
            FONTS
            + "source-serif-4-latin-wght-italic.woff2": "source-serif/italic.woff2",
        },
    ),
    "@fontsource-variable/source-sans-3@5.3.0": (
        "sha512-dpi0GZk7EQe2tYpg6Q0Fx0OmUgnuGu+0rHPgtXqtKhglYmJuP7jZ12Mu1uN+"
        "NfRaJRY1Emn8AQJEWzmoZ4wa9g==",
        {
            "package/LICENSE": "source-sans/LICENSE",
            FONTS + "source-sans-3-latin-wght-normal.woff2": "source-sans/normal.woff2",
            FONTS + "source-sans-3-latin-wght-italic.woff2": "source-sans/italic.woff2",
        },
    ),
    "@fontsource-variable/source-code-pro@5.3.0": (
        "sha512-CxzAbqtNrQ6EQXTb9ovRZIRiOhFPcBQhNKla58K5UV6IMoL/"
        "ROkWxXDSBOa/frIDLuV4B5PLHI4R1e9SWVinYg==",
        {
            "package/LICENSE": "source-code/LICENSE",
            FONTS
            + "source-code-pro-latin-wght-normal.woff2": "source-code/normal.woff2",
        },
    ),
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


def check_integrity(package: str, tarball: bytes, integrity: str) -> None:
    """Stop unless the bytes are those the integrity string was made from."""
    algorithm, _, expected = integrity.partition("-")
    digest = base64.b64encode(hashlib.new(algorithm, tarball).digest()).decode()
    if digest != expected:
        raise SystemExit(
            f"{package}: got {algorithm}-{digest}, expected {integrity}; nothing was "
            "written. If the version was changed on purpose, change its checksum too."
        )


def unpack(tarball: bytes, keep: dict[str, str], target: Path) -> None:
    """Write the files named in `keep` below `target`."""
    missing = set(keep)
    with tarfile.open(fileobj=io.BytesIO(tarball)) as archive:
        for member in filter(tarfile.TarInfo.isfile, archive.getmembers()):
            for source, place in keep.items():
                inside = source.endswith("/") and member.name.startswith(source)
                if inside or member.name == source:
                    path = target / (place + member.name.removeprefix(source))
                    path.parent.mkdir(parents=True, exist_ok=True)
                    path.write_bytes(archive.extractfile(member).read())
                    missing.discard(source)
    if missing:
        raise SystemExit(f"not in the package any more: {', '.join(sorted(missing))}")


def main() -> None:
    """Replace the vendored files by freshly fetched ones."""
    # Beside the old files, so that these stay until the new ones are complete.
    with tempfile.TemporaryDirectory(dir=VENDOR.parent) as folder:
        new = Path(folder) / VENDOR.name
        for package, (integrity, keep) in PACKAGES.items():
            print(package, flush=True)
            with tempfile.TemporaryDirectory() as download:
                tarball = fetch(package, Path(download))
            check_integrity(package, tarball, integrity)
            unpack(tarball, keep, new)
        shutil.rmtree(VENDOR, ignore_errors=True)
        new.rename(VENDOR)


if __name__ == "__main__":
    main()
