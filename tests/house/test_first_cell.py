"""The first cell installs the package on Colab, and does nothing where it is there."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest

import first_cell

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_begin_with_it(path):
    cell = nbformat.read(path, as_version=4).cells[0]
    assert cell.source == first_cell.first_cell(first_cell.address())
    assert cell.metadata == first_cell.METADATA
    assert not cell.outputs


@pytest.fixture
def run(monkeypatch, capsys):
    """Run the cell and return the commands it started and what it printed."""

    def run(repository: str, *, colab: bool, installed: bool) -> tuple[list, str]:
        commands = []
        monkeypatch.setattr(subprocess, "check_call", commands.append)
        found = importlib.util.find_spec("attnbook") if installed else None
        monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
        monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
        if colab:
            monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab-1")
        exec(first_cell.first_cell(repository), {})
        return commands, capsys.readouterr().out

    return run


GIVEN, NONE = "an-owner/a-name", ""


def test_installs_the_package_on_colab(run):
    commands, printed = run(GIVEN, colab=True, installed=False)
    package = f"attnbook @ git+https://github.com/{GIVEN}"
    assert commands == [[sys.executable, "-m", "pip", "install", "-q", package]]
    assert not printed
    # And leaves the torch of Colab alone.
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "torch>=2.4,<3" in project["dependencies"]


@pytest.mark.parametrize(
    ("repository", "colab", "told"),
    [
        (NONE, True, "write owner/name of its GitHub repository into REPOSITORY"),
        (NONE, False, "make lab"),
        (GIVEN, False, "pip install -e ."),
    ],
)
def test_says_in_a_line_what_to_do_elsewhere(run, repository, colab, told):
    commands, printed = run(repository, colab=colab, installed=False)
    assert not commands
    assert told in printed
    assert printed.count("\n") == 1


@pytest.mark.parametrize("colab", [True, False])
def test_does_nothing_where_the_package_is(run, colab):
    assert run(GIVEN, colab=colab, installed=True) == ([], "")
