"""The states of a bidirectional encoder, a column for each token, read from below."""

from collections.abc import Sequence
from itertools import pairwise

from attnbook.course.kit.drawings.diagram import SOURCE, Box, Diagram

HALF = 32  # pixels: height of the state of one direction


def encoder_states(
    d: Diagram, tokens: Sequence[str], places: Sequence[float], y: float
) -> tuple[list[Box], list[Box], list[Box]]:
    """Draw tokens, and above each its two states, that of the forward direction on top.

    The two states of a column meet at ``y``. Returned are the tokens, the states of the
    forward and those of the backward direction.
    """
    look = {**SOURCE, "width": 44, "height": HALF}
    numbered = list(enumerate(places, 1))
    forward = [d.box(f"$→h_{j}$", x, y - HALF / 2, **look) for j, x in numbered]
    backward = [d.box(f"$←h_{j}$", x, y + HALF / 2, **look) for j, x in numbered]
    words = [
        d.text(token, x, y + 62, **SOURCE)
        for token, x in zip(tokens, places, strict=True)
    ]
    for word, state in zip(words, backward, strict=True):
        d.arrow(word, state, **SOURCE)
    for one, next_ in (*pairwise(forward), *pairwise(backward[::-1])):
        d.arrow(one, next_, **SOURCE)
    return words, forward, backward
