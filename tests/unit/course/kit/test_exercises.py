import importlib
import re
from pathlib import Path

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from attnbook.course import check
from attnbook.course.kit import exercises
from attnbook.course.kit.exercises.checking import (
    EXERCISES,
    find,
    register,
    verdict,
    wrong,
)
from attnbook.course.kit.exercises.differences import (
    describe,
    first_difference,
    kind_of,
)
from attnbook.course.kit.exercises.hints import GIVEN


def halves(numbers):
    return numbers / 2


@pytest.fixture(autouse=True)
def _no_hint_was_given():
    GIVEN.clear()
    yield
    GIVEN.clear()


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


LINE = stops.__code__.co_firstlineno + 1


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
        (3, "ex0_halve: expected a function, got 3."),
        (
            lambda numbers: numbers * 2,
            "ex0_halve: not yet right.\nFor tensor([2, 4]): at [0] got 4, "
            "expected 1.\nHint: You double.\nRun the cell again for another hint.",
        ),
        (
            lambda numbers: torch.ones_like(numbers) + numbers.sum() - 6,
            "ex0_halve: not yet right.\nFor tensor([2, 4]): at [1] got 1, "
            "expected 2.\nHint: Think of two.",
        ),
        (
            lambda numbers: numbers[0] / 2 if numbers.dim() == 2 else halves(numbers),
            "ex0_halve: not yet right.\nFor a tensor of shape (1, 1): got the shape "
            "(1,), expected (1, 1).\nHint: Think of two.",
        ),
        (
            stops,
            "ex0_halve: your function raises an error.\nRuntimeError in line "
            f'{LINE} of test_exercises.py, `raise RuntimeError("shapes differ\\nand a '
            'long tale")`: shapes differ\n'
            "Hint: Think of two.",
        ),
        (
            lambda: 3,
            "ex0_halve: your function raises an error.\nTypeError: "
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
        (
            41,
            "not yet right.\nHint: One is missing.\nRun the cell again for another "
            "hint.",
        ),
        (40, "not yet right.\nHint: Count."),
        ("42", "not yet right.\nExpected a number, got '42'.\nHint: Count."),
        (halves, "expected a value, got the function halves."),
    ],
)
def test_an_answer_may_be_a_value(answer, said):
    assert verdict(find("ex0_answer"), "ex0_answer", answer) == f"ex0_answer: {said}"


def test_a_value_is_told_only_on_request():
    exercise = find("ex0_answer")
    said = [verdict(exercise, "ex0_answer", 41) for _ in range(4)]
    assert [text.splitlines()[1] for text in said] == [
        "Hint: One is missing.",
        "Hint: Count.",
        *2
        * [
            'There are no more hints: check("ex0_answer", ex0_answer, reveal=True) '
            "shows the answer."
        ],
    ]
    assert not any("42" in text for text in said)
    told = verdict(exercise, "ex0_answer", 41, reveal=True)
    assert told == "ex0_answer: the answer is 42."
    assert verdict(exercise, "ex0_answer", 42, reveal=True) == "ex0_answer: right."
    assert verdict(exercise, "ex0_answer", ..., reveal=True) == "ex0_answer: your turn."


def test_no_value_of_the_chapters_is_told_without_request():
    """Whatever the reader gives, and however often."""
    for name, exercise in all_exercises().items():
        if callable(exercise.reference):
            continue
        told = describe(exercise.reference)
        for answer in (1234, "no idea", [5], *(m for m, _ in exercise.mistakes)):
            for _ in range(4):
                difference = verdict(exercise, name, answer).split("Hint:")[0]
                assert told not in difference.replace(name, "")


def test_hints_of_a_function_end_with_the_solution():
    exercise = find("ex0_halve")
    said = [verdict(exercise, "ex0_halve", lambda n: n * 2) for _ in range(3)]
    assert "Hint: You double." in said[0]
    assert said[1].endswith("\nHint: Think of two.")
    assert said[2].endswith("compare yours with the solution.")
    assert "expected 1." in said[2]


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
    assert find("ex1_mean_state").hint


def all_exercises():
    """Those of all chapters, by name."""
    folder = Path(exercises.__file__).parent
    pages = [f.stem for f in folder.glob("*.py") if re.match(r"ch\d\d$|a\d$", f.stem)]
    for page in pages:  # loading one registers its exercises
        importlib.import_module(f"attnbook.course.kit.exercises.{page}")
    named = {re.match(r"ex(\d+|a\d)_", name)[1] for name in EXERCISES}
    wanted = {page if page[0] == "a" else str(int(page[2:])) for page in pages}
    assert wanted <= named
    return EXERCISES


def test_the_exercises_of_the_chapters_are_sound():
    """The reference is right, and each known mistake gets its own hint."""
    for name, exercise in all_exercises().items():
        assert verdict(exercise, name, exercise.reference) == f"{name}: right."
        for mistake, hint in exercise.mistakes:
            GIVEN.clear()
            said = verdict(exercise, name, mistake)
            another = (
                "" if hint == exercise.hint else "\nRun the cell again for another"
            )
            assert f"\nHint: {hint}{another}" in said


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
        (0.5, 0.25, "got 0.5, expected 0.25."),
        (True, 1, "got True, expected 1."),
        ("a", "b", "got 'a', expected 'b'."),
        ([1, 2], [1, 3], "at [1] got 2, expected 3."),
        ([[0, 1], [2]], [[0, 1], [3]], "at [1][0] got 2, expected 3."),
        ([1], [1, 3], "got 1 entries, expected 2."),
        ([1], 1, "got [1], expected 1."),
        (None, [1], "got None, expected [1]."),
        ([torch.ones(2)], [torch.zeros(2)], "at [0] at [0] got 1, expected 0."),
        (
            torch.ones(2, 3),
            torch.ones(3, 2),
            "got the shape (2, 3), expected (3, 2).",
        ),
        (
            torch.tensor([1]),
            torch.tensor([1.0]),
            "got the type torch.int64, expected torch.float32.",
        ),
        (
            torch.tensor([1]),
            torch.tensor([True]),
            "got the type torch.int64, expected torch.bool.",
        ),
        (
            torch.tensor([[1.0, 2.0]]),
            torch.tensor([[1.0, float("nan")]]),
            "at [0, 1] got 2, expected nan.",
        ),
        ({"a": [1]}, 1, "got {'a': [1]}, expected 1."),
    ],
)
def test_the_first_difference_in_words(got, wanted, said):
    assert first_difference(got, wanted) == said


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (True, "True or False"),
        (3, "a number"),
        (torch.tensor(0.5), "a number"),
        ("bd", "a string"),
        ((1, 2), "a list of 2"),
        (torch.ones(2, 3), "a tensor of shape (2, 3)"),
        ({}, "an object of type dict"),
    ],
)
def test_kinds_in_words(value, kind):
    assert kind_of(value) == kind


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


@pytest.mark.parametrize("answer", ["db", "B, D", "(b) (d)"])
def test_right_letters_in_another_form_are_called_so(answer):
    said = verdict(find("ex8_who_mixes"), "ex8_who_mixes", answer)
    assert "right letters" in said
    assert "alphabetical order" in said


@pytest.mark.parametrize("answer", ["b", "abd", "", 2, ["b", "d"]])
def test_other_letters_get_a_hint(answer):
    said = verdict(find("ex8_who_mixes"), "ex8_who_mixes", answer)
    assert said.startswith("ex8_who_mixes: not yet right.")
