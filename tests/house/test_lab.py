"""`make lab` opens copies of the notebooks: nothing that the reader did is lost."""

import nbformat
import pytest
from nbformat.v4 import new_markdown_cell, new_notebook

from lab import lab_options, update


def notebook(text):
    return new_notebook(cells=[new_markdown_cell(text, id="a")])


def text(path):
    return nbformat.read(path, as_version=4).cells[0].source


@pytest.fixture
def make(tmp_path):
    """A function that brings the reader's folder up to date with a new version."""

    def make(version, name="one.ipynb"):
        written, lines = update(tmp_path / "lab", [(name, notebook(version))])
        return [path.name for path in written], lines

    return make


@pytest.fixture
def change(tmp_path):
    """A function that changes a notebook, as a reader would."""

    def change(version, name="one.ipynb"):
        nbformat.write(notebook(version), tmp_path / "lab" / name)

    return change


def folder(tmp_path):
    return {path.name: text(path) for path in (tmp_path / "lab").glob("*.ipynb")}


def test_copies_follow_the_book_and_a_deleted_one_comes_back(make, tmp_path):
    assert make("first") == (["one.ipynb"], [])
    assert make("first") == ([], [])
    assert make("second") == (["one.ipynb"], [])
    assert folder(tmp_path) == {"one.ipynb": "second"}
    (tmp_path / "lab" / "one.ipynb").unlink()
    assert make("second") == (["one.ipynb"], [])


def test_a_new_version_is_put_next_to_a_changed_copy(make, change, tmp_path):
    make("first")
    change("mine")
    assert make("first") == ([], [])
    line = "one.ipynb has your changes. Its new version is one-2.ipynb."
    assert make("second") == (["one-2.ipynb"], [line])
    assert make("second") == ([], [])
    assert make("third") == (["one-2.ipynb"], [line])
    assert folder(tmp_path) == {"one.ipynb": "mine", "one-2.ipynb": "third"}


def test_every_changed_copy_stays(make, change, tmp_path):
    for number, name in enumerate(["one.ipynb", "one-2.ipynb", "one-3.ipynb"]):
        assert make(f"version {number}")[0] == [name]
        change(f"mine {number}", name)
    assert sorted(folder(tmp_path).values()) == ["mine 0", "mine 1", "mine 2"]


@pytest.mark.parametrize("made", [False, True])
def test_a_file_without_a_record_stays(make, change, tmp_path, made):
    """One of the reader's own, or one whose record is lost."""
    if made:
        make("first")
        (tmp_path / "lab" / ".made.json").unlink()
    (tmp_path / "lab").mkdir(exist_ok=True)
    change("mine")
    assert make("first")[0] == ["one-2.ipynb"]
    assert folder(tmp_path) == {"one.ipynb": "mine", "one-2.ipynb": "first"}


@pytest.mark.parametrize(
    ("options", "is_root", "given"),
    [
        ([], False, []),
        (["--no-browser"], False, ["--no-browser"]),
        (["--no-browser"], True, ["--allow-root", "--no-browser"]),
        (["--port=1", "--allow-root"], True, ["--port=1", "--allow-root"]),
        (["--allow-root=True"], True, ["--allow-root=True"]),
    ],
)
def test_root_may_open_jupyterlab_and_is_told_so(options, is_root, given, capsys):
    assert lab_options(options, is_root) == given
    added = is_root and "--allow-root" not in "".join(options)
    assert capsys.readouterr().out.count("--allow-root") == added
