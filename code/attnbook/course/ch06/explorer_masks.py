"""Chapter 6: the reader chooses attention, lengths, window and padding; the mask."""

from collections.abc import Sequence

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.explorers.charts import Map
from attnbook.course.kit.explorers.controls import Menu, Slider, Switch
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.nn.masks import key_mask, masked_softmax, target_mask
from attnbook.toy.example import SENTENCE
from attnbook.toy.language import translate_by_rule

# What goes into the decoder is shifted by one: it begins with BOS.
WORDS = {"source": SENTENCE, "target": ("bos", *translate_by_rule(SENTENCE).target[:5])}
KINDS = {
    "encoder self": ("source", "source", False),
    "decoder self": ("target", "target", True),
    "cross": ("target", "source", False),
}
"""Each attention: the side of the queries, that of the keys, whether it is causal."""
SCORES = (
    (1.2, 0.1, 0.4, -0.5, 0.2, 0.9),
    (0.3, 0.8, 1.5, 0.0, -0.4, 0.6),
    (-0.2, 1.4, 0.5, 0.9, 0.1, 1.1),
    (0.0, -0.6, 1.3, 0.7, 0.4, 1.6),
    (0.5, 0.2, -0.3, 1.0, 0.6, 1.8),
    (0.1, -0.1, 1.0, 1.7, 0.8, 0.3),
)
"""How well each key fits each query, (T, S); chosen by hand."""
N = len(SCORES)
LEGEND = (
    "Source and target have six positions each, padding included; the scores are "
    "fixed. Numbers are attention weights, and grey cells are masked. A window of w"
    " allows only keys fewer than w positions away."
)
CONTROLS = {
    "attention": Menu("attention", tuple(KINDS), "cross"),
    "source": Slider("source length", 1, N, 4),
    "target": Slider("target length", 1, N, 5),
    "window": Slider("window", 1, N, N),
    "masked": Switch("mask", True),
    "left": Switch("padding on the left", False),
}


def mask_view(
    attention: str, source: int, target: int, window: int, masked: bool, left: bool
) -> View:
    """The weights of an attention, with or without the mask that belongs there."""
    asks, offers, causal = KINDS[attention]
    lengths = {"source": source, "target": target}
    rows, columns = (_sequence(side, lengths[side], left) for side in (asks, offers))
    wanted = _mask(columns, causal, window)
    mask = wanted if masked else torch.ones_like(wanted)
    weights = masked_softmax(torch.tensor(SCORES, dtype=torch.float64), mask)
    cells = tuple(
        tuple(round(w, 2) if may else None for w, may in zip(*pair, strict=True))
        for pair in zip(weights.tolist(), mask.tolist(), strict=True)
    )
    texts = tuple(tuple("" if w is None else f"{w:.2f}" for w in row) for row in cells)
    labels = (f"query: {asks}", f"key: {offers}")
    chart = Map(rows, columns, cells, (asks, offers), labels, texts=texts)
    said = _without_mask(wanted, weights)
    if masked:
        name = "target_mask" if causal else "key_mask"
        said = _with_mask(name, wanted, window < N, causal, rows)
    alt = [[text or "masked" for text in row] for row in texts]
    return View(said, (chart,), rows_in_words(rows, alt))


explore_masks = Explorer(mask_view, CONTROLS, caption=LEGEND)


def _sequence(side: str, length: int, left: bool) -> tuple[str, ...]:
    """The six positions of a side: its tokens and padding."""
    real, pads = WORDS[side][:length], ("pad",) * (N - length)
    return pads + real if left else real + pads


def _mask(columns: Sequence[str], causal: bool, window: int) -> Tensor:
    """What the queries may attend to, (T, S)."""
    ids = torch.tensor([[PAD if word == "pad" else PAD + 1 for word in columns]])
    distance = torch.arange(N)[:, None] - torch.arange(N)
    return (target_mask if causal else key_mask)(ids)[0, 0] & (distance.abs() < window)


def _with_mask(
    name: str, mask: Tensor, cut: bool, causal: bool, rows: Sequence[str]
) -> str:
    """The shape of a mask, how much it allows, and rows of which to be aware."""
    shape = f"(1, 1, {N if causal or cut else 1}, {N})"
    some = mask.any(-1).tolist()
    empty = [i for i in range(N) if not some[i]]
    pads = [i for i in range(N) if some[i] and rows[i] == "pad"]
    said = (
        f"{name}{' and window' * cut} of shape {shape}: {mask.sum()} of {N * N} cells "
        "are allowed. "
    )
    said += (
        f"{_named(empty)} fully masked: zeros." if empty else "No row is fully masked."
    )
    if pads:
        said += f" {_named(pads)} padding, but may still attend."
    return said


def _without_mask(wanted: Tensor, weights: Tensor) -> str:
    """The row that gives most to what the mask would hide."""
    hidden = weights.masked_fill(wanted, 0).sum(-1)
    row = int(hidden.argmax())
    gives = (
        f"Row {row + 1} gives {hidden[row]:.2f} of its weight to positions that the "
        "mask would hide."
    )
    nothing = "The mask would hide nothing."
    return (
        f"No mask: all {N * N} cells are allowed. {gives if hidden[row] else nothing}"
    )


def _named(rows: Sequence[int]) -> str:
    """One row is; rows one, two and three are."""
    *some, last = (str(i + 1) for i in rows)
    return f"Rows {', '.join(some)} and {last} are" if some else f"Row {last} is"


def rows_in_words(rows: Sequence[str], texts: Sequence[Sequence[str]]) -> str:
    """The cells of a map in words, for those who cannot see it."""
    return "; ".join(
        f"row {i}, {word}: {', '.join(row)}"
        for i, (word, row) in enumerate(zip(rows, texts, strict=True), 1)
    )
