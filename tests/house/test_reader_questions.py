"""Each chapter's ten questions for readers, and the sections that answer them."""

import re
import tomllib
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
FILES = sorted((ROOT / "tests" / "readers").glob("*.toml"))


def sections(chapter):
    """The headings of a chapter's main path."""
    [path] = (ROOT / "book").glob(f"{chapter}_*.ipynb")
    cells = nbformat.read(path, as_version=4).cells
    text = "\n".join(cell.source for cell in cells if cell.cell_type == "markdown")
    main_path = re.split(r"^## Exercises", text, flags=re.MULTILINE)[0]
    return set(re.findall(r"^##+ (.+)$", main_path, re.MULTILINE))


def test_there_are_some():
    assert FILES


@pytest.mark.parametrize("path", FILES, ids=lambda path: path.stem)
def test_ten_questions_each_answered_in_a_section_of_the_chapter(path):
    questions = tomllib.loads(path.read_text())["question"]
    assert len(questions) == 10
    assert len({question["ask"] for question in questions}) == 10
    assert all(question["answer"].strip() for question in questions)
    assert {question["section"] for question in questions} <= sections(path.stem)
