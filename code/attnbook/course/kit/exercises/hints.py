"""Hints, one at each call: what was given before is kept while the kernel runs."""

from __future__ import annotations

from collections.abc import Sequence

GIVEN: dict[str, set[str]] = {}
"""The hints that the reader has seen, by exercise."""
NO_MORE_HINTS = "There are no more hints: compare yours with the solution."


def next_hint(exercise: str, hints: Sequence[str], no_more: str) -> str:
    """Return the first hint that was not given yet.

    Args:
        exercise: What the hints belong to, such as an exercise and its stage.
        hints: In the order in which they are to be given.
        no_more: What to say when all of them were given.

    Returns:
        One or two lines: the hint, and whether there is another.
    """
    given = GIVEN.setdefault(exercise, set())
    left = [hint for hint in dict.fromkeys(hints) if hint not in given]
    if not left:
        return no_more
    given.add(left[0])
    another = "\nRun the cell again for another hint." if left[1:] else ""
    return f"Hint: {left[0]}{another}"
