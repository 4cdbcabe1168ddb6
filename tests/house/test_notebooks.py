"""The stored notebooks; that their outputs are true is shown by nbval."""

from pathlib import Path

import nbformat
import pytest

import hidden_checks
import lab_checks
import notebook_checks

BOOK = Path(__file__).resolve().parents[2] / "book"
NOTEBOOKS = sorted(BOOK.glob("*.ipynb"))
LABS = [path for path in NOTEBOOKS if lab_checks.NAME.match(path.stem)]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_notebook(path):
    notebook = nbformat.read(path, as_version=4)
    assert notebook_checks.findings(notebook) == []
    assert hidden_checks.findings(notebook) == []


@pytest.mark.parametrize("path", LABS, ids=lambda path: path.stem)
def test_sections_of_a_laboratory_page_have_one_form(path):
    notebook = nbformat.read(path, as_version=4)
    assert [*lab_checks.check_form(path.stem, notebook)] == []


def test_links_to_laboratory_pages_lead_to_the_section_they_name():
    book = {path.stem: nbformat.read(path, as_version=4) for path in NOTEBOOKS}
    assert [*lab_checks.check_links(book)] == []
