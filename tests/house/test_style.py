"""The code is as its linters want it: pyproject.toml and .oxlintrc.json say how."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("command", ["check", "format --check"])
def test_ruff(command):
    ruff = [sys.executable, "-m", "ruff", *command.split(), "--quiet", "."]
    shown = subprocess.run(ruff, cwd=ROOT, capture_output=True, text=True)
    assert not shown.returncode, f"ruff {command}:\n{shown.stdout}{shown.stderr}"


def test_oxlint():
    """The scripts of the pages; not those of others, nor data."""
    own = (
        "code/attnbook/course/**/*.js",
        "book/_static/*.js",
        "book/_static/live/**/*.js",
    )
    scripts = [path for pattern in own for path in ROOT.glob(pattern)]
    assert scripts
    oxlint = shutil.which("oxlint", path=Path(sys.executable).parent)
    command = [oxlint, "--deny-warnings", "--format=unix", *scripts]
    shown = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert not shown.returncode, f"oxlint:\n{shown.stdout}{shown.stderr}"
