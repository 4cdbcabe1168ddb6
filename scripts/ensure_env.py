"""Make .venv hold what requirements.txt names; do nothing if it already does.

`make` calls it, with a Python that find_python.sh chose.  TORCH=cpu takes PyTorch's
smaller CPU build, which on Linux is not the one of the package index.
"""

import errno
import hashlib
import os
import re
import subprocess
import sys
import venv
from pathlib import Path

import progress

ROOT = Path(__file__).resolve().parents[1]
VENV = ROOT / ".venv"
PYTHON = VENV / "bin" / "python"
LOG = ROOT / "_build" / "install.log"
# What .venv was last made from, or INSTALLING if that came to no end.
STAMP = VENV / "made-from"
INSTALLING = "installing"
VERSION = f"{sys.version_info.major}.{sys.version_info.minor}"

CPU_INDEX = "https://download.pytorch.org/whl/cpu"
NO_SPACE = (
    "The disk is full: the installation needs 2 GB (6 GB with the CUDA build of torch) "
    f"in {ROOT} and some in pip's cache and temporary folder. Free some, then run the "
    "same command again."
)
NO_NETWORK = (
    "The package index cannot be reached. Check the network (proxy: HTTPS_PROXY; a "
    "mirror: PIP_INDEX_URL), then run the same command again; what has been downloaded "
    "is kept."
)
NETWORK_SIGNS = (
    "NewConnectionError",
    "ConnectTimeout",
    "ReadTimeout",
    "Read timed out",
    "ProxyError",
    "SSLError",
    "Connection aborted",
    "Connection broken",
    "ConnectionResetError",
    "IncompleteRead",
    "Name or service not known",
    "name resolution",
    "Network is unreachable",
)


def made_from() -> str:
    """What .venv depends on, as one string: files, Python version and place."""
    digest = hashlib.sha256()
    for name in ("requirements.txt", "pyproject.toml"):
        digest.update((ROOT / name).read_bytes())
    return f"{digest.hexdigest()} Python {VERSION} in {ROOT}"


def explain(output: str) -> str:
    """Say in one line why pip failed, and what to do.

    Args:
        output: all that pip wrote.
    """
    if re.search("No space left on device|Disk quota exceeded", output):
        return NO_SPACE
    missing = re.search(r"No matching distribution found for (\S+)", output)
    nothing_came = not re.search(r"Downloading|Using cached|already satisfied", output)
    if any(sign in output for sign in NETWORK_SIGNS) or (missing and nothing_came):
        return NO_NETWORK
    machine = f"Python {VERSION} on {sys.platform} {os.uname().machine}"
    if missing:
        return (
            f"{missing[1]} is not offered for {machine}. Try another Python "
            "(make book PYTHON=python3.12), or read the book on Colab or Binder."
        )
    errors = re.findall(r"^ERROR: (.+)", output, flags=re.MULTILINE)
    reason = errors[-1] if errors else "pip gave no reason"
    return f"The installation failed with {machine}: {reason} All of it: {LOG}"


def pip_status(line: str) -> str | None:
    """What a line of pip's output says about how far it is, or None."""
    if found := re.match(r"\s*Downloading \S*?([^/\s]+?)-\d\S* \((.+)\)", line):
        return f"downloading {found[1]}, {found[2]}"
    if found := re.match(r"(?:Collecting|Processing) .*\(line (\d+)\)", line):
        return f"looking up line {found[1]} of requirements.txt"
    if line.startswith("Installing collected packages"):
        return "unpacking (the longest part)"
    return None


def pip(title: str, *arguments: str) -> None:
    """Run .venv's pip, showing progress; end the program with one line if it fails."""
    # Python compiles modules when they are first imported; doing so for all of them
    # here would double the time.
    options = ["--progress-bar=off", "--no-compile"]
    command = [str(PYTHON), "-m", "pip", "install", *options, *arguments]
    code, output = progress.run(command, title, pip_status)
    if code:
        if "Installing collected packages" not in output:
            STAMP.write_text("")  # nothing was unpacked: .venv is as whole as before
        LOG.parent.mkdir(exist_ok=True)
        LOG.write_text(output, encoding="utf-8")
        sys.exit(explain(output))


def usable() -> bool:
    """Whether .venv is worth keeping: whole, here, and of the Python that runs this."""
    if STAMP.exists() and STAMP.read_text() == INSTALLING:
        return False
    try:
        command = [VENV / "bin" / "pip", "--version"]
        answer = subprocess.run(command, capture_output=True, text=True).stdout
    except OSError:
        return False
    # A .venv that was moved or copied still answers from where it was made.
    return f" from {VENV}/" in answer and f"(python {VERSION})" in answer


def create() -> None:
    """Make an empty .venv, in the place of an old one."""
    print(f"Making .venv with Python {sys.version.split()[0]}")
    if VENV.is_symlink():  # what it leads to is somebody else's
        VENV.unlink()
    try:
        venv.create(VENV, clear=True, with_pip=True, symlinks=True)
    except subprocess.CalledProcessError as error:
        if b"No space left" in (error.output or b""):
            sys.exit(NO_SPACE)
        sys.exit(
            f"{sys.executable} cannot make a virtual environment with pip: its module "
            f"ensurepip is missing or broken. On Debian or Ubuntu: "
            f"sudo apt install python{VERSION}-venv"
        )


def install() -> None:
    """Install the pinned requirements, then the course's own package."""
    STAMP.write_text(INSTALLING)
    requirements = (ROOT / "requirements.txt").read_text()
    if os.environ.get("TORCH") == "cpu":
        torch = re.search(r"^torch==\S+", requirements, flags=re.MULTILINE)[0]
        pip(
            "Installing torch for the CPU", torch, "--no-deps", "--index-url", CPU_INDEX
        )
    total = len(re.findall(r"^\w", requirements, flags=re.MULTILINE))
    pip(f"Installing {total} packages", "-r", str(ROOT / "requirements.txt"))
    pip("Installing attnbook", "--no-deps", "--no-build-isolation", "-e", str(ROOT))
    STAMP.write_text(made_from())


def main() -> None:
    """Make or complete .venv where it is not up to date."""
    torch = os.environ.get("TORCH", "")
    if torch not in ("", "cpu"):
        sys.exit(f"TORCH={torch} is unknown: say TORCH=cpu, or leave it out.")
    if PYTHON.exists() and STAMP.exists() and STAMP.read_text() == made_from():
        return
    try:
        if not usable():
            create()
        install()
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            sys.exit(NO_SPACE)
        sys.exit(f"{error}: .venv was not made. Do you have the right to write there?")
    except KeyboardInterrupt:
        sys.exit("\nInterrupted. The same command starts afresh; downloads are kept.")


if __name__ == "__main__":
    main()
