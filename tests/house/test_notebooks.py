"""The stored notebooks; that their outputs are true is shown by nbval."""

from pathlib import Path

import nbformat
import pytest
from notebook_checks import check_lab_links, findings

NOTEBOOKS = sorted((Path(__file__).resolve().parents[2] / "book").glob("*.ipynb"))


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_stored_notebook(path):
    assert findings(nbformat.read(path, as_version=4)) == []


def test_links_to_laboratory_pages_lead_to_the_section_they_name():
    book = {path.stem: nbformat.read(path, as_version=4) for path in NOTEBOOKS}
    assert [*check_lab_links(book)] == []
