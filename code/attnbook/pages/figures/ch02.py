"""Figures of chapter 2."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import seaborn as sns
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS
from attnbook.models.bahdanau import Bahdanau
from attnbook.pages.style import COLOURS, TEXT_COLOURS, WEIGHTS
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import Pair, translate_by_rule

GREY = "#8C959F"

# What an annotation has read


def annotations_figure(moved: dict[str, Tensor], words: Sequence[str]) -> Figure:
    """Draw how far each annotation moves when a source word is changed.

    Args:
        moved: For each title a matrix (S, S) of distances: at [j, k] that of annotation
            j when word k is changed.
        words: The S words.

    Returns:
        The figure, one panel a title, side by side; cells of exactly 0 are white and
        say so.
    """
    fig, axes = plt.subplots(1, len(moved), figsize=(5.5, 3.6), sharey=True)
    for ax, (title, distances) in zip(axes, moved.items(), strict=True):
        # The root lets small distances be told from none.
        shades = (distances / distances.max()).sqrt()
        look = {"cmap": WEIGHTS, "vmin": 0, "vmax": 1.1}
        ax.pcolormesh(shades, edgecolors="white", linewidth=2, **look)
        for j, k in (distances == 0).nonzero().tolist():
            ax.text(k + 0.5, j + 0.5, "0", ha="center", va="center")
        ax.set_title(title, pad=8)
        ax.set(xlabel="word changed", aspect="equal")
        _name_cells(ax, words, [f"$h_{j + 1}$" for j in range(len(words))])
    axes[0].set_ylabel("annotation")
    return fig


def _name_cells(ax: Axes, columns: Sequence[str], rows: Sequence[str]) -> None:
    """Write names at the columns, upright, and at the rows, the first row on top."""
    ax.set_xticks([j + 0.5 for j in range(len(columns))], columns, rotation=90)
    ax.set_yticks([i + 0.5 for i in range(len(rows))], rows, rotation=0)
    ax.set_ylim(len(rows), 0)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


# Where it looks


def alignment_figure(weights: Tensor, pair: Pair) -> Figure:
    """Draw the weights of one sentence; a frame marks where each word should look.

    Args:
        weights: (T, S), EOS included; what exceeds the pair's length is left out.
        pair: The pair.
    """
    rows, columns = [*pair.target, "<eos>"], [*pair.source, "<eos>"]
    weights = weights[: len(rows), : len(columns)]
    fig, ax = plt.subplots(figsize=(5.5, 1.2 + 0.27 * len(rows)))
    heat_map(ax, 100 * weights, pair, least=5, vmax=100)
    _name_cells(ax, columns, rows)
    ax.xaxis.tick_top()
    ax.tick_params(axis="x", labelcolor=TEXT_COLOURS["source"], length=0)
    ax.tick_params(axis="y", labelcolor=TEXT_COLOURS["target"])
    return fig


def heat_map(
    ax: Axes, cells: Tensor, pair: Pair, least: float, vmax: float, fmt: str = ".0f"
) -> None:
    """Draw a matrix (T, S), numbers from ``least`` on, the right places framed."""
    notes = [
        [f"{x:{fmt}}" if x >= least else "" for x in row] for row in cells.tolist()
    ]
    sns.heatmap(
        cells,
        ax=ax,
        cmap=WEIGHTS,
        vmin=0,
        vmax=vmax,
        annot=notes,
        fmt="",
        cbar=False,
        linewidths=1,
        linecolor="#EEF1F4",
    )
    for i, j in enumerate(pair.alignment):
        if j is not None:
            frame = Rectangle((j, i), 1, 1, fill=False, linewidth=2)
            frame.set(edgecolor=COLOURS["target"], clip_on=False)
            ax.add_patch(frame)


@torch.no_grad()
def attention_frames(
    model: Bahdanau, sentence: str
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw, step by step, where the decoder looks and what it then expects.

    Args:
        model: Trained.
        sentence: A sentence of the toy language.

    Returns:
        For each step of greedy decoding a figure, a caption and an alternative text.
    """
    words = [*sentence.split(), "<eos>"]
    longest = len(translate_by_rule(sentence).target) + 1
    state = model.start(torch.tensor([[*SOURCE.encode(words[:-1]), EOS]]))
    token, said = torch.tensor([BOS]), []
    figures, captions, alts = [], [], []
    while token != EOS and len(said) < longest:
        logits, state = model.step(token, state)
        shares, ids = logits.softmax(-1)[0].topk(5)
        guesses = {
            TARGET.words[j]: p
            for j, p in zip(ids.tolist(), shares.tolist(), strict=True)
        }
        weights = state.weights[0].tolist()
        figures.append(_attention_frame(words, weights, guesses))
        looks = sorted(zip(weights, words, strict=True), reverse=True)[:2]
        captions.append(_caption(said, looks, guesses))
        alts.append(_alt(looks, guesses))
        token = ids[:1]
        said.append(next(iter(guesses)))
    return figures, captions, alts


def _caption(said: list[str], looks: list[tuple], guesses: dict[str, float]) -> str:
    (weight, source), (target, share) = looks[0], next(iter(guesses.items()))
    return (
        f"Said so far: {' '.join(said) or 'nothing'}. It looks at {source} "
        f"({weight:.2f}) and says {target} ({share:.2f})."
    )


def _alt(looks: list[tuple], guesses: dict[str, float]) -> str:
    most = ", ".join(f"{word} {weight:.2f}" for weight, word in looks)
    shares = ", ".join(f"{word} {share:.2f}" for word, share in guesses.items())
    return f"Above, bars of the weights, largest: {most}. Below, next words: {shares}."


def _attention_frame(
    words: list[str], weights: list[float], guesses: dict[str, float]
) -> Figure:
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.5, 4.8), height_ratios=(1, 1.1))
    places = range(len(words))
    top.bar(places, weights, color=COLOURS["source"])
    upright = 90 if len(words) > 8 else 0  # or they would run into each other
    top.set_xticks(places, words, color=TEXT_COLOURS["source"], rotation=upright)
    top.set(ylim=(0, 1), ylabel="weight", yticks=(0, 0.5, 1))
    bottom.barh([*guesses][::-1], [*guesses.values()][::-1], color=COLOURS["target"])
    bottom.tick_params(axis="y", labelcolor=TEXT_COLOURS["target"])
    bottom.set(xlim=(0, 1), xlabel="probability of the next word")
    for ax in (top, bottom):
        ax.tick_params(length=0)
    return fig


# Is a weight an explanation?


def weight_and_effect_figure(
    weights: Tensor, effects: dict[str, Tensor], pair: Pair
) -> Figure:
    """Draw the weights, and below them the effects of removing each place.

    Args:
        weights: (T, S).
        effects: As :func:`removal_effects` returns them.
        pair: The pair they all belong to.
    """
    rows, columns = [*pair.target, "<eos>"], [*pair.source, "<eos>"]
    panels = {
        "weight, %": (100 * weights, 5, 100, ".0f"),
        "nats lost if hidden at this step": (effects["hidden"], 0.1, 10, ".1f"),
        "nats lost if replaced in the source": (effects["replaced"], 0.1, 10, ".1f"),
    }
    fig, axes = plt.subplots(3, 1, figsize=(5.5, 8.6), sharex=True)
    for ax, (title, (cells, least, vmax, fmt)) in zip(
        axes, panels.items(), strict=True
    ):
        heat_map(ax, cells, pair, least, vmax, fmt)
        _name_cells(ax, columns, rows)
        ax.set_title(title)
        ax.tick_params(axis="y", labelcolor=TEXT_COLOURS["target"])
        ax.tick_params(axis="x", labelcolor=TEXT_COLOURS["source"], length=0)
    return fig
