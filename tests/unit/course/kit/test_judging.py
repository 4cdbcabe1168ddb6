"""What readers are told of a part that they write: stages, findings, hints."""

import functools

import pytest
import torch
from notebook_cells import run_cell

from attnbook.course import judge
from attnbook.course.kit.exercises import hints
from attnbook.nn import attention

DEF = "def attention(Q, K, V, mask=None, dropout=0.0):\n"
RIGHT = f"""\
import math
from torch.nn import functional as F

{DEF}\
    scores = Q @ K.mT / math.sqrt(Q.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask, -1e30)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return F.dropout(weights, dropout) @ V
"""


@pytest.fixture(autouse=True)
def _no_hint_was_given():
    hints.GIVEN.clear()


@pytest.fixture
def judged(capsys):
    """A function that runs a cell and returns what judge says of its attention."""

    def judged(source, *changes):
        for old, new in changes:
            source = source.replace(old, new)
        judge("attention", run_cell(source, {})["attention"])
        out, err = capsys.readouterr()
        assert err == ""
        assert max(map(len, out.splitlines())) <= 76, "wider than the page"
        return out

    return judged


def test_hints_come_with_changed_code_and_end_with_the_solution(judged):
    over_queries = ("softmax(-1)", "softmax(-2)")
    said = judged(RIGHT, over_queries)
    assert said == (
        "attention: 1 of 8 stages passed.\n"
        "✓ shapes: the output is (…, T, d_v), with any number of leading axes\n"
        "✗ values: the output did not equal softmax(QKᵀ/√d_k)V.\n"
        "  Hint: Your softmax runs over the queries. The weights of one query, over\n"
        "  all keys, should sum to 1.\n"
        "  Change your answer for another hint.\n"
        "· not judged yet: gradients, masks, fully masked rows, dropout, operation\n"
        "  count, devices\n"
    )
    assert judged(f"# the same in another line\n{RIGHT}", over_queries) == said
    others = [
        judged(RIGHT, ("softmax(-1)", f"softmax(-2) * {n} / {n}")) for n in (2, 3, 4)
    ]
    given = [text.partition("Hint: ")[2].partition("\n·")[0] for text in others]
    assert given[0].startswith("Let Q and K be `torch.eye(2)`")
    assert given[1].startswith("In order: QKᵀ")
    assert "another hint" not in given[1]
    assert "no more hints: compare yours with the solution" in others[2]
    assert judged(RIGHT, over_queries).startswith(said.partition("  Change")[0])
    # Another mistake, in this stage or another, has hints of its own.
    assert "Hint: " in judged(RIGHT, ("softmax(-1)", "softmax(-1) * math.nan"))
    assert "Hint: You hide the keys" in judged(RIGHT, ("~mask", "mask"))


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ([(DEF, "def attention(Q, K):\n")], "attention() takes 2 positional arguments"),
        (
            [("Q @ K.mT", "Q @ K")],
            "✗ shapes: RuntimeError in line 5 of your cell, `scores = Q @ K / "
            "math.sqrt(Q.shape[-1])`: mat1 and mat2 shapes cannot be multiplied",
        ),
        (
            [(DEF, f"def helper(Q):\n    return 1 / 0\n\n{DEF}    helper(Q)\n")],
            "ZeroDivisionError in line 5 of your cell, `return 1 / 0`",
        ),
        (
            [(RIGHT, f"{DEF}    x = 99 * 'long ' + '\\nsecond'\n    1 + int(x)\n")],
            "long … Hint:",
        ),
        (
            [(RIGHT, f"{DEF}    x = Q @ K.mT\n")],
            "(5, 7) the output came out as None: is a `return` missing?",
        ),
    ],
)
def test_what_is_said_of_a_failure(judged, changes, said):
    out = judged(RIGHT, *changes)
    assert said in " ".join(out.split())
    assert "Traceback" not in out
    assert "second" not in out


@pytest.mark.parametrize(
    "row",
    [
        "Q[..., [i], :] @ K.mT",
        "torch.cat([Q[..., [i], :] @ K[..., [j], :].mT for j in range(S)], -1)",
        "Q[..., [i], :].contiguous() @ K.mT.contiguous()",
    ],
)
def test_every_loop_over_the_queries_is_recognised(judged, row):
    """However many operations it takes for each of them."""
    loop = f"torch.cat([{row} for i in range(Q.shape[-2])], -2)"
    changes = (("import math", "import math\nimport torch"), ("Q @ K.mT", loop))
    said = judged(RIGHT, (DEF, f"{DEF}    S = K.shape[-2]\n"), *changes)
    assert "6 of 8 stages passed" in said
    assert "Hint: You loop over the queries" in said


def test_an_error_in_a_helper_of_another_cell_is_told_at_the_call(capsys):
    names = run_cell("def scores_of(Q, K):\n    return 1 / 0\n", {})
    run_cell(f"\n{DEF}    return scores_of(Q, K)", names)
    judge("attention", names["attention"])
    told = "ZeroDivisionError in line 3 of your cell, `return scores_of(Q,\n  K)`"
    assert told in capsys.readouterr().out


def test_what_the_reader_prints_is_shown(judged):
    few = "    if mask is None and Q.dim() == 2:\n        print('seen')\n"
    assert judged(RIGHT, (DEF, DEF + few)).startswith("seen\n")


def test_an_interrupted_loop_is_told_by_its_line():
    stops = f"{DEF}    while True:\n        raise KeyboardInterrupt\n"
    names = run_cell(stops, {})
    with pytest.raises(KeyboardInterrupt, match="line 3 of your cell") as stopped:
        judge("attention", names["attention"])
    assert len(stopped.traceback) == 2  # this test, and judge
    assert stopped.value.__suppress_context__


@pytest.mark.parametrize(
    ("source", "call"),
    [
        (RIGHT.replace("def attention", "def mine"), "mine"),
        (f"{RIGHT}\nattention_of_mine = attention\n", "attention"),
    ],
)
def test_the_call_that_saves_names_what_the_reader_has_written(source, call, capsys):
    judge("attention", run_cell(source, {})[call])
    assert f'save_part("attention", {call})\n' in capsys.readouterr().out


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (
            "lambda *a, **b: attention(*a, **b)",
            "yet: attention is a lambda: write it as",
        ),
        ("functools.partial(attention)", "object of type partial, which cannot be"),
        ("'attention'", "got 'attention': write attention without quotes"),
        ("attention(*Q_K_V)", "a tensor of shape (1, 2): write attention without"),
    ],
)
def test_what_cannot_be_saved_is_told_instead_of_a_call(call, said, capsys):
    names = {"functools": functools, "Q_K_V": torch.ones(3, 1, 2)}
    judge("attention", run_cell(f"{RIGHT}\nx = {call}", names)["x"])
    out = capsys.readouterr().out
    assert said in " ".join(out.split())
    assert "save_part" not in out


BASE = """\
from torch import nn

class Base(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.W_1, self.W_2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def hidden(self, x):
        return self.W_1(x).relu()
"""
DERIVED = """
class FeedForward(Base):
    def forward(self, x):
        return self.W_2(self.hidden(x))
"""


def test_a_base_class_in_another_cell_is_part_of_the_answer(capsys):
    said = []
    for wrong in ("self.W_1(x)", "2 * self.W_1(x).relu()", "self.W_1(y)"):
        names = run_cell(BASE.replace("self.W_1(x).relu()", wrong), {})
        judge("FeedForward", run_cell(DERIVED, names)["FeedForward"])
        said.append(" ".join(capsys.readouterr().out.split()))
    assert "Hint: The ReLU is missing" in said[0]
    assert "Hint: What stands between the two matrices" in said[1]
    assert "NameError in line 9 of your cell, `return self.W_1(y)`" in said[2]
    stub = DERIVED.replace("return self.W_2(self.hidden(x))", "...")
    judge("FeedForward", run_cell(stub, names)["FeedForward"])
    assert capsys.readouterr().out == "FeedForward: your turn.\n"


@pytest.mark.parametrize("body", ["...", "pass", '"""(…, T, d_v)."""', "return ..."])
def test_a_skeleton_is_the_readers_turn(judged, body):
    assert judged(f"{DEF}    {body}\n") == "attention: your turn.\n"
    assert not hints.GIVEN


@pytest.mark.parametrize("answer", [None, ...])
def test_no_answer_is_the_readers_turn(answer, capsys):
    judge("attention", answer)
    assert capsys.readouterr().out == "attention: your turn.\n"


def test_of_several_functions_the_first_unwritten_is_named(capsys):
    names = run_cell("def a(ids):\n    return ids\n\ndef b(t):\n    ...\n", {})
    judge("masks", names["a"], names["b"], names["b"])
    assert capsys.readouterr().out == "masks: causal_mask is not written yet.\n"
    with pytest.raises(ValueError, match=r"consists of 1, attention, but 2 are given"):
        judge("attention", attention, attention)
