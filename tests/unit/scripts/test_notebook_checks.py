"""The checks of notebooks: each finds what it is there to find, in a tiny notebook."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output
from notebook_checks import check_lab_links, findings, reader_findings

FIGURE = {
    "figure": {"name": "fig-line", "caption": "It rises."},
    "image": {"alt": "A line that rises from 0 to 1."},
}
ALT = {"image": {"alt": "A line that rises from 0 to 1."}}
LOCAL = "/home/someone/course"


def cell(source="print(1)", count=1, outputs=(), tags=(), **metadata):
    return new_code_cell(
        source,
        execution_count=count,
        outputs=list(outputs),
        metadata={"tags": list(tags), **metadata},
    )


def printed(text, name="stdout"):
    return new_output("stream", name=name, text=text)


def picture(kind="image/png"):
    return new_output("display_data", data={kind: "…", "text/plain": "<Figure>"})


def table_of(name="tab-costs", caption="It costs less."):
    html = '<div class="book-table scroll-box"><table></table></div>'
    output = new_output("execute_result", data={"text/html": html, "text/plain": "…"})
    figure = {"name": name, "caption": caption}
    return cell(outputs=[output], mystnb={"figure": figure})


def figure(**changes):
    return {**FIGURE, "image": {**FIGURE["image"], **changes}}


WIDGET = new_output(
    "display_data",
    data={"application/vnd.jupyter.widget-view+json": {"model_id": "1"}},
)
INSIDE = new_output(
    "execute_result",
    data={"text/html": '<figure>…<div class="book-table scroll-box">…</figure>'},
)
ERROR = new_output("error", ename="ValueError", evalue="no", traceback=["no"])

JUDGE = 'check("ex1_sum", ex1_sum)'


def solved(said, source=JUDGE):
    """An exercise that waits, and its solution with what is printed below it."""
    return [
        cell(JUDGE, outputs=[printed("ex1_sum: your turn.\n")]),
        new_markdown_cell("```{exercise-end}\n```\n\n```{solution-start} ex1-sum\n```"),
        cell(source, count=2, outputs=[printed(said)]),
        new_markdown_cell("```{solution-end}\n```"),
    ]


def unseen(source, *tags, count=1):
    return cell(source, count=count, tags=tags or ["remove-cell"])


GOOD = [
    solved("ex1_sum: right.\n"),
    [],
    [cell(outputs=[printed("1\n")]), cell(count=2)],
    [cell(outputs=[INSIDE])],
    [cell(outputs=[picture()], mystnb=FIGURE)],
    [table_of()],
    [cell("fit(model)", outputs=[printed("")], tags=["nbval-ignore-output"])],
    [new_markdown_cell("See https://example.org/home/page and `code/tmp/x`.")],
    [unseen("x = 1"), cell("x = 2\nprint(x)", count=2)],
]
BAD = [
    ([cell(count=None)], "cell 1 ('print(1)'): its execution count is None"),
    ([cell(outputs=[printed("oh\nno\n", "stderr")])], "wrote to stderr: no"),
    ([cell(outputs=[ERROR])], "cell 1 ('print(1)'): ValueError: no"),
    ([cell(outputs=[picture()])], "the alt text '' does not say"),
    ([cell(outputs=[picture()], mystnb=ALT)], "the picture has no name"),
    ([cell(outputs=[picture()], mystnb=ALT)], "has no caption"),
    ([table_of(name="")], "the name of a table, and of nothing else, begins with tab-"),
    ([cell("fit(model)", outputs=[printed("")])], "tag it nbval-ignore-output"),
    ([new_markdown_cell(f"Look into {LOCAL}.")], "names a path of one machine"),
    ([cell(outputs=[printed(f"saved in {LOCAL}")])], "names a path"),
    ([cell(outputs=[printed("<Model at 0x7f00ab12>")])], "an address in memory"),
    (solved("ex1_sum: your turn.\n"), "the solution isn't right: ex1_sum: your turn"),
    ([cell(outputs=[WIDGET])], "cell 1 ('print(1)'): a widget is stored"),
    ([unseen("x = 1"), cell("print(x)", count=2)], "reads x, which is made unseen in"),
    (
        [unseen("from a import b", "remove-input"), cell("b.c()", count=2)],
        "cell 2 ('b.c()'): reads b, which is made unseen in cell 1 ('from a import b')",
    ),
]


@pytest.mark.parametrize("cells", GOOD)
def test_finds_nothing_in(cells):
    assert findings(new_notebook(cells=cells)) == []


@pytest.mark.parametrize(("cells", "expected"), BAD, ids=[name for _, name in BAD])
def test_finds(cells, expected):
    found = findings(new_notebook(cells=cells))
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
    lab = new_notebook(cells=[new_markdown_cell("(lab4-own)=\n## 4.1 Is it itself?")])
    chapter = new_notebook(cells=[new_markdown_cell(text), new_code_cell("# Lab 9.9")])
    found = check_lab_links({"lab04_attention": lab, "ch04": chapter})
    assert [*found] == [f"ch04: {line}" for line in expected]


# --- The readers' notebooks ---

SOURCE = new_notebook(
    cells=[
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
STUB = new_code_cell("ex1 = ...")
FOLD = new_markdown_cell(
    "<details>\n<summary>Solution</summary>\n\n```python\nex1 = 4.0\n```\n\n</details>"
)
READERS = [TITLE, STUB, FOLD]


def in_readers(*cells, source=SOURCE):
    names = {"one.ipynb", "two.ipynb"}
    return reader_findings(new_notebook(cells=cells), source, names)


def test_a_good_readers_notebook_has_no_findings():
    assert in_readers(*READERS) == []


LEAKED = new_code_cell("ex1 = ...", outputs=[printed("ex1: right.\n")])


@pytest.mark.parametrize(
    ("cells", "told"),
    [
        ([*READERS, "```{margin} Title\nText\n```"], "left: '```{margin} Title'"),
        ([*READERS, "see {cite:t}`luong`"], "left: '{cite:t}`luong`'"),
        ([*READERS, "(there)=\n## Two"], "left: '(there)='"),
        ([*READERS, "[a](three.ipynb)"], "the link to 'three.ipynb' leads nowhere"),
        ([*READERS, "<details>\n\nText"], "a fold is not closed"),
        ([*READERS, "ex1 = 4.0"], "the solution stands outside a fold"),
        (READERS[:-1], "the solution is missing"),
        ([TITLE, LEAKED, FOLD], "is that of a solution"),
        ([*READERS, new_code_cell("more()")], "its code is not that of the book"),
    ],
)
def test_what_is_wrong_in_a_readers_notebook_is_found(cells, told):
    cells = [new_markdown_cell(c) if isinstance(c, str) else c for c in cells]
    assert any(told in line for line in in_readers(*cells))


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
    source.cells[2] = new_code_cell(solution)
    fold = new_markdown_cell(FOLD.source.replace("ex1 = 4.0", solution))
    lines = in_readers(TITLE, STUB, fold, new_code_cell(later), source=source)
    assert [line.removesuffix(" defines") for line in lines] == told
