"""The drawings of chapter 6: shift and mask, broadcasting, a prefix in two layers."""

from collections.abc import Sequence

from attnbook.course.kit.drawings.diagram import TARGET, Diagram


def shifted_words(words: Sequence[str] = ("the", "old", "farmer", "sees")) -> Diagram:
    """A row for each prefix and its target; the later inputs are grey."""
    inputs = ("<bos>", *words[:-1])
    rows = [
        f"{' '.join(inputs[: i + 1])}, target {word}" for i, word in enumerate(words)
    ]
    alt = (
        f"Rows with the same inputs, {' '.join(inputs)}. Up to the diagonal they are "
        "coloured, and an arrow leads from each row to its target. Above the diagonal "
        f"they are grey, a triangle. The coloured words: {'; '.join(rows)}."
    )
    step, size, left = 94, {"width": 80, "height": 34}, 48
    d = Diagram(left + step * len(words) + 86, 44 + 46 * len(words), alt=alt)
    xs = [left + step * j for j in range(len(words))]
    right = xs[-1] + step + 36
    d.text("inputs", (xs[0] + xs[-1]) / 2, 16)
    d.text("target", right, 16)
    for i, target in enumerate(words):
        y = 54 + 46 * i
        for j, word in enumerate(inputs):
            d.box(word, xs[j], y, **size, **(TARGET if j <= i else {}))
        last = xs[-1] + size["width"] / 2
        d.arrow((last, y), d.box(target, right, y, **size, **TARGET))
    return d


SIZE, SENTENCES = 5, ((True,) * 5, (True, True, True, False, False))
TILE, GAP = 16, 34
"""Pixels: the side of a tile, and what is between the two sentences."""
BROADCASTING = (
    "Four columns of tiles, in two rows for two sentences of five positions, the "
    "second with two padding tokens. The key mask, (B, 1, 1, S), stores one row of "
    "tiles for each sentence, which is repeated downwards. The causal mask, (T, S), is "
    "stored once, a triangle, and repeated for the second sentence. Joined, (B, 1, T, "
    "S), they are the triangle for the first sentence; in the second its last two "
    "columns are masked. The scores, (B, H, T, S), have such a square for each head, "
    "drawn as a stack."
)


def broadcasting() -> Diagram:
    """Both masks, the two joined, and the scores; what broadcasting repeats is pale."""
    d = Diagram(510, 298, alt=BROADCASTING)
    causal = [[j <= i for j in range(SIZE)] for i in range(SIZE)]
    wide = SIZE * TILE
    lefts = [22 + i * (wide + 46) for i in range(4)]
    tops = [44, 44 + wide + GAP]
    for b, (top, real) in enumerate(zip(tops, SENTENCES, strict=True)):
        keys = [real] * SIZE
        both = [[a and c for a, c in zip(real, row, strict=True)] for row in causal]
        for left, matrix in zip(lefts, (keys, causal, both), strict=False):
            d.tiles(matrix, left, top, size=TILE, **TARGET)
        d.veil(lefts[0], top + TILE, lefts[0] + wide, top + wide)
        if b:
            d.veil(lefts[1], top, lefts[1] + wide, top + wide)
        for shift in (12, 6, 0):  # a sheet for each head, the first in front
            left = lefts[3] + shift
            d.tiles(both, left - 6, top + 6 - shift, size=TILE, **TARGET)
        for sign, left in zip(("&", "=", "→"), lefts[1:], strict=True):
            d.text(sign, left - 23, top + wide / 2)
        d.text(f"{b + 1}", 10, top + wide / 2)
    names = ("key_mask", "causal_mask", "target_mask", "scores")
    shapes = ("(B, 1, 1, S)", "(T, S)", "(B, 1, T, S)", "(B, H, T, S)")
    for left, name, shape in zip(lefts, names, shapes, strict=True):
        d.text(name, left + wide / 2, 18)
        d.text(shape, left + wide / 2, tops[1] + wide + 26)
    return d


PREFIX = (
    "Two panels with the prefix bos, the, old and two layers above it. With the "
    "causal mask, each position of layer 1 has arrows from its own input and from "
    "those to the left. Without it, dashed arrows lead from later inputs to earlier "
    "positions as well. In both panels the last position of layer 2 has arrows from "
    "all three positions of layer 1."
)


def prefix_in_two_layers() -> Diagram:
    """Which inputs the newest position of layer 2 depends on, and by which paths."""
    d, words = Diagram(510, 270, alt=PREFIX), ("<bos>", "the", "old")
    for left, title, causal in ((84, "with mask", True), (318, "without", False)):
        xs = [left + 78 * i for i in range(len(words))]
        d.text(title, xs[1], 16)
        for word, x in zip(words, xs, strict=True):
            d.text(word, x, 250, **TARGET)
        first = [
            d.box("", x, 150, filled=not causal and x != xs[-1], **TARGET) for x in xs
        ]
        newest = d.box("", xs[-1], 62, **TARGET)
        for j, x in enumerate(xs):
            for i, box in enumerate(first):
                if causal and j > i:
                    continue
                start = x + 9 * (i - j), 234
                end = box.x + 9 * (j - i), box.y + box.height / 2
                d.arrow(start, end, dashed=j > i)
        for j, box in enumerate(first):
            start = box.x, box.y - box.height / 2
            end = newest.x - 9 * (len(first) - 1 - j), newest.y + newest.height / 2
            d.arrow(start, end)
    for label, y in (("layer 2", 62), ("layer 1", 150), ("inputs", 250)):
        d.text(label, 28, y)
    return d
