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
def test_every_module_is_described_on_the_page_of_its_room(room):
    folder = ROOT / "code" / "attnbook" / room
    files = [path.relative_to(folder) for path in folder.rglob("[a-z]*.py")]
    modules = {".".join(path.with_suffix("").parts) for path in files}
    text = (PAGES / f"{room}.md").read_text(encoding="utf-8")
    pattern = rf"automodule:: attnbook\.{room}\.([\w.]+)$"
    described = re.findall(pattern, text, re.MULTILINE)
    assert set(described) == modules
    # The page begins with the docstring of the room, which lists them.
    docstring = (folder / "__init__.py").read_text(encoding="utf-8").split('"""')[1]
    assert described == re.findall(r"``(\w+)``", docstring)


def test_every_page_stands_in_the_overview_and_in_the_contents():
    names = {page.stem for page in PAGES.glob("*.md")} - {"index"}
    overview = (PAGES / "index.md").read_text(encoding="utf-8")
    contents = (ROOT / "_toc.yml").read_text(encoding="utf-8")
    assert names == set(re.findall(r"- file: book/api/(\w+)", contents)) - {"index"}
    listed = re.findall(r"^   attnbook\.(\w+)$|\((\w+)\.md\)", overview, re.MULTILINE)
    assert names == {module or page for module, page in listed}
