"""The form of laboratory pages: each check finds what it is there to find."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lab_checks import check_form, check_links

NAME = "lab04_scaled_dot_product"
ABOVE = "(lab4-own)=\n## 4.1 Does a word find itself?\n\n**Set-up.** Random vectors."
BELOW = "**Conclusion.** Yes.\n\n**Limits.** One task.\n\n**To repeat.** `python -m x`"
RESULT = new_code_cell("t()", metadata={"mystnb": {"figure": {"name": "tab-a"}}})


def page(above=ABOVE, below=BELOW, result=RESULT, *more):
    texts = [new_markdown_cell(text) for text in (above, below)]
    cells = [texts[0], result, texts[1], *map(new_markdown_cell, more)]
    return new_notebook(cells=cells)


def test_a_good_page_has_no_findings():
    second = f"{ABOVE.replace('4.1', '4.2').replace('own', 'two')}\n\nRESULT\n\n{BELOW}"
    notebook = page(ABOVE, BELOW, RESULT, second, "## References")
    assert [*check_form(NAME, notebook)] == []


BAD = [
    (page(ABOVE.replace("4.1", "5.1")), "its number must be 4.1"),
    (page(ABOVE.replace("4.1", "4.2")), "its number must be 4.1"),
    (page(ABOVE.replace("4.1 ", "")), "its number must be 4.1"),
    (page(ABOVE.replace("itself?", "itself")), "a heading asks a question"),
    (page(ABOVE.replace("(lab4-own)=\n", "")), "put a label (lab4-…)="),
    (page(ABOVE.replace("lab4-own", "own")), "put a label (lab4-…)="),
    (page(ABOVE.replace("**Set-up.** ", "")), "lacks Set-up"),
    (page(ABOVE, BELOW, new_code_cell("print(1)")), "lacks a table or figure"),
    (page(ABOVE, BELOW.replace("**Conclusion.** ", "")), "lacks Conclusion"),
    (page(ABOVE, BELOW.replace("**Limits.** ", "")), "lacks Limits"),
    (page(ABOVE, BELOW.replace("**To repeat.** ", "")), "lacks To repeat"),
    (page(f"{ABOVE}\n\n{BELOW}", "More."), "lacks Conclusion"),
    (page(ABOVE, BELOW.replace("`", "")), "no command repeats it"),
    (page(ABOVE + " word" * 90), "the set-up has more than 90 words"),
    (new_notebook(cells=[new_markdown_cell("# Lab 4")]), "no sections"),
]


@pytest.mark.parametrize(("notebook", "expected"), BAD)
def test_finds(notebook, expected):
    found = [*check_form(NAME, notebook)]
    assert any(expected in line for line in found), found


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Measured in {ref}`Lab 4.1 <lab4-own>`.", []),
        ("{ref}`Lab 4.2 <lab4-own>`", ["Lab 4.2 leads to lab4-own, which is not it"]),
        ("{ref}`Lab 4.1 <lab4-gone>`", ["Lab 4.1 leads to lab4-gone, which is not it"]),
        ("See Lab 4.1.", ["Lab 4.1 is no link: {ref}`Lab 4.1 <label>`"]),
    ],
)
def test_links_lead_to_the_section_they_name(text, expected):
    chapter = new_notebook(cells=[new_markdown_cell(text), new_code_cell("# Lab 9.9")])
    found = check_links({NAME: page(), "ch04_scaled_dot_product": chapter})
    assert [*found] == [f"ch04_scaled_dot_product: {line}" for line in expected]
