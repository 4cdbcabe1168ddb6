import importlib
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.pages import check, exercises
from attnbook.pages.exercises.checking import (
    EXERCISES,
    find,
    register,
    verdict,
    wrong,
)
from attnbook.pages.exercises.differences import describe, first_difference


def halves(numbers):
    return numbers / 2


@pytest.fixture(autouse=True)
def _an_exercise():
    register(
        "ex0_halve",
        reference=halves,
        inputs=lambda: [(torch.tensor([2.0, 4.0]),), (torch.tensor([[3.0]]),)],
        hint="Think of two.",
        mistakes=wrong(lambda numbers: numbers * 2, "You double."),
    )
    register(
        "ex0_answer", reference=42, hint="Count.", mistakes=[(41, "One is missing.")]
    )
    yield
    del EXERCISES["ex0_halve"], EXERCISES["ex0_answer"]


def not_written(numbers):
    raise NotImplementedError


def stops(numbers):
    raise RuntimeError("shapes differ\nand a long tale")


def in_place(numbers):
    numbers /= 2
    return numbers


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (halves, "ex0_halve: right."),
        (in_place, "ex0_halve: right."),
        (..., "ex0_halve: your turn."),
        (None, "ex0_halve: your turn."),
        (lambda numbers: ..., "ex0_halve: your turn."),
        (lambda numbers: None, "ex0_halve: your turn."),
        (not_written, "ex0_halve: your turn."),
        (3, "ex0_halve: wanted is a function, yours is 3."),
        (
            lambda numbers: numbers * 2,
            "ex0_halve: not yet right.\nGiven tensor([2, 4]): at [0] yours is 4, "
            "wanted is 1.\nHint: You double.",
        ),
        (
            lambda numbers: torch.ones_like(numbers) + numbers.sum() - 6,
            "ex0_halve: not yet right.\nGiven tensor([2, 4]): at [1] yours is 1, "
            "wanted is 2.\nHint: Think of two.",
        ),
        (
            lambda numbers: numbers[0] / 2 if numbers.dim() == 2 else halves(numbers),
            "ex0_halve: not yet right.\nGiven a tensor of shape (1, 1): yours has the "
            "shape (1,), wanted is (1, 1).\nHint: Think of two.",
        ),
        (
            stops,
            "ex0_halve: your function stops.\nRuntimeError: shapes differ\n"
            "Hint: Think of two.",
        ),
        (
            lambda: 3,
            "ex0_halve: your function stops.\nTypeError: "
            "<lambda>() takes 0 positional arguments but 1 was given\n"
            "Hint: Think of two.",
        ),
    ],
)
def test_every_kind_of_answer(answer, said, capsys):
    check("ex0_halve", answer)
    assert capsys.readouterr() == (
        said.replace("<lambda>", qualified(answer)) + "\n",
        "",
    )


def qualified(answer):
    return getattr(answer, "__qualname__", "")


@pytest.mark.parametrize(
    ("answer", "said"),
    [
        (42, "right."),
        (torch.tensor(42), "right."),
        (..., "your turn."),
        (41, "not yet right.\nyours is 41, wanted is 42.\nHint: One is missing."),
        ("42", "not yet right.\nyours is '42', wanted is 42.\nHint: Count."),
        (halves, "wanted is a value, yours is the function halves."),
    ],
)
def test_an_answer_may_be_a_value(answer, said):
    assert verdict(find("ex0_answer"), "ex0_answer", answer) == f"ex0_answer: {said}"


@pytest.mark.parametrize("name", ["ex0_unknown", "ex99_unknown", "unknown"])
def test_an_unknown_exercise_is_an_error(name):
    with pytest.raises(ValueError, match=f"no exercise '{name}'; .*ex0_halve"):
        check(name, 3)


def test_wrong_answers_are_paired_with_their_hints():
    assert wrong(halves, "Not so.", "ab", "Why?") == [
        (halves, "Not so."),
        ("ab", "Why?"),
    ]
    for answers, words in (
        ((halves, "Not so.", 3), "the last answer, 3, has no hint"),
        ((halves, 3), "3 is no hint"),
        (("ab", "cd", "Why?"), "'cd' is no hint"),
    ):
        with pytest.raises(ValueError, match=words):
            wrong(*answers)


def test_a_chapter_is_loaded_when_its_exercise_is_asked_for():
    assert find("ex1_shift").hint


def test_the_exercises_of_the_chapters_are_sound():
    """The reference is right, and each known mistake gets its own hint."""
    chapters = [f.stem for f in Path(exercises.__file__).parent.glob("ch[0-9][0-9].py")]
    for chapter in chapters:  # loading one registers its exercises
        importlib.import_module(f"attnbook.pages.exercises.{chapter}")
    numbered = {re.match(r"ex(\d+)_", name)[1] for name in EXERCISES}
    assert {str(int(chapter[2:])) for chapter in chapters} <= numbered
    for name, exercise in EXERCISES.items():
        assert verdict(exercise, name, exercise.reference) == f"{name}: right."
        for mistake, hint in exercise.mistakes:
            assert verdict(exercise, name, mistake).endswith(f"\nHint: {hint}")


@pytest.mark.parametrize(
    ("got", "wanted", "said"),
    [
        (1.00001, 1, ""),
        (1, 1.0, ""),
        (float("nan"), float("nan"), ""),
        (float("inf"), float("inf"), ""),
        (torch.tensor(0.5), 0.5, ""),
        ([1, (2, 3)], (1, [2, 3]), ""),
        ("a", "a", ""),
        (torch.tensor([float("nan")]), torch.tensor([float("nan")]), ""),
        (torch.ones(2).double().requires_grad_(), torch.ones(2), ""),
        (0.5, 0.25, "yours is 0.5, wanted is 0.25."),
        (True, 1, "yours is True, wanted is 1."),
        ("a", "b", "yours is 'a', wanted is 'b'."),
        ([1, 2], [1, 3], "at [1] yours is 2, wanted is 3."),
        ([[0, 1], [2]], [[0, 1], [3]], "at [1][0] yours is 2, wanted is 3."),
        ([1], [1, 3], "yours has 1 entries, wanted are 2."),
        ([1], 1, "yours is [1], wanted is 1."),
        (None, [1], "yours is None, wanted is [1]."),
        ([torch.ones(2)], [torch.zeros(2)], "at [0] at [0] yours is 1, wanted is 0."),
        (
            torch.ones(2, 3),
            torch.ones(3, 2),
            "yours has the shape (2, 3), wanted is (3, 2).",
        ),
        (
            torch.tensor([1]),
            torch.tensor([1.0]),
            "yours is of type torch.int64, wanted is torch.float32.",
        ),
        (
            torch.tensor([1]),
            torch.tensor([True]),
            "yours is of type torch.int64, wanted is torch.bool.",
        ),
        (
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[1.0, float("nan")]]),
            "at [0, 1] yours is 2, wanted is nan.",
        ),
        ({}, 1, "yours is an object of type dict, wanted is 1."),
    ],
)
def test_the_first_difference_in_words(got, wanted, said):
    assert first_difference(got, wanted) == said


values = st.recursive(
    st.integers(-9, 9) | st.floats(-9, 9) | st.text(max_size=3),
    lambda inner: st.lists(inner, max_size=3),
)


@given(values)
def test_nothing_differs_from_itself(value):
    assert first_difference(value, value) == ""


@given(st.floats(-1e6, 1e6), st.floats(-3e-4, 3e-4))
def test_two_numbers_that_differ_look_different(wanted, part):
    got = wanted + part * max(1, abs(wanted))
    if first_difference(got, wanted):
        assert describe(got) != describe(wanted)
