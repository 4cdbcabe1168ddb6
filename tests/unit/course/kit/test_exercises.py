"""Short answers: what ``check`` says of each kind, and that every exercise is sound."""

import importlib
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook import course
from attnbook.course import check
from attnbook.course.kit.exercises.differences import describe, first_difference
from attnbook.course.kit.exercises.hints import GIVEN
from attnbook.course.kit.exercises.short_exercises import (
    EXERCISES,
    exercise,
    find,
    verdict_on_answer,
)

PAGES = sorted(
    f.parent.name for f in Path(course.__file__).parent.glob("*/exercises.py")
)
for page in PAGES:  # loading one registers its exercises
    importlib.import_module(f"attnbook.course.{page}.exercises")
ALL = dict(EXERCISES)


def ex0_halve(numbers):
    """Think of two.

    / 2 => * 2
        You double.
    """
    return numbers / 2


def ex0_answer():
    """Count.

    42 => 41
        One is missing.
    """
    return 42


@pytest.fixture(autouse=True)
def _two_exercises(monkeypatch):
    GIVEN.clear()
    monkeypatch.setattr("attnbook.course.kit.exercises.short_exercises.EXERCISES", {})
    inputs = [(torch.tensor([2.0, 4.0]),), (torch.tensor([[3.0]]),)]
    exercise(lambda: [(numbers.clone(),) for (numbers,) in inputs])(ex0_halve)
    exercise()(ex0_answer)


def prints(numbers):
    ex0_halve(numbers)


def stops(numbers):
    raise RuntimeError("shapes differ\nand a long tale")


def in_place(numbers):
    numbers /= 2
    return numbers


MORE = "\nChange your answer for another hint."
WRONG = "not yet right.\nFor {}.\nHint: Think of two."
OTHER = "a tensor of shape (1, 1): got the shape (1,), expected"
ERROR = (
    "your function raises an error.\nRuntimeError in line "
    f"{stops.__code__.co_firstlineno + 1} of test_exercises.py, `raise RuntimeError("
    '"shapes differ\\nand a long tale")`: shapes differ\nHint: Think of two.'
)


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (ex0_halve, "right."),
        (in_place, "right."),
        (..., "your turn."),
        (lambda numbers: ..., "your turn."),
        (lambda numbers: None, "your turn."),
        (prints, "your function returned None: is a `return` missing?"),
        (3, "expected a function, got 3."),
        (
            lambda numbers: numbers * 2,
            "not yet right.\nFor tensor([2, 4]): at [0] got 4, expected 1.\n"
            f"Hint: You double.{MORE}",
        ),
        (torch.ones_like, WRONG.format("tensor([2, 4]): at [1] got 1, expected 2")),
        (lambda numbers: (numbers / 2).view(-1), WRONG.format(f"{OTHER} (1, 1)")),
        (stops, ERROR),
    ],
)
def test_answers_that_are_functions(answer, said, capsys):
    check("ex0_halve", answer)
    assert capsys.readouterr() == (f"ex0_halve: {said}\n", "")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (42, "right."),
        (torch.tensor(42), "right."),
        (None, "your turn."),
        (41, f"not yet right.\nHint: One is missing.{MORE}"),
        (40, "not yet right.\nHint: Count."),
        ("42", "not yet right.\nExpected a number, got '42'.\nHint: Count."),
        (ex0_halve, "expected a value, got the function ex0_halve."),
    ],
)
def test_answers_that_are_values(answer, said):
    assert (
        verdict_on_answer(find("ex0_answer"), "ex0_answer", answer)
        == f"ex0_answer: {said}"
    )


def last_lines(name, answers, **options):
    said = [
        verdict_on_answer(find(name), name, answer, **options) for answer in answers
    ]
    return [text.removesuffix(MORE).splitlines()[-1] for text in said]


def test_a_hint_for_each_answer_and_the_value_only_on_request():
    told = ["Hint: One is missing.", "Hint: Count."]
    end = (
        'There are no more hints: check("ex0_answer", ex0_answer, reveal=True) shows '
        "the answer."
    )
    assert last_lines("ex0_answer", (41, 41, 40, 40, 41, 39, 38)) == [
        told[i] for i in (0, 0, 1, 1, 0)
    ] + [end, end]
    assert last_lines("ex0_answer", (41, 42, ...), reveal=True) == [
        "ex0_answer: the answer is 42.",
        "ex0_answer: right.",
        "ex0_answer: your turn.",
    ]


def test_unchanged_code_does_not_earn_the_next_hint():
    def double(numbers):
        return numbers * 2

    def same(numbers):
        return numbers * 2  # another comment, in another line

    def again(numbers):
        return numbers + numbers

    answers = (double, same, double, again, lambda n: 3 * n - n)
    first, second, end = "Hint: You double.", "Hint: Think of two.", "compare yours"
    said = last_lines("ex0_halve", answers)
    assert said[:4] == [first, first, first, second]
    assert end in said[4]


@pytest.mark.parametrize("name", ALL)
def test_the_reference_is_right_and_each_known_mistake_gets_its_own_hint(name):
    exercise = ALL[name]
    assert verdict_on_answer(exercise, name, exercise.reference) == f"{name}: right."
    for mistake, hint in exercise.mistakes:
        GIVEN.clear()
        said = verdict_on_answer(exercise, name, mistake)
        assert f"\nHint: {hint}{MORE if hint != exercise.hint else ''}" in said


VALUES = [name for name, exercise in ALL.items() if not callable(exercise.reference)]


@pytest.mark.parametrize("name", VALUES)
def test_no_value_of_the_chapters_is_told_without_request(name):
    exercise, told = ALL[name], describe(ALL[name].reference)
    for answer in (1234, "no idea", [5], *(m for m, _ in exercise.mistakes)):
        said = verdict_on_answer(exercise, name, answer).split("Hint:")[0]
        assert told not in said.replace(name, "")


t, nan, TYPE = torch.tensor, float("nan"), "got the type torch.int64, expected torch."


@pytest.mark.parametrize(
    ("got", "wanted", "said"),
    [
        (1.00001, 1, ""),
        (1, 1.0, ""),
        (85_054_464.0, 85_054_464, ""),
        (85_054_465, 85_054_464, "got 85054465, expected 85054464."),
        (t(0.5), 0.5, ""),
        ([1, (2, 3)], (1, [2, 3]), ""),
        (t([nan]), t([nan]), ""),
        (torch.ones(2).double().requires_grad_(), torch.ones(2), ""),
        (t([10**6 + 1]), t([10**6]), "at [0] got 1000001, expected 1000000."),
        (True, 1, "got True, expected 1."),
        ([[0, 1], [2]], [[0, 1], [3]], "at [1][0] got 2, expected 3."),
        ([1], [1, 3], "got a list of 1, expected one of 2."),
        ([t([1.0])], [t([0.0])], "at [0] at [0] got 1, expected 0."),
        (torch.ones(2, 3), torch.ones(3, 2), "got the shape (2, 3), expected (3, 2)."),
        (t([1]), t([1.0]), f"{TYPE}float32."),
        (t([[1, 2.0]]), t([[1, nan]]), "at [0, 1] got 2, expected nan."),
        ({"a": [1]}, None, "got {'a': [1]}, expected None."),
    ],
)
def test_the_first_difference_in_words(got, wanted, said):
    assert first_difference(got, wanted) == said


@given(st.floats(-1e6, 1e6), st.floats(-3e-4, 3e-4))
def test_two_numbers_that_differ_look_different(wanted, part):
    got = wanted + part * max(1, abs(wanted))
    if first_difference(got, wanted):
        assert describe(got) != describe(wanted)


def test_right_letters_in_another_form_are_called_so():
    name = "ex8_who_mixes"
    for answer in ("db", "B, D", "(b) (d)", "b", "abd", "", 2, ["b", "d"]):
        right = answer in ("db", "B, D", "(b) (d)")
        assert (
            "the right letters" in verdict_on_answer(ALL[name], name, answer)
        ) == right
