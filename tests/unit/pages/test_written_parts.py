"""The exercises in which a part is written: the skeleton waits, the solution passes."""

import re
from pathlib import Path

import nbformat
import pytest
from notebook_cells import run_cell

from attnbook.pages import save_part
from attnbook.pages.exercises.parts.registry import MODULES, find_part

BOOK = Path(__file__).resolve().parents[3] / "book"


def exercises_on(name):
    """For each cell that judges a part: its chapter, and it with the cells before it.

    These begin with the Markdown cell that opens the exercise or the solution.
    """
    for path in sorted(BOOK.glob("ch*.ipynb")):
        cells = nbformat.read(path, as_version=4).cells
        opened = 0
        for place, cell in enumerate(cells):
            if re.search(r"\{(exercise|solution)-start\}", cell.source):
                opened = place
            if cell.cell_type == "code" and f'judge("{name}"' in cell.source:
                yield path.stem, cells[opened : place + 1]


def run(cells, names):
    """Run the code among some cells."""
    for cell in cells:
        if cell.cell_type == "code":
            run_cell(cell.source, names)


@pytest.mark.parametrize("name", MODULES)
def test_the_skeleton_waits_and_the_solution_passes_and_explains(name, capsys):
    part, names = find_part(name), {}
    (chapter, skeleton), (same_chapter, solution) = exercises_on(name)
    assert chapter == same_chapter
    assert chapter.startswith(f"ch{part.chapter:02d}_")
    run(skeleton, names)
    assert capsys.readouterr().out.endswith(f"{name}: your turn.\n")
    assert f'save_part("{name}", ' in skeleton[-1].source
    run(solution, names)
    passed = f"{name}: all {len(part.stages)} stages passed."
    assert capsys.readouterr().out.splitlines()[0] == passed
    explanation = solution[0].source.partition("{solution-start}")[2]
    assert len(explanation.split()) > 40, "the solution should explain"


def test_all_solutions_fit_together_in_one_file(tmp_path, monkeypatch, capsys):
    """A reader who solves every exercise has all parts, each made of the others."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("ATTNBOOK_PARTS")
    for name in MODULES:
        names = {}
        (_, skeleton), (_, solution) = exercises_on(name)
        run(skeleton, names)
        run(solution, names)
        save_part(name, *(names[label] for label in find_part(name).names))
        assert f"Saved {name} in my_transformer.py." in capsys.readouterr().out
    text = (tmp_path / "my_transformer.py").read_text(encoding="utf-8")
    for name in ("attention", "MultiHeadAttention"):
        assert f"from attnbook.nn import {name}\n" not in text
    names = run_cell(text, {})
    assert {label for name in MODULES for label in find_part(name).names} <= {*names}
