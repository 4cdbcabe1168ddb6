"""The drawings of chapter 6: how masks are broadcast, and what a shift hides."""

from __future__ import annotations

from collections.abc import Sequence

from attnbook.pages.drawings.diagram import Diagram

AXES = {"B": 215, "H": 285, "T": 355, "S": 425}


def broadcasting() -> Diagram:
    """The axes of both masks, of the two joined, and of the scores."""
    alt = (
        "Four rows under the axes B, H, T and S, for a batch of 2 and 8 heads. The key "
        "mask has 2, 1, 1, 5; the causal mask has no B and H, and 5, 5; joined they "
        "have 2, 1, 5, 5; the scores have 2, 8, 5, 5. Where a mask has 1 or nothing, "
        "there is no box: it is repeated."
    )
    d = Diagram(490, 262, alt=alt)
    for (axis, x), role in zip(AXES.items(), (None, None, "query", "key"), strict=True):
        d.text(f"${axis}$", x, 24, role=role)
    _axes(d, "key_mask", (2, 1, 1, 5), 66)
    _axes(d, "causal_mask", (None, None, 5, 5), 114)
    _axes(d, "joined by &", (2, 1, 5, 5), 172)
    _axes(d, "scores", (2, 8, 5, 5), 230)
    return d


def _axes(d: Diagram, name: str, sizes: Sequence[int | None], y: float) -> None:
    """One tensor: its name, and a box for each axis, a sign where it is repeated."""
    d.text(name, 85, y)
    for size, x in zip(sizes, AXES.values(), strict=True):
        if size is None:
            d.text("–", x, y)
        elif size == 1:
            d.text("1", x, y)
        else:
            role = {AXES["T"]: "query", AXES["S"]: "key"}.get(x)
            d.box(str(size), x, y, role=role, width=44, height=34)


def shifted_words(words: Sequence[str] = ("the", "old", "farmer", "sees")) -> Diagram:
    """What each place reads, says, and may see under a causal mask.

    Args:
        words: The words to be said; the last is not read.
    """
    read = ("<bos>", *words[:-1])
    alt = (
        f"Below, what is read: {', '.join(read)}. Above, what is to be said at each "
        f"place: {', '.join(words)}. Arrows lead to each place above from its own "
        "place below and from all places left of it, never from the right."
    )
    step = 118
    d = Diagram(20 + step * len(words), 236, alt=alt)
    xs = [10 + step / 2 + step * i for i in range(len(words))]
    above = [
        d.box(word, x, 52, role="target", width=86)
        for word, x in zip(words, xs, strict=True)
    ]
    below = [
        d.box(word, x, 196, role="target", width=86)
        for word, x in zip(read, xs, strict=True)
    ]
    d.text("is to be said", xs[0], 16)
    d.text("is read", xs[0] - 20, 228)
    for i, to in enumerate(above):
        for j in range(i + 1):
            end = to.x + 12 * (j - i), to.y + to.height / 2
            start = below[j].x + 12 * (i - j), below[j].y - below[j].height / 2
            d.arrow(start, end)
    return d
