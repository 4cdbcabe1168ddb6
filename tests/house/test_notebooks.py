"""The stored notebooks; that their outputs are true is shown by nbval."""

from pathlib import Path

import nbformat
import pytest

from notebook_checks import findings

BOOK = Path(__file__).resolve().parents[2] / "book"


@pytest.mark.parametrize("path", sorted(BOOK.glob("*.ipynb")), ids=lambda p: p.stem)
def test_stored_notebook(path):
    assert findings(nbformat.read(path, as_version=4)) == []
