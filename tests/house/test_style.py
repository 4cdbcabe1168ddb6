"""The code is as ruff wants it; pyproject.toml says how."""

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
