"""What the book's extensions make of tables, laboratory pages and percent signs."""

import re

import pytest
from nbformat.v4 import new_code_cell, new_output
from tiny_book import build_tiny_book

from attnbook.course.kit.html_tables import table

EXTENSIONS = ["numbering"]


def result(name, made=None):
    """A cell with a table, or with text that is a figure."""
    html = made._repr_html_() if made else "<p>drawn</p>"
    output = new_output("execute_result", data={"text/html": html}, execution_count=1)
    figure = {"name": name, "caption": f"**The claim of {name}.**"}
    metadata = {"mystnb": {"figure": figure}, "tags": ["remove-input"]}
    return new_code_cell("shows()", outputs=[output], metadata=metadata)


COSTS = table(["n", "MB"], [("one", 1)])
CHAPTERS = {
    "ch01_one": [
        "# One\n\n## Costs\n\nSee {numref}`tab-costs` and {numref}`fig-inside`.",
        result("tab-costs", COSTS),
        result("fig-before"),
        result("fig-inside"),
        "## After\n\n39 %, but not in code: `7 % 3`.",
    ],
    "ch02_two": ["# Two", result("tab-two", COSTS)],
    "lab04_two": [
        "# Lab 4\n\n{numref}`tab-lab4-b`, {numref}`fig-lab4-a`",
        result("tab-lab4-a", COSTS),
        result("tab-lab4-b", COSTS),
        result("fig-lab4-a"),
    ],
    "lab05_two": ["# Lab 5", result("tab-lab5-a", COSTS)],
    "a1_three": [
        "# A1: Three\n\n{numref}`fig-a1`, {eq}`eq-a1`\n\n$$ x = 1 $$ (eq-a1)",
        result("tab-a1", COSTS),
        result("fig-a1"),
    ],
    "mask_card": ["# Mask card", result("tab-card", COSTS), result("fig-card")],
}


@pytest.fixture(scope="module")
def pages(tmp_path_factory):
    """The article of each page, as HTML."""
    site = build_tiny_book(tmp_path_factory.mktemp("tiny"), EXTENSIONS, **CHAPTERS)
    return {
        name: (site / "book" / f"{name}.html")
        .read_text(encoding="utf-8")
        .partition("<article")[2]
        .partition("</article>")[0]
        for name in CHAPTERS
    }


def numbers(page):
    """The number of everything that has a caption, in order."""
    return re.findall(r'caption-number">([^<]+?) ?</span>', page)


def references(page):
    return re.findall(r'<span class="std std-numref">([^<]+)</span>', page)


def test_tables_are_counted_apart_from_figures(pages):
    assert numbers(pages["ch01_one"]) == ["Table 1", "Fig. 1", "Fig. 2"]
    assert references(pages["ch01_one"]) == ["Table 1", "Fig. 2"]
    assert numbers(pages["ch02_two"]) == ["Table 2"]


def test_the_caption_of_a_table_is_above_it_and_of_a_figure_below(pages):
    page = pages["ch01_one"]
    assert page.index("The claim of tab-costs") < page.index("book-table")
    assert page.index("drawn") < page.index("The claim of fig-before")


def test_a_laboratory_page_counts_from_one_with_its_own_number(pages):
    assert numbers(pages["lab04_two"]) == ["Table L4.1", "Table L4.2", "Fig. L4.1"]
    assert references(pages["lab04_two"]) == ["Table L4.2", "Fig. L4.1"]
    assert numbers(pages["lab05_two"]) == ["Table L5.1"]


def test_a_page_of_the_appendix_counts_from_one_with_its_own_number(pages):
    assert numbers(pages["a1_three"]) == ["Table A1.1", "Fig. A1.1"]
    assert references(pages["a1_three"]) == ["Fig. A1.1"]
    assert pages["a1_three"].count("(A1.1)") == 2  # at the formula, and in the text


def test_the_mask_card_counts_from_one(pages):
    assert numbers(pages["mask_card"]) == ["Table 1", "Fig. 1"]


def test_a_percent_sign_stays_with_its_number(pages):
    assert "39\u00a0%" in pages["ch01_one"]
    assert "7 % 3" in re.sub("<[^>]+>", "", pages["ch01_one"])
