"""Figures and tables of chapter 8."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle
from torch import Tensor

from attnbook.core import results
from attnbook.experiments.layer_runs import INITIALISATIONS
from attnbook.pages.colours import COLOURS, GREY, INK
from attnbook.pages.curves import label_lines
from attnbook.pages.tables import mean_and_range, stored_runs
from attnbook.toy.deep_stacks import CONNECTIONS, Stack, gradient_norms

LINES = dict(
    zip(CONNECTIONS, (GREY, INK, COLOURS["target"], COLOURS["source"]), strict=True)
)
SMALL = 3**-0.5  # entries of variance 1/(3D), as nn.Linear draws them


# Deep stacks


def stacks(size: float) -> dict[str, Stack]:
    """The four stacks of 24 attentions, all with the same weights, in float64."""
    made = {}
    for way in CONNECTIONS:
        torch.manual_seed(0)
        made[way] = Stack(way, weight_scale=size).double()
    return made


def gradient_figure(x: Tensor, direction: Tensor) -> Figure:
    """Draw how much of a gradient arrives at each block, for two sizes of weights.

    Args:
        x: What goes into the first block, (B, T, 64), float64.
        direction: The gradient at the end, (B, T, 64).
    """
    fig, axes = plt.subplots(2, sharex=True, sharey=True, figsize=(5.5, 6))
    titles = {1.0: "weights of variance 1/D", SMALL: "weights of variance 1/(3D)"}
    for ax, (size, title) in zip(axes, titles.items(), strict=True):
        for way, stack in stacks(size).items():
            found = gradient_norms(stack, x, direction)
            blocks = range(len(found) - 1, -1, -1)  # from the end: labels at the left
            ax.plot(blocks, found[::-1], color=LINES[way], label=way)
        ax.set(title=title, yscale="log", xlim=(len(found) - 1, 0))
        ax.set(yticks=[1e-10, 1e-5, 1, 1e5, 1e10], ylim=(1e-14, 1e12))
        ax.minorticks_off()
        label_lines(ax)
    axes[1].set(xlabel="before block (24: the end)", xticks=range(24, -1, -6))
    fig.supylabel("gradient, relative to the end", size="medium")
    return fig


def spread_figure(x: Tensor) -> Figure:
    """Draw the deviation of the stream's numbers before each block, weights as ours."""
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    for way, stack in stacks(1.0).items():
        if way != "none":
            with torch.no_grad():
                spread = [state.std().item() for state in stack(x)]
            ax.plot(spread, color=LINES[way], label=way)
    ax.set(xlabel="after block", ylabel="standard deviation", yscale="log")
    ax.set(xticks=range(0, 25, 6), xlim=(0, 24), ylim=(0.5, 3000))
    ax.minorticks_off()
    label_lines(ax)
    return fig


# Which numbers a norm averages

LENGTHS = (6, 4, 5)  # words of three sentences; the rest of six places is pads
NUMBERS = 4


def averages_figure() -> Figure:
    """Draw, for both norms, over which numbers of a batch one mean is taken."""
    fig, axes = plt.subplots(2, figsize=(5.5, 3.9))
    titles = ("LayerNorm: the numbers of one place", "BatchNorm: one number everywhere")
    for ax, title, averaged in zip(axes, titles, (_of_place, _of_number), strict=True):
        for sentence, length in enumerate(LENGTHS):
            _sentence_cells(ax, sentence, length, averaged)
        ax.set_title(title, pad=14)
        ax.set(xlim=(-0.2, 21), ylim=(NUMBERS + 0.1, -0.7), aspect="equal")
        ax.set_axis_off()
    return fig


def _of_place(sentence: int, place: int, number: int) -> bool:
    return (sentence, place) == (0, 2)


def _of_number(sentence: int, place: int, number: int) -> bool:
    return number == 1


def _sentence_cells(
    ax: Axes, sentence: int, length: int, averaged: Callable[[int, int, int], bool]
) -> None:
    """One sentence as a grid: a column a place, a row a number; pads are hatched."""
    left = 7 * sentence
    ax.text(left, -0.2, f"sentence {sentence}", va="bottom")
    for place in range(max(LENGTHS)):
        for number in range(NUMBERS):
            chosen = averaged(sentence, place, number)
            cell = Rectangle(
                (left + place, number),
                1,
                1,
                facecolor=COLOURS["source"] if chosen else "white",
                edgecolor="#57606A",
                hatch="" if place < length else "////",
                linewidth=0.8,
            )
            ax.add_patch(cell)


# Stored runs


def print_feed_forward(bound: float = 0.1) -> None:
    """Print how soon both tasks are learned with and without a network, by seed."""
    names = {"with": "whole layers", "without": "without network"}
    stored = results.load("feed_forward_needed")
    print(f"steps (in twenties) until the loss < {bound}, by seed;", end=" ")
    print("right at the end, mean")
    print(f"{'':24} {'sum of two':26} backwards")
    models = dict.fromkeys((r["layers"], r["n_layers"]) for r in stored["runs"])
    for kind, n_layers in models:
        cells = [
            _how_soon(stored, (task, kind, n_layers), bound)
            for task in ("add_previous", "backwards")
        ]
        print(f"{n_layers} {names.get(kind, kind):22} {cells[0]:26} {cells[1]}")


def _how_soon(stored: dict, model: tuple[str, str, int], bound: float) -> str:
    where = dict(zip(("task", "layers", "n_layers"), model, strict=True))
    runs = stored_runs("feed_forward_needed", **where)
    steps = [first_below(run["loss"], bound, stored["steps"]) for run in runs]
    return f"{' '.join(steps)}  {fmean(run['right'] for run in runs):5.1%}"


def print_embeddings(bound: float = 0.1) -> None:
    """Print how soon the loss falls below a bound, by words and positions, by seed."""
    print(f"words drawn, scaled   size  positions  steps until loss < {bound}, by seed")
    rows: dict[tuple[str, bool, float], list[str]] = {}
    for name in ("embedding_scale", "embedding_proportion"):
        stored = results.load(name)
        for run in stored["runs"]:
            row = run["draw"], run["scaled"], run.get("codes", 1.0)
            soon = first_below(run["loss"], bound, stored["steps"])
            rows.setdefault(row, []).append(soon)
    for (draw, scaled, codes), soon in rows.items():
        words = f"{draw:9} {'times √D' if scaled else 'as drawn'}"
        size = INITIALISATIONS[draw] * (8 if scaled else 1)  # √64
        position = codes * 0.5**0.5  # of a sine and a cosine
        print(f"{words:20} {size:5.3g} {position:10.2g}  {'  '.join(soon)}")


def first_below(losses: Sequence[float], bound: float, steps: int) -> str:
    """The steps done when a mean of the loss first is below a bound, or that none is.

    Args:
        losses: Means of equally many steps each.
        bound: The bound.
        steps: All steps.
    """
    width = steps // len(losses)
    below = [i for i, loss in enumerate(losses) if loss < bound]
    return f"{(below[0] + 1) * width:4}" if below else f">{steps:3}"


def warm_up_runs(norm_first: bool, n_warm: int) -> list[list[float]]:
    """The stored losses, one list a seed."""
    runs = stored_runs("warm_up", norm_first=norm_first, warm_up=n_warm)
    return [run["loss"] for run in runs]


def print_warm_up() -> None:
    """Print the loss of the last ten steps, by norm and warm-up: mean and range."""
    print("loss of the last ten steps: mean of the seeds, and range")
    for norm_first, name in ((False, "post-norm"), (True, "pre-norm")):
        for n_warm in (0, 30):
            ends = [fmean(losses[-10:]) for losses in warm_up_runs(norm_first, n_warm)]
            label = f"{name}, {f'{n_warm} steps of' if n_warm else 'no'} warm-up"
            print(f"{label:32}{mean_and_range(ends, '.2f')}")


def warm_up_figure() -> Figure:
    """Draw the losses of all stored runs: post-norm above, pre-norm below."""
    fig, axes = plt.subplots(2, sharex=True, sharey=True, figsize=(5.5, 5.2))
    looks = {0: ("none", COLOURS["target"]), 30: ("30 steps", COLOURS["source"])}
    for ax, norm_first in zip(axes, (False, True), strict=True):
        for n_warm, (label, colour) in looks.items():
            runs = warm_up_runs(norm_first, n_warm)
            for losses in runs:
                ax.plot(losses, color=colour, linewidth=0.7, alpha=0.6)
            mean = [fmean(step) for step in zip(*runs, strict=True)]
            ax.plot(mean, color=colour, label=label, linewidth=2.5)
        ax.set(title="pre-norm" if norm_first else "post-norm", ylabel="loss")
        ax.set(ylim=(0, 3.4), xlim=(0, 59))
        label_lines(ax)
    axes[1].set(xlabel="step")
    return fig
