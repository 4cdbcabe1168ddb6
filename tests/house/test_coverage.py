"""What the course promises to hold stands on its page: tests/coverage.toml."""

import json
import tomllib
from pathlib import Path

import pytest
from claims import one_line

ROOT = Path(__file__).resolve().parents[2]
BOOK = ROOT / "book"
COVERAGE = tomllib.loads((ROOT / "tests" / "coverage.toml").read_text("utf-8"))


def text_of(name: str) -> str:
    """The text of a page, with its code, and the names and captions of its figures."""
    if (page := BOOK / f"{name}.md").exists():
        return one_line(page.read_text("utf-8"))
    parts = []
    for cell in json.loads((BOOK / f"{name}.ipynb").read_text("utf-8"))["cells"]:
        figure = cell["metadata"].get("mystnb", {}).get("figure", {})
        parts += ["".join(cell["source"]), *figure.values()]
    return one_line(" ".join(parts))


@pytest.mark.parametrize("name", COVERAGE)
def test_the_page_holds_its_topics(name):
    text = text_of(name)
    lost = {
        topic: words for topic, words in COVERAGE[name].items() if words not in text
    }
    assert not lost, f"quote the words that say it now, in tests/coverage.toml: {lost}"
