"""The readers' notebooks of the built book hold what the checks ask for."""

import nbformat
import pytest
from notebook_checks import reader_findings

from build_book import ROOT
from reader_notebooks import made, read

SOURCES = sorted(
    path for path in (ROOT / "book").iterdir() if path.suffix in (".ipynb", ".md")
)


@pytest.fixture(scope="module")
def notebooks(html):
    """By their file names, with links as a reader without a network needs them."""
    return dict(made(ROOT, site=False))


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_nothing_of_the_books_markup_is_left(notebooks, source):
    notebook = notebooks[f"{source.stem}.ipynb"]
    assert reader_findings(notebook, read(source), notebooks.keys()) == []


@pytest.mark.parametrize("source", SOURCES, ids=lambda path: path.stem)
def test_the_page_offers_it(notebooks, html, source):
    built = html.parent / "notebooks" / f"{source.stem}.ipynb"
    nbformat.validate(nbformat.read(built, as_version=4))
    if source.suffix == ".ipynb":
        offered = html / "_sources" / "book" / source.name
        assert offered.read_bytes() == built.read_bytes()
        page = (html / "book" / f"{source.stem}.html").read_text(encoding="utf-8")
        assert f'href="../_sources/book/{source.name}"' in page


def test_there_are_no_others(notebooks, html):
    built = {path.name for path in (html.parent / "notebooks").iterdir()}
    assert built == set(notebooks) == {f"{path.stem}.ipynb" for path in SOURCES}
