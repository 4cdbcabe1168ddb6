"""What the course promises to hold has its place in a page: tests/coverage/*.toml."""

import re
import tomllib
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
ROWS = {"topics": 171, "questions": 42, "errata": 113, "figures": 34, "systems": 30}


def slug(heading: str) -> str:
    """A heading as it stands in a link."""
    return re.sub(r"[^\w-]", "", heading.lower().replace(" ", "-"))


def anchors(page: Path) -> set[str]:
    """The headings, labels, exercises, figures and tables in a page's source."""
    if page.suffix == ".md":
        text, figures = page.read_text(encoding="utf-8"), []
    else:
        cells = nbformat.read(page, as_version=4).cells
        text = "\n\n".join(c.source for c in cells if c.cell_type == "markdown")
        options = [cell.metadata.get("mystnb", {}) for cell in cells]
        figures = [of["figure"]["name"] for of in options if "figure" in of]
    # A comment in a block of code looks like a heading.
    prose = re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", prose, re.MULTILINE)
    labels = re.findall(r"^(?:\((\S+)\)=|:label: (\S+))$", text, re.MULTILINE)
    return {*map(slug, headings), *map("".join, labels), *figures}


PAGES = [*BOOK.glob("*.ipynb"), *BOOK.glob("*.md")]
PLACES = {f"{page.stem}#{anchor}" for page in PAGES for anchor in anchors(page)}


@pytest.mark.parametrize("kind", ROWS)
def test_every_row_is_there_once_and_has_its_place(kind):
    text = (ROOT / "tests" / "coverage" / f"{kind}.toml").read_text(encoding="utf-8")
    rows = tomllib.loads(text)["rows"]
    assert [row["n"] for row in rows] == [*range(1, ROWS[kind] + 1)]
    bare = [row["n"] for row in rows if not row.get("at") and not row.get("open")]
    assert not bare, f"{kind} {bare} need a place, `at`, or what is `open`"
    lost = "\n".join(
        f"{kind} {row['n']} ({row['says']}) was at {place}"
        for row in rows
        for place in row.get("at", [])
        if place not in PLACES
    )
    assert not lost, (
        f"\n{lost}\nIf the book still holds it, write its new place into "
        f"tests/coverage/{kind}.toml; if not, put it back, or say what is `open`."
    )
