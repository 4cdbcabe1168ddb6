"""Figures and tables of chapter 8."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.course.kit.colours import DARK_GREY, INK, SKY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.deep_stacks import token_diversity

Run = tuple[Sequence[Tensor], Sequence[float]]
"""The states of a stack, (B, T, D) each, and the gradient of each block's W_Q."""


# Deep stacks


def stack_figure(runs: Mapping[str, Run]) -> Figure:
    """Draw token diversity and the gradients of W_Q, block by block."""
    fig, (above, below) = plt.subplots(2, sharex=True, figsize=(5.5, 4.6))
    for (name, (states, gradients)), color in zip(
        runs.items(), (SKY, INK), strict=True
    ):
        diversity = [token_diversity(state.detach()) for state in states]
        above.plot(diversity, color=color, label=name)
        blocks = range(1, len(gradients) + 1)
        below.plot(blocks, gradients, color=color, label=name, marker=".")
    above.set(ylabel="token diversity", ylim=(-0.03, 1))
    below.set(xlabel="block", ylabel="gradient of $W^Q$", yscale="log")
    below.set(ylim=(1e-17, 1e3), yticks=[1e-16, 1e-12, 1e-8, 1e-4, 1])
    below.set(xlim=(0, len(blocks)), xticks=range(0, len(blocks) + 1, 6))
    below.minorticks_off()
    label_lines(above)
    for line, height in zip(below.get_lines(), (1e-13, 1), strict=True):
        note = {"color": line.get_color(), "va": "center"}
        below.text(4, height * 20, line.get_label(), **note)
    return fig


# Which features a norm averages

LENGTHS = (6, 4, 5)  # tokens of three sentences; the rest of six positions is padding
FEATURES = 4


def norms_figure() -> Figure:
    """Draw, for both norms, which features of a batch share one mean."""
    fig, axes = plt.subplots(2, figsize=(5.5, 4.1))
    n = len(LENGTHS) * max(LENGTHS)
    ways = {
        "LayerNorm: one mean for each position": (sns.husl_palette(n, l=0.78), True),
        "BatchNorm: one mean for each feature": (sns.husl_palette(4, l=0.78), False),
    }
    for ax, (title, (palette, of_position)) in zip(axes, ways.items(), strict=True):
        for sentence, length in enumerate(LENGTHS):
            _sentence_cells(ax, sentence, length, palette, of_position)
        ax.set(
            title=title, xlim=(-0.1, 7 * len(LENGTHS) - 0.9), ylim=(FEATURES + 0.1, -1)
        )
        ax.set(aspect="equal", xticks=[], yticks=[], ylabel="features")
        sns.despine(ax=ax, left=True, bottom=True)
    axes[1].set_xlabel("positions")
    return fig


def _sentence_cells(
    ax: Axes,
    sentence: int,
    length: int,
    palette: Sequence[tuple[float, float, float]],
    of_position: bool,
) -> None:
    """One sentence as a grid: a column a position, a row a feature; padding hatched."""
    left = 7 * sentence
    ax.text(left, -0.2, f"sentence {sentence + 1}", va="bottom")
    for position in range(max(LENGTHS)):
        for feature in range(FEATURES):
            group = 5 * (6 * sentence + position) % 18 if of_position else feature
            cell = Rectangle(
                (left + position, feature),
                1,
                1,
                facecolor=palette[group],
                edgecolor=DARK_GREY,
                hatch="" if position < length else "////",
                linewidth=0.8,
            )
            ax.add_patch(cell)


# Warm-up: stored runs


def warm_up_runs(
    norm_first: bool, n_warm: int, learning_rate: float = 0.003
) -> list[list[float]]:
    """The stored losses, one list a seed."""
    about = {"rate": learning_rate, "norm_first": norm_first, "warm_up": n_warm}
    return [run["loss"] for run in stored_runs("warm_up", **about)]


def warm_up_figure() -> Figure:
    """Draw the mean loss over seeds of post-norm and pre-norm, by warm-up."""
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for norm_first, color in ((False, SKY), (True, INK)):
        for n_warm, style in ((0, "--"), (30, "-")):
            runs = warm_up_runs(norm_first, n_warm)
            mean = [fmean(losses) for losses in zip(*runs, strict=True)]
            name = "pre-norm" if norm_first else "post-norm"
            label = f"{name}, {'30 steps' if n_warm else 'no warm-up'}"
            ax.plot(range(1, len(mean) + 1), mean, style, color=color, label=label)
    ax.set(xlabel="step", ylabel="loss (nats per symbol)")
    ax.set(xlim=(1, 100), ylim=(0, 3.4), xticks=(1, 25, 50, 75, 100))
    label_lines(ax)
    return fig
