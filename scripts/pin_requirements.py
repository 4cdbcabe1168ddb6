"""Renew requirements.txt: every version that requirements.in leads to, for all systems.

The resolver is uv, fetched into a folder that is thrown away afterwards.

The file has no checksums. With a single one, pip asks for a checksum of everything it
installs, and torch comes in several builds under the same version: from PyPI with the
CUDA libraries that are left out here, or from PyTorch's own index for the processor.
"""

import os
import re
import subprocess
import sys
import tempfile
import venv
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
OLDEST_PYTHON = "3.11"
HEADER = """\
# Made by `make pins` from requirements.in: edit that.
# The packages nvidia-*, cuda-* and triton are left out: only the CUDA build of torch
# needs them, and it asks pip for exactly those it was built with.
"""
LEFT_OUT = re.compile(r"^(?:nvidia|cuda|triton)\b.*\n", flags=re.MULTILINE)


def resolve() -> str:
    """Return one line for each package, with the systems it is for."""
    with tempfile.TemporaryDirectory() as folder:
        venv.create(folder, with_pip=True)
        programs = Path(folder) / ("Scripts" if os.name == "nt" else "bin")
        pip = [programs / "python", "-m", "pip", "install", "--quiet", "uv"]
        uv = [programs / "uv", "pip", "compile", "--quiet", "--universal", "--upgrade"]
        options = ["--no-header", "--no-annotate", f"--python-version={OLDEST_PYTHON}"]
        subprocess.run(pip, check=True)
        return subprocess.run(
            [*uv, *options, ROOT / "requirements.in"],
            check=True,
            stdout=subprocess.PIPE,
            encoding="utf-8",
        ).stdout


def main() -> None:
    """Write requirements.txt."""
    try:
        pins = LEFT_OUT.sub("", resolve())
    except subprocess.CalledProcessError as error:
        program = Path(error.cmd[0]).name
        sys.exit(f"requirements.txt stays as it was: {program} failed, see above.")
    (ROOT / "requirements.txt").write_text(HEADER + pins, encoding="utf-8")
    print(f"requirements.txt names {len(pins.splitlines())} versions; now: make test")


if __name__ == "__main__":
    main()
