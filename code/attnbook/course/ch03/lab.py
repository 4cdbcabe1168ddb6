"""Figures and tables of laboratory page 3."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.analysis.scores import score_spreads
from attnbook.course.kit.colours import (
    COLOURS,
    DARK_GREY,
    INK,
    PALE_GREY,
    SKY,
    text_colour,
)
from attnbook.course.kit.curves import label_lines, logarithmic
from attnbook.course.kit.exact_match import CLAUSES, exact_match_shares
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.language import Pair

KINDS = ("dot", "general", "concat", "location", "local_m", "local_p")


def label_of(result: str) -> str:
    """What a row of a table calls a stored result."""
    kind = result.removeprefix("luong_")
    for end in ("_no_feeding", "_reversed"):
        kind = kind.removesuffix(end)
    if kind.startswith("local_"):
        _, which, *width = kind.split("_")
        return f"local-{which}, D = {width[0] if width else 3}"
    return "Bahdanau" if kind == "bahdanau" else kind


# How large are the scores at the start?

WIDTHS = (4, 16, 64, 256)
SCORE_COLOURS = {"dot": SKY, "general": INK, "concat": DARK_GREY}


def score_spread_table() -> Table:
    """Show :func:`score_spreads`."""
    heads = [Column(f"width {n}", "", "standard deviation", 1) for n in WIDTHS]
    found = score_spreads(SCORE_COLOURS, WIDTHS)
    return table(["score", *heads], [(name, *row) for name, row in found.items()])


def score_spread_figure() -> Figure:
    """Draw :func:`score_spreads` against the width, both axes logarithmic."""
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    for name, spreads in score_spreads(SCORE_COLOURS, WIDTHS).items():
        ax.plot(WIDTHS, spreads, marker="o", color=SCORE_COLOURS[name], label=name)
    logarithmic(ax, WIDTHS)
    ax.set(xlabel="width of query and key", ylabel="standard deviation")
    ax.set_yticks((0.3, 1, 3, 10))
    label_lines(ax)
    return fig


# Translation and alignment


def alignment_shares(name: str) -> list[list[float]]:
    """Alignment accuracy in per cent, stored: one row a seed, 1 to 4 clauses."""
    return [[100 * run["align"][str(n)] for n in CLAUSES] for run in stored_runs(name)]


def luong_table(groups: dict[str, Sequence[str]]) -> Table:
    """Show exact match by clauses and alignment accuracy: mean and range over seeds."""
    heads = [
        Column(f"{n} clause{'s' * (n > 1)}", "%", "exact match", 1) for n in (1, 2, 4)
    ]
    heads.append(Column("alignment accuracy", "%", digits=1))
    rows: dict[str, list] = {}
    for heading, names in groups.items():
        for name in names:
            one, two, _, four = zip(*exact_match_shares(name), strict=True)
            aligned = [fmean(shares) for shares in alignment_shares(name)]
            cells = map(spread, (one, two, four, aligned))
            rows.setdefault(heading, []).append((label_of(name), *cells))
    return table(["model", *heads], rows)


def exact_and_alignment_figure(names: Sequence[str]) -> Figure:
    """Draw exact match and alignment accuracy, seed by seed.

    One row a model, and in it two dots a seed, joined: exact match and alignment
    accuracy, both means over 1 to 4 clauses.
    """
    fig, ax = plt.subplots(figsize=(5.5, 1.2 + 0.5 * len(names)))
    for line, name in enumerate(names):
        exact = map(fmean, exact_match_shares(name))
        align = map(fmean, alignment_shares(name))
        pairs = [*zip(exact, align, strict=True)]
        for seed, pair in enumerate(pairs):
            y = line + 0.5 * ((seed + 0.5) / len(pairs) - 0.5)
            ax.plot(pair, (y, y), color=PALE_GREY, linewidth=1.5, zorder=1)
            ax.plot(pair[0], y, "o", color=INK, markersize=8, mfc="none")
            ax.plot(pair[1], y, "D", color=SKY, markersize=4)
    ax.set(xlim=(-3, 103), ylim=(len(names) - 0.4, -0.6))
    ax.set(xlabel="%, mean over 1 to 4 clauses")
    ax.set_yticks(range(len(names)), [label_of(name) for name in names])
    for x, colour, label in ((0, INK, "○ exact match"), (0.45, SKY, "◆ alignment")):
        ax.text(x, 1.02, label, color=text_colour(colour), transform=ax.transAxes)
    return fig


# Which word do the weights belong to?


def two_ways_table() -> Table:
    """Exact match and the alignment with output and input: ``alignment_two_ways``."""
    entries = ("exact", "output", "input")
    heads = [
        Column("exact match", "%", digits=1),
        *(Column(w, "%", "alignment accuracy, by the", 1) for w in ("output", "input")),
    ]
    rows = [
        (name, *(spread(100 * r[key] for r in runs) for key in entries))
        for name, runs in _by_model().items()
    ]
    return table(["model", *heads], rows)


def _by_model() -> dict[str, list[dict]]:
    """The runs of ``alignment_two_ways``, by model."""
    found: dict[str, list[dict]] = {}
    for run in stored_runs("alignment_two_ways"):
        found.setdefault(run["model"], []).append(run)
    return found


def kinds_table() -> Table:
    """Where the largest weight lies when a word of some kind is predicted.

    Means over seeds with their range; kinds whose weights are on the source of the
    output in 99 % of the cases are left out.
    """
    groups: dict[str, list] = {}
    for name, runs in _by_model().items():
        for kind in ("noun", "adjective", "determiner", "verb"):
            cells = [
                spread(100 * run["kinds"][kind][which] for run in runs)
                for which in ("output", "input", "another")
            ]
            if cells[0].mean < 99:
                groups.setdefault(name, []).append((f"{kind}s", *cells))
    heads = [
        Column(text, "%", "largest weight on")
        for text in ("source of output", "source of input", "another position")
    ]
    return table(["words", *heads], groups)


# How far must a model attend?


def distances(pairs: Sequence[Pair]) -> list[int]:
    """How far each word lies from the one it renders: j - i, both from 0.

    The connective, which renders no word of a clause, is left out.
    """
    return [
        j - i for pair in pairs for i, j in enumerate(pair.alignment) if j is not None
    ]


def reach_figure(panels: dict[str, Sequence[Pair]], half_width: int = 3) -> Figure:
    """Draw how far words lie from those they render, and what a window would hold."""
    height = 0.7 + 1.5 * len(panels)
    fig, axes = plt.subplots(
        len(panels), sharex=True, squeeze=False, figsize=(5.5, height)
    )
    for ax, (title, pairs) in zip(axes[:, 0], panels.items(), strict=True):
        found = distances(pairs)
        places = range(min(found), max(found) + 1)
        shares = [100 * found.count(place) / len(found) for place in places]
        ax.axvspan(
            -half_width - 0.5, half_width + 0.5, color=PALE_GREY, alpha=0.35, lw=0
        )
        ax.bar(places, shares, color=COLOURS["source"], width=0.8)
        inside = sum(abs(place) <= half_width for place in found) / len(found)
        ax.set(
            title=f"{title}: {inside:.0%} within D = {half_width}", ylabel="words, %"
        )
    axes[-1, 0].set(xlabel="source position minus target position, j − t")
    return fig


# Hard attention

BINS = 90


def gradients_table(exact: Tensor, estimates: dict[str, Tensor]) -> Table:
    """Show the exact gradient, then mean and standard deviation of each estimate."""
    heads = [Column(str(k), "", "score of position", 3) for k in range(len(exact))]
    groups = {
        "mean of all estimates": [("exact gradient", *exact.tolist())],
        "standard deviation of one estimate": [],
    }
    for name, rows in estimates.items():
        for group, found in zip(
            groups.values(), (rows.mean(0), rows.std(0)), strict=True
        ):
            group.append((name, *found.tolist()))
    return table(["estimate", *heads], groups)


def gradient_spread_figure(
    exact: Tensor, estimates: dict[str, Tensor], position: int
) -> Figure:
    """Draw where single estimates for one score fall, and their mean."""
    columns = {name: rows[:, position] for name, rows in estimates.items()}
    fig, axes = plt.subplots(
        len(columns), figsize=(5.5, 0.6 + 1.05 * len(columns)), sharex=True
    )
    low, high = _limits([*columns.values()])
    for ax, (name, column) in zip(axes, columns.items(), strict=True):
        _draw_spread(ax, column, low, high)
        ax.axvline(exact[position].item(), color=INK, linestyle="--", linewidth=1.5)
        ax.set_title(name, loc="left")
        ax.set_title(f"{column.mean():.2f} ± {column.std():.2f}", loc="right")
    axes[0].annotate(
        f"exact: {exact[position]:.2f}",
        (exact[position].item(), 1),
        xytext=(5, 0),
        textcoords="offset points",
        va="top",
    )
    axes[-1].set(xlabel=f"one estimate of the gradient, position {position}")
    return fig


def _limits(columns: list[Tensor]) -> tuple[float, float]:
    """Limits that leave out one estimate in a hundred at either end, of the widest."""
    ends = torch.stack([c.quantile(c.new_tensor([0.01, 0.99])) for c in columns])
    low, high = ends[:, 0].min().item(), ends[:, 1].max().item()
    margin = 0.04 * (high - low)
    return low - margin, high + margin


def _draw_spread(ax: Axes, column: Tensor, low: float, high: float) -> None:
    """Bars of how many fall where, the highest 1; below them a mark at the mean."""
    # Their square root: one estimate in a hundred is a tenth as high, and to be seen.
    counts = torch.histc(column, BINS, low, high).sqrt()
    width = (high - low) / BINS
    left = [low + i * width for i in range(BINS)]
    heights = (counts / counts.max()).tolist()
    ax.bar(left, heights, width, align="edge", color=SKY)
    ax.plot(column.mean().item(), -0.16, marker="^", markersize=9, color=INK)
    ax.set(xlim=(low, high), ylim=(-0.34, 1.05), yticks=[])
    ax.spines["left"].set_visible(False)
