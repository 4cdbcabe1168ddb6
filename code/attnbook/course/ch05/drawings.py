"""The drawings of chapter 5: several attentions, and what each finds for a word."""

from collections.abc import Sequence

from torch import Tensor

from attnbook.course.kit.drawings.diagram import (
    KEY,
    QUERY,
    SOURCE,
    TARGET,
    VALUE,
    Diagram,
)

MULTI_HEAD = (
    "From the bottom up: query, (B, T, D), key and value, (B, S, D), go through W^Q, "
    "W^K and W^V, and each result is split into H heads: q is (B, H, T, d_k), k and v "
    "are (B, H, S, d_k). On H sheets that lie on each other: q and k give the scores "
    "q · k / √d_k, (B, H, T, S); a softmax gives the weights, (B, H, T, S); weights "
    "times v give the heads, (B, H, T, d_k). Above the sheets they are concatenated to "
    "(B, T, D), and W^O gives the output, (B, T, D)."
)


def multi_head() -> Diagram:
    """Multi-head attention from its three inputs to its output."""
    d = Diagram(510, 640, alt=MULTI_HEAD)
    column = 165
    d.stack(24, 172, 472, 410)
    scores = d.box("$q · k / √d_k$", column, 374, width=170)
    softmax = d.box("softmax", column, 292, width=170)
    mix = d.box("weights · $v$", column, 210, width=170)
    concat = d.box("concatenate", column, 114, width=170)
    out = d.box("$W^O$", column, 57, width=60)
    looks = (("query", "Q", "T", QUERY), ("key", "K", "S", KEY))
    for x, (name, letter, length, look) in zip((100, 230), looks, strict=True):
        split = _projected(d, x, name, letter, length, **look)
        label = f"(B, H, {length}, $d_k$)"
        d.arrow((x, split), (x, scores.y + 19), **look)
        d.text(label, x + 58, 434, **look)
    split = _projected(d, 390, "value", "V", "S", **VALUE)
    d.arrow((390, split), (390, mix.y), mix, **VALUE)
    d.text("(B, H, S, $d_k$)", 448, 434, **VALUE)
    d.arrow(scores, softmax, label="(B, H, T, S)")
    d.arrow(softmax, mix, label="(B, H, T, S)")
    d.arrow(mix, concat)
    d.text("(B, H, T, $d_k$)", column + 54, 146)
    d.arrow(concat, out)
    d.text("(B, T, D)", column + 44, 84)
    d.arrow(out, d.text("output (B, T, D)", column, 14))
    d.text("H heads", 430, 190)
    return d


def _projected(
    d: Diagram, x: float, name: str, letter: str, length: str, role: str
) -> float:
    """An input, its projection and its split; returns the upper edge of the split."""
    entry = d.text(f"{name} (B, {length}, D)", x, 622, role=role)
    w = d.box(f"$W^{letter}$", x, 560, width=60, role=role)
    split = d.box("split", x, 482, width=60, role=role)
    d.arrow(entry, w, role=role)
    d.arrow(w, split, role=role)
    d.text(f"(B, {length}, D)", x + 42, 521, role=role)
    return split.y - split.height / 2


HEADS = {1: {"role": "value"}, 3: {"role": "query"}}
"""The two heads of :func:`heads_at_a_word` that stand out, and their colours."""


def heads_at_a_word(written: str, words: Sequence[str], weights: Tensor) -> Diagram:
    """Lines from source words to the heads at one step, as thick as the weights.

    Args:
        written: The word that the step writes.
        words: The S source words.
        weights: (H, S), those of the heads at this step.
    """
    largest = [
        ", ".join(
            f"{word} {w:.0%}" for word, w in zip(words, row, strict=True) if w >= 0.1
        )
        for row in weights.tolist()
    ]
    found = "; ".join(f"head {n}: {text}" for n, text in enumerate(largest, 1))
    alt = (
        "Lines lead from the source words on the left to the heads, and from these an "
        f"arrow each to {written} on the right. The lines are as thick as the weights. "
        f"Weights of 10 % and more: {found}."
    )
    row, thickest = 30, 16
    d = Diagram(440, row * len(words) + 16, alt=alt)
    ys = [23 + row * j for j in range(len(words))]
    middle = (ys[0] + ys[-1]) / 2
    out = d.box(written, 390, middle, width=76, **TARGET)
    for word, y in zip(words, ys, strict=True):
        d.text(word, 84, y, anchor="end", **SOURCE)
    for n in sorted(range(1, len(weights) + 1), key=HEADS.__contains__):  # pale first
        look = HEADS.get(n, {})
        at = middle + 66 * (n - (len(weights) + 1) / 2)
        for y, weight in zip(ys, weights[n - 1].tolist(), strict=True):
            if (width := thickest * weight) >= 0.5:  # thinner ones can't be seen
                d.line((92, y), (238, at), pale=not look, width=width, **look)
        d.arrow(d.box(f"head {n}", 274, at, width=72, **look), out, **look)
    return d
