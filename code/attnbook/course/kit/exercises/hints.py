"""Hints, one for each try: what was given before is kept while the kernel runs."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

GIVEN: dict[str, dict[Hashable, str]] = {}
"""For each exercise the answers that got a hint, and which."""
NO_MORE_HINTS = "There are no more hints: compare yours with the solution."


def next_hint(
    exercise: str, hints: Sequence[str], answer: Hashable, no_more: str
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
