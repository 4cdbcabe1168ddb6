"""`make lab` opens copies of the notebooks: nothing that the reader did is lost."""

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from lab import lab_options, update


def notebook(text):
    return new_notebook(cells=[new_markdown_cell(text, id="a")])


@pytest.fixture
def make(tmp_path):
    """A function that brings the reader's folder up to date with a new version."""

    def make(version):
        written, lines = update(tmp_path, [("one.ipynb", notebook(version))])
        return [path.name for path in written], lines

    return make


@pytest.fixture
def change(tmp_path):
    """A function that changes a notebook, as a reader would."""

    def change(version, name="one.ipynb"):
        nbformat.write(notebook(version), tmp_path / name)

    return change


def folder(tmp_path):
    return {
        path.name: nbformat.read(path, as_version=4).cells[0].source
        for path in tmp_path.glob("*.ipynb")
    }


def test_copies_follow_the_book_and_a_deleted_one_comes_back(make, tmp_path):
    assert make("first") == (["one.ipynb"], [])
    assert make("first") == ([], [])
    assert make("second") == (["one.ipynb"], [])
    assert folder(tmp_path) == {"one.ipynb": "second"}
    (tmp_path / "one.ipynb").unlink()
    assert make("second") == (["one.ipynb"], [])


def test_new_versions_are_put_next_to_changed_copies(make, change, tmp_path):
    make("first")
    change("mine")
    assert make("first") == ([], [])
    line = "one.ipynb has your changes. Its new version is {}."
    assert make("second") == (["one-2.ipynb"], [line.format("one-2.ipynb")])
    assert make("second") == ([], [])
    assert make("third")[0] == ["one-2.ipynb"]
    assert folder(tmp_path) == {"one.ipynb": "mine", "one-2.ipynb": "third"}
    change("mine, too", "one-2.ipynb")
    assert make("fourth") == (["one-3.ipynb"], [line.format("one-3.ipynb")])
    assert folder(tmp_path)["one-2.ipynb"] == "mine, too"


@pytest.mark.parametrize("made", [False, True])
def test_a_file_without_a_record_stays(make, change, tmp_path, made):
    """One of the reader's own, or one whose record is lost."""
    if made:
        make("first")
        (tmp_path / ".made.json").unlink()
    change("mine")
    assert make("first")[0] == ["one-2.ipynb"]
    assert folder(tmp_path) == {"one.ipynb": "mine", "one-2.ipynb": "first"}


@pytest.mark.parametrize(
    ("options", "is_root", "given"),
    [
        (["--no-browser"], False, ["--no-browser"]),
        (["--no-browser"], True, ["--allow-root", "--no-browser"]),
        (["--allow-root=True"], True, ["--allow-root=True"]),
    ],
)
def test_root_may_open_jupyterlab_and_is_told_so(options, is_root, given, capsys):
    assert lab_options(options, is_root) == given
    assert capsys.readouterr().out.count("--allow-root") == (given != options)
