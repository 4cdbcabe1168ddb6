"""Figures and tables of chapter 9."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.core import results
from attnbook.pages.style import COLOURS, WEIGHTS, label_lines
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_score

GREY = "#8C959F"


# Training


def loss_figure(
    losses: Sequence[float], others: dict[str, str], width: int = 20
) -> Figure:
    """Draw the loss of a run, and of stored runs with the same seed.

    Args:
        losses: Of each step.
        others: Name of a stored result, and its label; two at most.
        width: Steps averaged into one point; the stored ones are averaged over 20.

    Returns:
        The figure.
    """
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    greys = (GREY, "#B8BEC6")[: len(others)]
    for (name, label), colour in zip(others.items(), greys, strict=True):
        stored = results.load(name)["runs"][0]["loss"]
        ax.plot(_middles(stored, 20), stored, label=label, color=colour)
    starts = range(0, len(losses), width)
    means = [fmean(losses[i : i + width]) for i in starts]
    ax.plot(
        _middles(means, width), means, label="this run", color=COLOURS["target"], lw=2.5
    )
    ax.set(xlabel="step", ylabel="loss, nats a word", yscale="log", xlim=(0, None))
    label_lines(ax)
    return fig


def _middles(values: Sequence[float], width: int) -> list[float]:
    return [width * (i + 0.5) for i in range(len(values))]


def print_alignment(*names: str) -> None:
    """Print alignment scores of stored results: mean (lowest–highest) over seeds."""
    print(f"{'largest weight right, %':24}{'1 clause':22}4 clauses")
    for name in names:
        cells = []
        for clauses in ("1", "4"):
            found = [100 * run["align"][clauses] for run in results.load(name)["runs"]]
            mean, low, high = fmean(found), min(found), max(found)
            cells.append(f"{mean:.1f} ({low:.1f}–{high:.1f})")
        print(f"{name:24}{cells[0]:22}{cells[1]}")


# Where it looks


def heads_figure(maps: dict[str, Tensor], pair: Pair) -> Figure:
    """Draw the cross-attention of every head of every layer; the right places framed.

    Args:
        maps: For each layer's name the weights of one sentence, (H, T, S).
        pair: The sentence.
    """
    rows, columns = len(maps), max(map(len, maps.values()))
    fig, axes = plt.subplots(rows, columns, squeeze=False, figsize=(5.5, 1.75 * rows))
    for layer, (row, weights) in enumerate(zip(axes, maps.values(), strict=True)):
        for head, (ax, w) in enumerate(zip(row, weights, strict=True)):
            _map(ax, w, pair)
            if layer == 0:
                ax.set_title(f"head {head}", loc="center")
        row[0].set_ylabel(f"layer {layer}")
    return fig


def _map(ax: Axes, weights: Tensor, pair: Pair) -> None:
    ax.imshow(weights.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto")
    for i, j in enumerate(pair.alignment):
        if j is not None:
            frame = Rectangle((j - 0.5, i - 0.5), 1, 1, fill=False, linewidth=1.5)
            frame.set(edgecolor=COLOURS["target"])
            ax.add_patch(frame)
    ax.set(xticks=(), yticks=())


def print_heads(maps: dict[str, Tensor], pairs: Sequence[Pair]) -> None:
    """Print the alignment score of every head.

    Args:
        maps: For each layer's name the weights of all pairs, (B, H, T, S).
        pairs: The B pairs.
    """
    for layer, weights in enumerate(maps.values()):
        shares = [alignment_score(w, pairs) for w in weights.unbind(dim=1)]
        print(f"layer {layer}, by head:", *(f"{share:4.0%}" for share in shares))


# What wrong builds learn


def print_builds() -> None:
    """Print what each of the ``broken_builds`` learned: mean and range of seeds."""
    stored = results.load("broken_builds")
    print(f"{'build':26}loss   right words, %")
    for name in dict.fromkeys(run["build"] for run in stored["runs"]):
        runs = [run for run in stored["runs"] if run["build"] == name]
        right = [100 * run["right"] for run in runs]
        print(
            f"{name:26}{fmean(run['loss'] for run in runs):.3f}  "
            f"{fmean(right):.1f} ({min(right):.1f}–{max(right):.1f})"
        )
