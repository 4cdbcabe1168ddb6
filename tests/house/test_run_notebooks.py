"""Running chapters, and comparing what they print with what is stored."""

import shutil
import subprocess
import sys
from pathlib import Path

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_notebook

import run_notebooks

ROOT = Path(run_notebooks.__file__).parents[1]
DRAW = """\
import matplotlib.pyplot as plt
_ = plt.plot([0, 1])
plt.show()"""
PART = "from attnbook.course import my_part\n_ = my_part('attention')"
EXPLORER = """\
from attnbook.course.ch04.explorer_queries_and_keys import explore_queries
explore_queries()"""


@pytest.fixture
def chapter(tmp_path, monkeypatch):
    """A function that writes a chapter with the given code cells."""
    monkeypatch.setattr(run_notebooks, "BOOK", tmp_path)

    def write(*cells):
        cells = [
            new_code_cell(c, id=f"c{i}") if isinstance(c, str) else c
            for i, c in enumerate(cells)
        ]
        path = tmp_path / "ch99_tiny.ipynb"
        nbformat.write(new_notebook(cells=cells), path)
        return path

    return write


@pytest.fixture
def command(monkeypatch):
    """A function that calls the script with arguments."""

    def call(*arguments):
        monkeypatch.setattr(sys, "argv", ["run_notebooks.py", *arguments])
        run_notebooks.main()

    return call


def tagged(source, *tags):
    return new_code_cell(source, metadata={"tags": list(tags)}, id="-".join(tags))


def test_stores_outputs_and_finds_all_but_a_changed_one_equal(chapter, command):
    path = chapter(
        tagged("raise SystemExit('only for Colab')", "nbval-skip"),
        tagged("print({'a', 'b', 'c'})", "nbval-ignore-output"),
        tagged("import time; print(time.time())", "nbval-ignore-output", "timing"),
        *(DRAW, tagged("1 / 0", "raises-exception")),
        *(PART, EXPLORER, "print(f'loss {1.25:.3f}')"),
    )
    shutil.copy(ROOT / "book" / "conftest.py", path.parent)
    (path.parent / "my_transformer.py").write_text("this is no Python")  # a reader's
    command("ch99")
    cells = nbformat.read(path, as_version=4).cells
    assert [cell.execution_count for cell in cells] == [None, *range(1, 8)]
    *_, drawn, error, part, explorer, _ = [cell.outputs for cell in cells]
    assert [output.output_type for output in drawn] == ["display_data"]
    assert error[0].ename == "ZeroDivisionError"
    assert part[0].text.startswith("attention: the package's. Yours is")
    assert set(explorer[0].data) == {"text/html", "text/plain"}
    assert "Largest weight: k₂, 0.70." in explorer[0].data["text/html"]
    path.write_text(path.read_text().replace("loss 1.250", "loss 1.251"))
    assert "1 failed, 6 passed" in nbval(path).stdout


def nbval(path):
    """Compare as `make test` does; return pytest's output."""
    options = ["-q", "-p", "no:cacheprovider", "--nbval", "--nbval-current-env"]
    command = [sys.executable, "-m", "pytest", *options, path.name]
    return subprocess.run(command, cwd=path.parent, capture_output=True, text=True)


@pytest.mark.parametrize(
    ("source", "message"),
    [
        ("x = 1\n1 / 0", "ch99_tiny.ipynb, cell 2 ('x = 1'): ZeroDivisionError"),
        ("import sys; print('oh', file=sys.stderr)", "wrote to stderr: oh"),
        ("import os; os._exit(1)", "ch99_tiny.ipynb: the kernel died"),
        ("import ipywidgets; ipywidgets.IntSlider()", "a widget is stored"),
    ],
)
def test_refuses_and_leaves_the_file_as_it_was(chapter, command, source, message):
    path = chapter("print(1)", source)
    before = path.read_bytes()
    with pytest.raises(run_notebooks.ChapterError) as refusal:
        command()
    assert message in str(refusal.value)
    assert "\n" not in str(refusal.value)
    assert path.read_bytes() == before
    assert list(path.parent.iterdir()) == [path]


def test_a_name_must_be_that_of_a_notebook(chapter, command):
    chapter("print(1)")
    with pytest.raises(run_notebooks.ChapterError, match=r"'ch1'.*are: ch99_tiny"):
        command("ch1")
