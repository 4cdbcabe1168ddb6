"""Exercises that answer: "your turn", where an answer first differs, or "right".

A chapter registers its exercises in the module ``exercises`` of its folder and names
them ``exN_...`` after its number, so that ``check`` finds them; those of the
appendix are in ``aN`` and named ``exaN_...``. A function is written as it should be,
and its docstring tells the hint, and the mistakes that many make, as in ``hints``::

    @exercise(inputs=lambda: draw_inputs(((2, 3, 4), torch.tensor([3, 1]))))
    def ex1_last_state(states, lengths):
        '''Row i ends at position lengths[i] - 1.

        torch.arange(len(states)), lengths - 1 => :, -1
            You take the last column, which is padding in a short sentence.
        '''
        return states[torch.arange(len(states)), lengths - 1]

The page gives a stub, ``def ex1_last_state(states, lengths): ...``, and then calls
``check("ex1_last_state", ex1_last_state)``. Where the answer is a value, a number or a
sentence, say, the function returns it, and ``@exercise()`` has no inputs.
"""

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from importlib import import_module
from importlib.resources import files
from typing import Any

import torch

from attnbook.course.kit.exercises.differences import (
    describe,
    first_difference,
    kind_of,
)
from attnbook.course.kit.exercises.hints import (
    known_hint,
    make_mistake,
    next_hint,
    read_hints,
)
from attnbook.course.kit.exercises.readers_code import (
    error_line,
    files_of,
    is_unwritten,
    what_it_does,
)


@dataclass(frozen=True)
class Exercise:
    """What a right answer does, and what to say to a wrong one.

    Attributes:
        reference: The right answer, a function or a value.
        inputs: Makes the arguments to try it on, the same at each call.
        hint: What to think of when the answer is wrong in an unknown way.
        mistakes: Wrong answers that are often given, each with its own hint.
    """

    reference: Any
    inputs: Callable[[], Iterable[tuple]]
    hint: str
    mistakes: tuple[tuple[Any, str], ...]


EXERCISES: dict[str, Exercise] = {}


def exercise(inputs: Callable[[], Iterable[tuple]] | None = None) -> Callable:
    """Decorate the right answer of an exercise that is called as the function is.

    Args:
        inputs: Makes the arguments to try it on, the same at each call. Without them
            the answer is the value that the function returns.
    """

    def add(reference: Callable) -> Callable:
        [(_, hint)], edits = read_hints(reference.__doc__)
        answers = [reference, *(make_mistake((reference,), x)[0] for x in edits)]
        if inputs is None:
            answers = [answer() for answer in answers]
        right, *wrong = answers
        mistakes = zip(wrong, (x.hint for x in edits), strict=True)
        given = inputs or (lambda: [()])
        EXERCISES[reference.__name__] = Exercise(right, given, hint, tuple(mistakes))
        return reference

    return add


def draw_inputs(*cases: tuple) -> list[tuple]:
    """Draw arguments for an answer, the same at each call: float32, without gradients.

    Args:
        cases: The arguments of one try each. A tuple is a shape, and a tensor of that
            shape is drawn, normal with variance 1; all else is given as it is.
    """
    g = torch.Generator().manual_seed(0)
    return [
        tuple(
            torch.randn(entry, generator=g) if isinstance(entry, tuple) else entry
            for entry in case
        )
        for case in cases
    ]


def check(name: str, answer: Any, reveal: bool = False) -> None:
    """Say whether an answer is right and, if not, give a hint; a changed one another.

    Of a function it is also said where its result first differs.

    Args:
        name: The exercise, as the page calls it.
        answer: The reader's function or value.
        reveal: Whether to show the right value; a function is shown by the solution.

    Raises:
        ValueError: If there is no exercise of that name.
    """
    print(verdict_on_answer(find(name), name, answer, reveal))


def find(name: str) -> Exercise:
    """Look an exercise up, such as "ex1_last_state", loading its chapter if need be.

    Raises:
        ValueError: If there is none of that name.
    """
    page = re.match(r"ex(?:(\d+)|(a\d))_", name)
    if page:
        chapter = page[2] or f"ch{int(page[1]):02d}"
        if (files("attnbook.course") / chapter / "exercises.py").is_file():
            import_module(f"attnbook.course.{chapter}.exercises")
    if name not in EXERCISES:
        known = ", ".join(sorted(EXERCISES)) or "none"
        raise ValueError(f"there is no exercise {name!r}; the known ones are {known}.")
    return EXERCISES[name]


def verdict_on_answer(
    exercise: Exercise, name: str, answer: Any, reveal: bool = False
) -> str:
    """What ``check`` prints: one line; if something is wrong, what, and a hint."""
    if answer is ... or answer is None:
        return f"{name}: your turn."
    if callable(answer) != callable(exercise.reference):
        kind = "a function" if callable(exercise.reference) else "a value"
        return f"{name}: expected {kind}, got {describe(answer)}."
    if callable(answer):
        return _verdict_on_function(exercise, name, answer)
    return _verdict_on_value(exercise, name, answer, reveal)


def _verdict_on_value(exercise: Exercise, name: str, answer: Any, reveal: bool) -> str:
    """Right, or a hint; the right value only on request."""
    right = exercise.reference
    if not first_difference(answer, right):
        return f"{name}: right."
    if reveal:
        return f"{name}: the answer is {describe(right)}."
    letters = filter(str.isalpha, answer.lower()) if isinstance(answer, str) else ()
    if "".join(sorted(letters)) == right:
        return (
            f"{name}: these are the right letters; write them in alphabetical order, "
            "with nothing between them."
        )
    lines = [f"{name}: not yet right."]
    if kind_of(answer) != kind_of(right):
        lines.append(f"Expected {kind_of(right)}, got {describe(answer)}.")
    shows = f'There are no more hints: check("{name}", {name}, reveal=True) shows the '
    hint = next_hint(name, _hints(exercise, [answer]), repr(answer), f"{shows}answer.")
    return "\n".join([*lines, hint])


def _verdict_on_function(exercise: Exercise, name: str, answer: Callable) -> str:
    """Right, or where its result first differs, and a hint."""
    try:
        got = _results(answer, exercise)
    except Exception as error:  # whatever may go wrong in the reader's function
        told = error_line(error, files_of([answer]))
        code = what_it_does([answer])
        hint = next_hint(name, [exercise.hint], code)
        return f"{name}: your function raises an error.\n{told}\n{hint}"
    if got[0] is None and not is_unwritten(answer):
        return f"{name}: your function returned None: is a `return` missing?"
    if got[0] is ... or got[0] is None:
        return f"{name}: your turn."
    wanted = _results(exercise.reference, exercise)
    for arguments, mine, right in zip(exercise.inputs(), got, wanted, strict=True):
        difference = first_difference(mine, right)
        if difference:
            given = ", ".join(map(describe, arguments))
            told = f"For {given}: {difference}" if given else difference
            hint = next_hint(name, _hints(exercise, got), what_it_does([answer]))
            return f"{name}: not yet right.\n{told}\n{hint}"
    return f"{name}: right."


def _results(answer: Any, exercise: Exercise) -> list:
    """What an answer gives for each input, made anew: it may have changed them."""
    if not callable(answer):
        return [answer]
    return [answer(*arguments) for arguments in exercise.inputs()]


def _hints(exercise: Exercise, got: list) -> list[str]:
    """That of the known mistake with the same results, and the general one."""
    wrong = ((_results(answer, exercise), hint) for answer, hint in exercise.mistakes)
    return [*known_hint(got, wrong), exercise.hint]
