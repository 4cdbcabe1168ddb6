"""What readers are told of a part that they write: stages, findings, hints."""

import pytest
from notebook_cells import run_cell

from attnbook.course import judge
from attnbook.course.kit.exercises import hints
from attnbook.course.kit.exercises.readers_code import is_unwritten
from attnbook.nn import attention

RIGHT = """\
import math
from torch.nn import functional as F

def attention(Q, K, V, mask=None, dropout=0.0):
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
    yield
    hints.GIVEN.clear()


@pytest.fixture
def judged(capsys):
    """A function that runs a cell and returns what judge says of its attention."""

    def judged(source):
        judge("attention", run_cell(source, {})["attention"])
        out, err = capsys.readouterr()
        assert err == ""
        return out

    return judged


def test_all_stages_pass(judged):
    lines = judged(RIGHT).splitlines()
    assert lines[0] == "attention: all 7 stages passed."
    assert (
        lines[1]
        == "✓ shapes: the output is (…, T, d_v), with any number of leading axes"
    )
    assert lines[-1] == (
        'Keep it for later chapters: save_part("attention", attention)'
    )
    assert sum(line.startswith("✓") for line in lines) == 7


def test_hints_come_one_by_one_and_end_with_the_solution(judged):
    source = RIGHT.replace("softmax(-1)", "softmax(-2)")
    said = [judged(source) for _ in range(5)]
    assert said[0] == (
        "attention: 1 of 7 stages passed.\n"
        "✓ shapes: the output is (…, T, d_v), with any number of leading axes\n"
        "✗ values: the output should equal softmax(QKᵀ/√d_k)V, and doesn't.\n"
        "  Hint: Your softmax runs over the queries. The weights of one query, over\n"
        "  all keys, should sum to 1.\n"
        "  Run the cell again for another hint.\n"
        "· not judged yet: gradients, masks, fully masked rows, dropout, operation\n"
        "  count\n"
    )
    given = [text.partition("Hint: ")[2].partition("\n·")[0] for text in said]
    assert len({*given[:3]}) == 3
    assert given[1].startswith("Let Q and K be `torch.eye(2)`")
    assert "another hint" not in given[2]
    assert "Hint" not in said[3]
    assert "no more hints: compare yours with the solution" in said[3]
    assert said[4] == said[3]


def test_another_stage_has_hints_of_its_own(judged):
    judged(RIGHT.replace("softmax(-1)", "softmax(-2)"))
    said = judged(RIGHT.replace("~mask", "mask"))
    assert "Hint: You hide the keys where the mask is True." in said


def test_another_mistake_in_a_stage_gets_the_hints_of_the_stage_anew(judged):
    for _ in range(4):
        said = judged(RIGHT.replace("softmax(-1)", "softmax(-2)"))
    assert "no more hints" in said
    said = judged(RIGHT.replace("softmax(-1)", "softmax(-1)[0]"))
    assert "Hint: " in said


def test_a_call_with_too_few_arguments_gets_a_hint_of_its_own(judged):
    said = judged(RIGHT.replace(".softmax(-1)", ".transpose(-1)"))
    assert "Hint: That call has an argument too few or too many." in said


def test_an_unknown_mistake_gets_the_hints_of_the_stage(judged):
    said = judged(RIGHT.replace("softmax(-1)", "sigmoid()"))
    assert "Hint: Let Q and K be" in said


@pytest.mark.parametrize(
    "body",
    ["...", "pass", '"""(…, T, d_v)."""', "return ...", "raise NotImplementedError"],
)
def test_a_skeleton_is_the_readers_turn(judged, body):
    source = f"def attention(Q, K, V, mask=None, dropout=0.0):\n    {body}\n"
    assert judged(source) == "attention: your turn.\n"
    assert not hints.GIVEN


@pytest.mark.parametrize("answer", [None, ...])
def test_no_answer_is_the_readers_turn(answer, capsys):
    judge("attention", answer)
    assert capsys.readouterr().out == "attention: your turn.\n"


def test_what_was_begun_and_returns_nothing(judged):
    said = judged("def attention(Q, K, V, mask=None, dropout=0.0):\n    x = Q @ K.mT\n")
    assert (
        "✗ shapes: for Q, K, V of shapes (3, 4), (5, 4), (5, 7) the output is None:"
        in (said)
    )
    assert "is a `return` missing?" in said


def test_an_error_is_one_line_with_the_readers_own_line_number(judged):
    said = judged(RIGHT.replace("Q @ K.mT", "Q @ K"))
    told = " ".join(said.split("✗ ")[1].split("  Hint")[0].split())
    assert told == (
        "shapes: RuntimeError in line 5 of your cell, `scores = Q @ K / "
        "math.sqrt(Q.shape[-1])`: mat1 and mat2 shapes cannot be multiplied "
        "(3x4 and 5x4)"
    )
    assert "Traceback" not in said


def test_an_error_in_a_helper_of_the_same_cell_is_told_where_it_happens(judged):
    said = judged(
        "def scores_of(Q, K):\n    return 1 / 0\n\n"
        "def attention(Q, K, V, mask=None, dropout=0.0):\n    return scores_of(Q, K)\n"
    )
    assert "ZeroDivisionError in line 2 of your cell, `return 1 / 0`" in said


def test_an_error_in_a_helper_of_another_cell_is_told_at_the_call(judged, capsys):
    names = run_cell("def scores_of(Q, K):\n    return 1 / 0\n", {})
    run_cell(
        "\ndef attention(Q, K, V, mask=None, dropout=0.0):\n    return scores_of(Q, K)",
        names,
    )
    judge("attention", names["attention"])
    assert (
        "✗ shapes: ZeroDivisionError in line 3 of your cell, `return scores_of(Q,\n"
        "  K)`: division by zero"
    ) in capsys.readouterr().out


def test_arguments_that_are_missing(judged):
    said = judged("def attention(Q, K):\n    return Q @ K.mT\n")
    assert "✗ shapes: TypeError: attention() takes 2 positional arguments but 3" in said


def test_long_messages_of_several_lines_are_cut(judged):
    said = judged(
        "def attention(Q, K, V, mask=None, dropout=0.0):\n"
        "    text = 'long ' * 99 + '\\nsecond'\n    raise ValueError(text)\n"
    )
    assert "long …" in said
    assert "second" not in said
    assert len(said) < 700


def test_no_line_is_wider_than_the_page(judged):
    for source in (RIGHT, RIGHT.replace("-1e30", "-torch.inf")):
        assert max(map(len, judged(source).splitlines())) <= 76


def test_the_number_of_functions_is_checked():
    with pytest.raises(ValueError, match=r"consists of 1, attention, but 2 are given"):
        judge("attention", attention, attention)


@pytest.mark.parametrize(
    ("source", "empty"),
    [
        ("class A:\n    def __init__(self):\n        self.x = 1\n", False),
        ("class A:\n    def forward(self, x):\n        ...\n", True),
        (
            "class A:\n    def __init__(self):\n        super().__init__()\n"
            "    def forward(self, x):\n        '''(B, T, D).'''\n        ...\n",
            True,
        ),
        (
            "class A:\n    def start(self):\n        return 1\n"
            "    def step(self):\n        ...\n",
            False,
        ),
        ("def A(x):\n    return x\n", False),
        ("def A(x):\n    return 1\n", False),
        ("A = 3", False),
    ],
)
def test_what_counts_as_unwritten(source, empty):
    assert is_unwritten(run_cell(source, {})["A"]) == empty
