"""Copies of the working tree, to try in them what writes or builds."""

import os
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]

# Shell scripts and make are for Linux and macOS.
collect_ignore = ["test_commands.py"] if os.name == "nt" else []


@pytest.fixture(scope="session")
def copy_tree() -> Callable[..., Path]:
    """A function that copies files and folders of the working tree to a folder."""

    def copy(folder: Path, *names: str) -> Path:
        ignored = shutil.ignore_patterns("__pycache__", "*.egg-info")
        for name in names:
            if (ROOT / name).is_dir():
                shutil.copytree(ROOT / name, folder / name, ignore=ignored)
            else:
                shutil.copy(ROOT / name, folder / name)
        return folder

    return copy
