"""The notebook checks: each finds what it is there to find, in a tiny notebook."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

from notebook_checks import findings

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


GOOD = [
    solved("ex1_sum: right.\n"),
    solved("Stack: all 5 stages passed.\n✓ shapes\n", 'judge("Stack", Stack)'),
    [],
    [cell(outputs=[printed("1\n")]), cell(count=2)],
    [cell(count=None, tags=["nbval-skip"]), cell()],
    [cell(outputs=[ERROR], tags=["raises-exception"])],
    [cell("x\n" * 30)],
    [cell(outputs=[INSIDE])],
    [cell("x" * 88)],
    [cell("a = 1; b = 2")],
    [cell(outputs=[picture()], mystnb=FIGURE)],
    [table_of()],
    [cell("fit(model)", outputs=[printed("")], tags=["nbval-ignore-output"])],
    [cell("fit(model)")],
    [new_markdown_cell("See https://example.org/home/page and `code/tmp/x`.")],
]
BAD = [
    ([cell(count=None)], "cell 1 ('print(1)'): was never run"),
    ([cell(), cell(count=3)], "cell 2 ('print(1)'): its execution count is 3"),
    ([cell(outputs=[printed("oh\nno\n", "stderr")])], "wrote to stderr: no"),
    ([cell(outputs=[ERROR])], "cell 1 ('print(1)'): ValueError: no"),
    ([cell("x\n" * 31)], "has 31 lines, 30 are allowed"),
    ([cell("x" * 89)], "is 89 columns wide, 88 are allowed"),
    ([cell("torch.manual_seed(0);\n")], "ends with a semicolon"),
    ([cell(outputs=[picture()])], "the picture has no alt text"),
    ([cell(outputs=[picture("image/svg+xml")])], "the picture has no alt text"),
    ([cell(outputs=[picture()], mystnb=figure(alt=""))], "the picture has no alt text"),
    ([cell(outputs=[picture()], mystnb=figure(alt="A plot"))], "'A plot' does not say"),
    ([cell(outputs=[picture()], mystnb=ALT)], "the picture has no name"),
    ([cell(outputs=[picture()], mystnb=ALT)], "the picture has no caption"),
    ([table_of(name="")], "the table has no name tab-…"),
    ([table_of(name="fig-costs")], "the table has no name tab-…"),
    ([table_of(caption="")], "the table has no caption"),
    (
        [cell(mystnb={"figure": {"name": "tab-a", "caption": "A."}})],
        "is named tab-a, and is no table",
    ),
    ([cell("fit(model)", outputs=[printed("")])], "tag it nbval-ignore-output"),
    ([cell("recall(4, steps=9)", outputs=[printed("")])], "tag it nbval-ignore-output"),
    ([cell(outputs=[printed("")], tags=["timing"])], "tag it nbval-ignore-output"),
    ([new_markdown_cell(f"Look into {LOCAL}.")], "the source names a path"),
    ([new_markdown_cell("[here](file:///a.html)")], "the source names a path"),
    ([cell(r"open('C:\data')")], "the source names a path"),
    ([cell(outputs=[printed(f"saved in {LOCAL}")])], "the output names a path"),
    ([cell(outputs=[printed("<Model at 0x7f00ab12>")])], "an address in memory"),
    (
        solved("ex1_sum: your function raises an error.\n"),
        "the solution isn't right: ex",
    ),
    (solved("ex1_sum: your turn.\n"), "the solution isn't right: ex1_sum: your turn"),
    ([cell(outputs=[WIDGET])], "cell 1 ('print(1)'): a widget is stored"),
]


@pytest.mark.parametrize("cells", GOOD)
def test_finds_nothing_in(cells):
    assert findings(new_notebook(cells=cells)) == []


@pytest.mark.parametrize(("cells", "expected"), BAD, ids=[name for _, name in BAD])
def test_finds(cells, expected):
    found = findings(new_notebook(cells=cells))
    assert any(expected in line for line in found), found


def test_the_state_of_widgets_is_found_too():
    notebook = new_notebook(cells=[cell()], metadata={"widgets": {}})
    assert any("state of widgets" in line for line in findings(notebook))
