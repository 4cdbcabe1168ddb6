"""The checks of the readers' notebooks find what is broken."""

import pytest
from nbformat.v4 import (
    new_code_cell,
    new_markdown_cell,
    new_notebook,
    new_output,
)

from reader_checks import findings

FIGURE = new_code_cell(
    "draw()",
    id="figure",
    metadata={"mystnb": {"figure": {"name": "fig-a", "caption": "**A claim.**"}}},
)
SOURCE = new_notebook(
    cells=[
        FIGURE,
        new_code_cell("ex1 = ..."),
        new_markdown_cell("```{exercise-end}\n```\n\n```{solution-start} ex1\n```"),
        new_code_cell("ex1 = 4.0"),
        new_markdown_cell("```{solution-end}\n```"),
    ]
)
TITLE = new_markdown_cell(
    "# 1. A title\n\nSee [(1.1)](#eq-a), [2](two.ipynb#x), [above](#1.-A-title), "
    "[a paper](https://example.org), `{eq}` and\n\n```python\nx = {}\n```\n\n"
    '<a id="eq-a"></a>\n\n$$\na \\tag{1.1}\n$$'
)
DRAWN = new_code_cell(
    "draw()",
    id="figure",
    outputs=[new_output("display_data", data={"text/html": "<img>"})],
)
CAPTION = new_markdown_cell('<a id="fig-a"></a>**Fig. 1.1.** **A claim.**')
STUB = new_code_cell("ex1 = ...")
FOLD = new_markdown_cell(
    "<details>\n<summary>Solution</summary>\n\n```python\nex1 = 4.0\n```\n\n</details>"
)
GOOD = [TITLE, DRAWN, CAPTION, STUB, FOLD]


def found(*cells, source=SOURCE):
    return findings(new_notebook(cells=cells), source, {"one.ipynb", "two.ipynb"})


def test_a_good_notebook_passes():
    assert found(*GOOD) == []


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("```{margin} Title\nText\n```", "a directive is left: '```{margin} Title'"),
        (":::{note}\nText\n:::", "a directive is left"),
        ("> :::{note}\n> Text", "a directive is left"),
        ("Text\n:::", "the end of a directive is left"),
        ("see {eq}`eq-a`", "a role is left: '{eq}`eq-a`'"),
        ("see {cite:t}`luong`", "a role is left"),
        ("(there)=\n## Two", "a target is left"),
        ("$$\na\n$$ (eq-a)", "the label of an equation is left"),
        ("[a](three.ipynb)", "the link to 'three.ipynb' leads nowhere"),
        ("[a](page:book/one)", "the link to 'page:book/one' leads nowhere"),
        ("[a](#eq-b)", "nothing in the notebook is named 'eq-b'"),
        ("<details>\n\nText", "a fold is not closed"),
        ("Text\n\n</details>", "a fold is not closed, or not opened"),
        ("ex1 = 4.0", "the solution 'ex1 = 4.0' stands outside a fold"),
    ],
)
def test_what_is_left_in_a_text_is_found(text, told):
    lines = found(*GOOD, new_markdown_cell(text))
    assert any(told in line for line in lines), lines


def stub(**parts):
    return new_code_cell("ex1 = ...", **parts)


OUTSIDE = "the solution 'ex1 = 4.0' stands outside a fold"
HIDDEN = {"jupyter": {"source_hidden": True}}
RIGHT = [new_output("stream", text="ex1: right.\n")]
PASSED = [new_output("stream", text="attention: all 7 stages passed.\n")]
SVG = [new_output("display_data", data={"image/svg+xml": "<svg></svg>"})]


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([*GOOD, new_code_cell("ex1 = 4.0")], OUTSIDE),
        ([*GOOD, new_code_cell("ex1 = 4.0", metadata=HIDDEN)], OUTSIDE),
        ([*GOOD[:-2], stub(outputs=RIGHT), FOLD], "is that of a solution"),
        ([*GOOD[:-2], stub(outputs=PASSED), FOLD], "is that of a solution"),
        (GOOD[:-1], "the solution 'ex1 = 4.0' is missing"),
        ([TITLE, DRAWN, STUB, FOLD], "cell 2 ('draw()'): its caption is not below it"),
        ([TITLE, DRAWN, STUB, CAPTION, FOLD], "its caption is not below it"),
        ([*GOOD[:-2], stub(outputs=SVG), FOLD], "untrusted notebooks show no SVG"),
        ([*GOOD, new_code_cell("more()")], "its code is not that of the book"),
        ([*GOOD[:-2], FOLD], "its code is not that of the book"),
    ],
)
def test_what_is_wrong_with_a_cell_is_found(cells, told):
    assert any(told in line for line in found(*cells))


@pytest.mark.parametrize("number", ["L4.1", "A1.2", "3"])
def test_a_page_without_a_chapter_has_numbers_of_its_own(number):
    text = CAPTION.source.replace("1.1", number)
    assert not found(TITLE, DRAWN, new_markdown_cell(text), STUB, FOLD)


@pytest.mark.parametrize(
    ("later", "told"),
    [
        ("print(ex1)", []),  # the stub defines it, too
        ("four = 4\nprint(four)", []),
        ("print(four)", ["the cell 'print(four)' needs four, which only a solution"]),
    ],
)
def test_code_that_needs_a_solution_is_found(later, told):
    solution = "four = 4\nex1 = four"
    source = new_notebook(cells=[*SOURCE.cells, new_code_cell(later)])
    source.cells[3] = new_code_cell(solution)
    fold = new_markdown_cell(FOLD.source.replace("ex1 = 4.0", solution))
    lines = found(*GOOD[:-1], fold, new_code_cell(later), source=source)
    assert [line.removesuffix(" defines") for line in lines] == told
