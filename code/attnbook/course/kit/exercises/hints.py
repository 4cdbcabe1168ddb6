"""Hints: one for each try, and one of its own for a mistake that many make.

The docstring of a stage's check holds them, or that of a short exercise's solution.
Paragraphs are hints, from a gentle one to a plain one; one that begins with
`On "words":` replaces them if the words, a regular expression, are found in what went
wrong. Mistakes are lists of edits of the solution, each with its own hint behind it,
indented::

    Which axis should the weights sum to 1 along?

    `softmax(-1)`, after the division by √d_k.

    On "NaN": How large is exp(1000)?

    softmax(-1) => softmax(-2)
        Your softmax runs over the queries.
    / Q.shape[-1] ** 0.5 =>
    softmax(-1) => softmax(-1) / 2
        The scale belongs inside the softmax, not after it.

What is left of an arrow must stand in the solution once, and what is right of it is
typed instead. The wrong part that comes out is run like the reader's: whose result is
the same has made the same mistake, and gets its hint.
"""

import inspect
import re
import sys
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch.nn import functional as F

from attnbook.course.kit.exercises.differences import first_difference
from attnbook.course.kit.sources import without_docstrings

ARROW = "=>"
REGISTERED = re.compile(r"^@exercise\(.*?^(?=def )", re.MULTILINE | re.DOTALL)
ON = re.compile(r'(?:On "(?P<words>.+?)": )?(?P<hint>.*)')
GIVEN: dict[str, dict[Hashable, str]] = {}
"""For each exercise the answers that got a hint, and which; while the kernel runs."""
NO_MORE_HINTS = "There are no more hints: compare yours with the solution."


def next_hint(
    exercise: str,
    hints: Sequence[str],
    answer: Hashable,
    no_more: str = NO_MORE_HINTS,
) -> str:
    """Return the first hint that was not given yet; the same answer gets its own again.

    Args:
        exercise: What the hints belong to, such as an exercise and its stage.
        hints: In the order in which they are to be given.
        answer: What tells the reader's answer, or its code, from another.
        no_more: What to say when all of them were given.

    Returns:
        One or two lines: the hint, and whether there is another.
    """
    given = GIVEN.setdefault(exercise, {})
    left = [hint for hint in dict.fromkeys(hints) if hint not in given.values()]
    if answer not in given:
        if not left:
            return no_more
        given[answer] = left.pop(0)
    another = "\nChange your answer for another hint." if left else ""
    return f"Hint: {given[answer]}{another}"


def known_hint(got: Any, mistakes: Iterable[tuple[Any, str]]) -> list[str]:
    """The hint of the first mistake with the same result, as a list; empty if none has.

    Args:
        got: The result of the reader's answer.
        mistakes: The result of each known mistake, and its hint.
    """
    for wrong, hint in mistakes:
        if not first_difference(got, wrong):
            return [hint]
    return []


@dataclass
class Mistake:
    """Edits that turn the solution into something wrong, and the hint for it."""

    edits: list[tuple[str, str]] = field(default_factory=list)
    hint: str = ""


def read_hints(text: str) -> tuple[list[tuple[str, str]], list[Mistake]]:
    """Read what a stage tells.

    Returns:
        The hints, each behind the words of the findings that it is for, and the
        mistakes.
    """
    hints, mistakes = [], []
    for block in inspect.cleandoc(text).split("\n\n"):
        if ARROW in block:
            mistakes += _read_mistakes(block)
        else:
            found = ON.fullmatch(" ".join(block.split()))
            hints.append((found["words"] or "", found["hint"]))
    return hints, mistakes


def _read_mistakes(block: str) -> list[Mistake]:
    found = [Mistake()]
    for line in block.splitlines():
        if line.startswith(" "):
            found[-1].hint = f"{found[-1].hint} {line.strip()}".lstrip()
            continue
        if found[-1].hint:
            found.append(Mistake())
        old, new = map(str.strip, line.split(ARROW))
        found[-1].edits.append((old, new))
    return found


def make_mistake(solution: tuple[Callable, ...], mistake: Mistake) -> tuple:
    """Edit the solution's source, and run it in its module; `torch` and `F` are known.

    Its docstrings are left out, and so is what registers it as an exercise.

    Raises:
        ValueError: If the left side of an edit doesn't stand in the source once.
    """
    source = without_docstrings("\n".join(map(inspect.getsource, solution)))
    source = REGISTERED.sub("", source)
    for old, new in mistake.edits:
        if source.count(old) != 1:
            raise ValueError(f"{old!r} stands {source.count(old)} times in:\n{source}")
        source = source.replace(old, new)
    names = {"torch": torch, "F": F, **vars(sys.modules[solution[0].__module__])}
    exec(compile(source, f"<{mistake.hint}>", "exec"), names)
    return tuple(names[answer.__name__] for answer in solution)
