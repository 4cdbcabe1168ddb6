"""What a page hides and folds: each check finds what it is there to find."""

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from hidden_checks import findings

IMPORTS = "from attnbook.course.figures import ch04\nfrom attnbook.nn import attention"
BEGIN = "from attnbook.course import begin\n\nbegin()"
DRAWS = "_ = ch04.scale_figure()"
CHECKS = "from attnbook.course import check\n\ncheck('ex1', 3)"
FOLD = "### Going further: the additive score\n\nIt adds."


def cell(source, *tags):
    return new_code_cell(source, metadata={"tags": [*tags]})


def text(source, *tags):
    return new_markdown_cell(source, metadata={"tags": [*tags]})


SHOWN = cell(f"{IMPORTS}\nattention(ch04)")

GOOD = [
    [cell(BEGIN, "remove-cell")],
    [cell(f"{BEGIN}\n{DRAWS}", "remove-input")],
    [SHOWN, cell(DRAWS, "remove-input")],
    [SHOWN, cell(DRAWS, "hide-cell")],
    [SHOWN, cell(f"x = 1\n{DRAWS}")],
    [SHOWN, cell("x = ch04.random_scores(4)")],
    [SHOWN, cell("print(ch04.random_scores(4))")],
    [SHOWN, cell("attention()")],
    [cell(f"{IMPORTS}\n{DRAWS}"), cell("x = ch04.random_scores(4)")],
    [cell(f"{IMPORTS}\n{DRAWS}", "remove-input"), cell("import math")],
    [cell(CHECKS)],
    [cell("!ls")],
    [cell("x = 1\nassert x")],
    [cell("assert x\nprint('equal:', x)")],
    [cell("assert x\nprint('On any machine: equal.')", "remove-cell")],
    [cell("x = 1", "remove-cell"), cell("x = 2\nprint(x)")],
    [cell("x = 1"), cell("x = 2", "remove-cell"), cell("print(x)")],
    [cell("_ = 1", "remove-cell"), cell("for _ in 'ab':\n    print(_)")],
    [text(FOLD, "fold"), text("### Next"), text(FOLD, "fold")],
]
BAD = [
    ([cell(BEGIN)], "calls begin(); tag it remove-cell"),
    ([cell(BEGIN, "hide-input")], "calls begin(); tag it remove-cell"),
    ([SHOWN, cell(DRAWS)], "cell 2 ('_ = ch04.scale_figure()'): only shows a result"),
    ([SHOWN, cell("ch04.print_costs()")], "only shows a result; tag it remove-input"),
    ([SHOWN, cell(DRAWS, "hide-input")], "only shows a result"),
    ([cell(f"{IMPORTS}\n{DRAWS}")], "only shows a result"),
    (
        [
            cell("from attnbook.course.ch04.widget_calculator import calculator"),
            cell("calculator()"),
        ],
        "cell 2 ('calculator()'): only shows a result",
    ),
    ([cell("assert x > 0.9")], "only tests; tag it remove-cell"),
    ([cell("assert x\nprint('On any machine: right.')")], "only tests"),
    ([cell("assert x", "remove-input")], "only tests"),
    (
        [
            cell(f"{IMPORTS}\n{DRAWS}", "remove-input"),
            cell("x = ch04.random_scores(4)"),
        ],
        "reads ch04, which is made unseen in cell 1",
    ),
    ([cell("x = 1", "remove-cell"), cell("print(x)")], "reads x, which is made unseen"),
    (
        [cell("def f():\n    pass", "remove-cell"), cell("f()")],
        "reads f, which is made unseen",
    ),
    ([text("## Going further: more", "fold")], "a fold begins with a heading"),
    ([text("### Another factor", "fold")], "a fold begins with a heading"),
    ([text(f"Text.\n\n{FOLD}", "fold")], "a fold begins with a heading"),
    ([cell("x = 1", "fold")], "a fold begins with a heading"),
    (
        [text(FOLD, "fold")] * 3,
        "cell 3 ('### Going further: the additive score'): more",
    ),
]


@pytest.mark.parametrize("cells", GOOD)
def test_finds_nothing_in(cells):
    assert findings(new_notebook(cells=cells)) == []


@pytest.mark.parametrize(("cells", "expected"), BAD)
def test_finds(cells, expected):
    found = findings(new_notebook(cells=cells))
    assert any(expected in line for line in found), found
