"""The address of the published course, and the first cell of every notebook."""

import importlib.util
import subprocess
import sys
import tomllib
from pathlib import Path

import nbformat
import pytest
import yaml

from set_repository import FIRST_METADATA, first_cell, set_repository

ROOT = Path(__file__).resolve().parents[2]
NOTEBOOKS = sorted((ROOT / "book").glob("*.ipynb"))
ADDRESS = (ROOT / "REPOSITORY").read_text(encoding="utf-8").strip()


@pytest.fixture
def tree(tmp_path, copy_tree):
    """The files that hold the address, and a chapter with a stored output."""
    copy_tree(tmp_path, "README.md", "CITATION.cff", "REPOSITORY")
    (tmp_path / "book").mkdir()
    output = nbformat.v4.new_output("stream", text="42\n")
    cell = nbformat.v4.new_code_cell("print(42)", execution_count=1, outputs=[output])
    title = nbformat.v4.new_markdown_cell("# A chapter")
    chapter = nbformat.v4.new_notebook(cells=[title, cell])
    nbformat.write(chapter, tmp_path / "book" / "ch01_name.ipynb")
    return tmp_path


def test_the_address_is_written_everywhere_and_the_second_replaces_the_first(tree):
    set_repository(tree, "other/first")
    set_repository(tree, "an-owner/a.name_2")
    files = [path for path in tree.rglob("*") if path.is_file()]
    assert not [path for path in files if "other/first" in path.read_text()]
    assert (tree / "REPOSITORY").read_text() == "an-owner/a.name_2\n"
    readme = (tree / "README.md").read_text()
    assert "https://an-owner.github.io/a.name_2/" in readme
    assert "an-owner/a.name_2/blob/notebooks/book/intro.ipynb" in readme
    assert "an-owner/a.name_2/notebooks?urlpath=lab/tree/book/intro.ipynb" in readme
    page = "https://an-owner.github.io/a.name_2/book/ch01_name.html"
    assert f"| 1 | [Sequence to sequence with RNNs]({page}) | Can one" in readme
    citation = yaml.safe_load((tree / "CITATION.cff").read_text())
    assert citation["repository-code"] == "https://github.com/an-owner/a.name_2"
    assert citation["url"] == "https://an-owner.github.io/a.name_2/"
    cells = nbformat.read(tree / "book" / "ch01_name.ipynb", as_version=4).cells
    wanted = [first_cell("an-owner/a.name_2"), "# A chapter", "print(42)"]
    assert [cell.source for cell in cells] == wanted
    assert cells[2].outputs[0].text == "42\n"


@pytest.mark.parametrize(
    "name", ["", "a-name", "a/b/c", "https://github.com/a/b", "a /b", "-a/b", "a/b\nc"]
)
def test_refuses_what_is_no_address(tree, name):
    before = (tree / "REPOSITORY").read_text()
    with pytest.raises(ValueError, match="must be owner/name"):
        set_repository(tree, name)
    assert (tree / "REPOSITORY").read_text() == before


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_begin_with_the_first_cell(path):
    cell = nbformat.read(path, as_version=4).cells[0]
    assert (cell.source, cell.metadata) == (first_cell(ADDRESS), FIRST_METADATA)
    assert not cell.outputs


@pytest.mark.parametrize(
    ("repository", "colab", "installed", "told"),
    [
        ("an-owner/a-name", True, False, ""),
        ("", True, False, "write owner/name of its GitHub repository into REPOSITORY"),
        ("", False, False, "make lab"),
        ("an-owner/a-name", False, False, "pip install -e '.[course]'"),
        ("an-owner/a-name", True, True, ""),
    ],
)
def test_it_installs_the_package_on_colab_and_else_says_what_to_do(
    monkeypatch, capsys, repository, colab, installed, told
):
    commands = []
    monkeypatch.setattr(subprocess, "check_call", commands.append)
    found = importlib.util.find_spec("attnbook") if installed else None
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: found)
    monkeypatch.delenv("COLAB_RELEASE_TAG", raising=False)
    if colab:
        monkeypatch.setenv("COLAB_RELEASE_TAG", "release-colab-1")
    exec(first_cell(repository), {})
    printed = capsys.readouterr().out
    assert told in printed
    assert printed.count("\n") == bool(told)
    package = f"attnbook[course] @ git+https://github.com/{repository}"
    wanted = [[sys.executable, "-m", "pip", "install", "-q", package]]
    assert commands == wanted * (not installed and not told)


def test_the_torch_of_colab_is_left_alone():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    assert "torch>=2.5,<3" in project["dependencies"]
