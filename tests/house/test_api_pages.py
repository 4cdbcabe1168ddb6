"""Every module of the library is described in the book, room by room."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
PAGES = ROOT / "book" / "api"
# What only the pages need, its own page lists in part.
FOLDERS = (ROOT / "code" / "attnbook").glob("*/__init__.py")
ROOMS = sorted({path.parent.name for path in FOLDERS} - {"course"})


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_lists_its_modules(room):
    """From this list the page of the room is made."""
    folder = ROOT / "code" / "attnbook" / room
    modules = sorted(path.stem for path in folder.glob("[a-z]*.py"))
    docstring = (folder / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    assert sorted(re.findall(r"^- ``(\w+)``:", docstring, re.MULTILINE)) == modules


def test_every_page_stands_in_the_overview_and_in_the_contents():
    names = {page.stem for page in PAGES.glob("*.md")} - {"index"}
    overview = (PAGES / "index.md").read_text(encoding="utf-8")
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert names == set(re.findall(r"- file: book/api/(\w+)", contents)) - {"index"}
    listed = re.findall(r"^   attnbook\.(\w+)$|\((\w+)\.md\)", overview, re.MULTILINE)
    assert names == {module or page for module, page in listed}
