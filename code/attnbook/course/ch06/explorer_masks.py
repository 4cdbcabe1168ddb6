"""Lab 6: padding, causal and window masks together, and the weights they leave."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.colours import SHADE, TEXT_COLOURS
from attnbook.course.kit.explorers.controls import Slider, Switch
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.heat_maps import WHITE_LINES, heat_map
from attnbook.nn.masks import causal_mask, key_mask, masked_softmax
from attnbook.toy.example import SENTENCE, STATES

T = len(SENTENCE)
CONTROLS = {
    "length": Slider("real tokens", 1, T, 5),
    "causal": Switch("causal", True),
    "window": Slider("window", 1, T, 3),
}
CAPTION = (
    "**Each mask takes positions away, and the softmax shares 1 among those that all "
    "of them leave.** Self-attention in the sentence worked by hand, cut to its real "
    "tokens and padded with vectors of zeros. A window of w leaves the keys that are "
    "fewer than w positions away. Left, the mask: blue, the query (row) may attend to "
    "the key (column). Right, the weights in hundredths. Grey: masked."
)


def explore_masks() -> object:
    """Let the reader combine three masks; see :func:`~.explorer.explore`."""
    return explore(mask_view, CONTROLS, caption=CAPTION)


def mask_view(length: int, causal: bool, window: int) -> View:
    """The mask of one setting, and its weights."""
    mask, weights = mask_and_weights(length, causal, window)
    tokens = padded(length)
    empty = [i + 1 for i in range(T) if not mask[i].any()]
    said = f"{int(mask.sum())} of {mask.numel()} pairs are allowed. " + _about(empty)
    alt = " ".join(
        f"Query {i + 1}, {tokens[i]}: {_row(mask[i], weights[i], tokens)}."
        for i in range(T)
    )
    return View(said, _figure(mask, weights, tokens), alt)


def mask_and_weights(length: int, causal: bool, window: int) -> tuple[Tensor, Tensor]:
    """The joined mask, (T, T), bool, and the weights over the keys, (T, T)."""
    real = torch.arange(T) < length  # (T,)
    mask = key_mask(torch.where(real, PAD + 1, PAD)[None])[0, 0]  # (1, T)
    if causal:
        mask = mask & causal_mask(T)  # (T, T)
    distance = torch.arange(T) - torch.arange(T)[:, None]  # (T, T)
    mask = mask & (distance.abs() < window)
    states = STATES * real[:, None]  # (T, 4): padding has a vector of zeros
    scores = states @ states.T / states.shape[-1] ** 0.5  # (T, T)
    return mask, masked_softmax(scores, mask)


def padded(length: int) -> tuple[str, ...]:
    """The tokens: the first words of the sentence, then padding."""
    return (*SENTENCE[:length], *["<pad>"] * (T - length))


def _about(empty: list[int]) -> str:
    """Which rows are fully masked, and what they get."""
    if not empty:
        return "Every query has a key to attend to."
    rows = ", ".join(map(str, empty))
    if len(empty) == 1:
        return f"Row {rows} is fully masked: its weights are 0."
    return f"Rows {rows} are fully masked: their weights are 0."


def _row(mask: Tensor, weights: Tensor, tokens: tuple[str, ...]) -> str:
    """The allowed keys of a query and their weights, for those who cannot see them."""
    cells = zip(tokens, mask.tolist(), weights.tolist(), strict=True)
    return ", ".join(f"{t} {w:.2f}" for t, may, w in cells if may) or "fully masked"


def _figure(mask: Tensor, weights: Tensor, tokens: tuple[str, ...]) -> Figure:
    """The mask at the left, the weights at the right; they share their rows."""
    fig, axes = plt.subplots(1, 2, figsize=(5.5, 2.9), width_ratios=(1, 1.25))
    # Rounded, so that the last digits of a machine change no pixel.
    panels = {"mask": 0.6 * mask.float(), "weights, %": weights.round(decimals=3)}
    notes = [
        [f"{100 * w:.0f}" if may else "" for w, may in zip(*row, strict=True)]
        for row in zip(weights.tolist(), mask.tolist(), strict=True)
    ]
    look = {"columns": tokens, "roles": ("query", "key"), **WHITE_LINES}
    for ax, (title, cells) in zip(axes, panels.items(), strict=True):
        left = ax is axes[0]
        cells = cells.masked_fill(~mask, torch.nan)
        rows, numbers = (tokens, None) if left else ((), notes)
        heat_map(ax, cells, rows=rows, notes=numbers, **look)
        ax.set_facecolor(SHADE)
        ax.set_title(title)
        ax.set_xlabel("key", color=TEXT_COLOURS["key"])
    axes[0].set_ylabel("query", color=TEXT_COLOURS["query"])
    return fig
