"""Figures and tables of chapter 8."""

from collections.abc import Mapping, Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.ch08.deep_stacks import token_diversity
from attnbook.course.kit.colours import DARK_GREY, GREY, INK, SKY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.tables import stored_runs

Run = tuple[Sequence[Tensor], Sequence[float]]
"""The states of a stack, (B, T, D) each, and the gradient of each layer's W_Q."""


# Deep stacks


def stack_figure(runs: Mapping[str, Run]) -> Figure:
    """Draw token diversity and the gradients of W_Q, layer by layer."""
    fig, (above, below) = plt.subplots(2, sharex=True, figsize=(5.5, 4.6))
    for (name, (states, gradients)), color in zip(
        runs.items(), (SKY, INK), strict=True
    ):
        diversity = [token_diversity(state.detach()) for state in states]
        above.plot(diversity, color=color, label=name, marker=".")
        layers = range(1, len(gradients) + 1)
        below.plot(layers, gradients, color=color, label=name, marker=".")
    above.set(ylabel="token diversity", ylim=(-0.03, 1))
    below.set(xlabel="layer", ylabel="gradient of $W^Q$", yscale="log")
    below.set(ylim=(1e-10, 1e3), yticks=[1e-8, 1e-4, 1])
    below.set(xlim=(0, len(layers)), xticks=range(len(layers) + 1))
    below.minorticks_off()
    label_lines(above)
    label_lines(below)
    return fig


# What lets a deep stack learn? Stored runs

ONLY_ATTENTION = {
    "1 plain": "1 attention",
    "2 plain": "2 attentions",
    "4 plain": "4 attentions",
    "8 plain": "8 attentions",
}
"""Rows of the ladder, and what the page calls them."""
ALL_STACKS = {
    "1 plain": "1 attention",
    "8 plain": "8 attentions",
    "skip": "8, skip connections",
    "skip, network": "and networks",
    "skip, network, small weights": "and small weights",
    "post-norm": "post-norm",
    "post-norm, warm-up": "post-norm, warm-up",
    "pre-norm": "pre-norm",
}
BASELINES = {
    "guess": "guessing",
    "bag": "symbols alone",
    "without_reading": "position alone",
}
"""What the stored floors are called, and drawn from the highest label down."""
MOST = 3.0
"""Losses beyond this many nats are only said to be there."""


def ladder_figure(names: Mapping[str, str] = ALL_STACKS) -> Figure:
    """Draw the loss of each stack, a dot a seed, against three baselines."""
    fig, ax = plt.subplots(figsize=(5.5, 1.3 + 0.3 * len(names)))
    below = len(names) - 0.5
    for height, (key, name) in enumerate(BASELINES.items(), -len(BASELINES)):
        loss = results.load("ladder")[key]
        ax.plot([loss, loss], [height - 0.4, below], color=GREY, linewidth=1, zorder=0)
        note = {"color": DARK_GREY, "ha": "right", "va": "center"}
        ax.text(loss, height, f"{name} {loss:.2f} ", **note)
    for height, row in enumerate(names):
        losses = [run["loss"] for run in stored_runs("ladder", row=row)]
        if max(losses) > MOST:
            ax.text(MOST, height, "hundreds →", va="center")
        else:
            ax.plot(losses, [height] * len(losses), "o", color=INK, alpha=0.6)
    ax.set(xlabel="loss (nats per symbol)", xlim=(0, MOST + 0.9), xticks=range(4))
    ax.set(ylim=(below, -len(BASELINES) - 0.4))
    ax.set_yticks(range(len(names)), names.values())
    ax.tick_params(axis="y", length=0)
    sns.despine(ax=ax, left=True)
    return fig


# Warm-up: stored runs


def warm_up_figure() -> Figure:
    """Draw the mean loss over seeds of post-norm and pre-norm, by warm-up."""
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for norm_first, color in ((False, SKY), (True, INK)):
        for n_warm, style in ((0, "--"), (30, "-")):
            about = {"rate": 0.003, "norm_first": norm_first, "warm_up": n_warm}
            runs = (run["loss"] for run in stored_runs("warm_up", **about))
            mean = [fmean(losses) for losses in zip(*runs, strict=True)]
            name = "pre-norm" if norm_first else "post-norm"
            label = f"{name}, {'30 steps' if n_warm else 'no warm-up'}"
            ax.plot(range(1, len(mean) + 1), mean, style, color=color, label=label)
    ax.set(xlabel="step", ylabel="loss (nats per symbol)")
    ax.set(xlim=(1, 100), ylim=(0, 3.4), xticks=(1, 25, 50, 75, 100))
    label_lines(ax)
    return fig
