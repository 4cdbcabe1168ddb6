"""Figures and tables of chapter 3."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.nn.scores import make_score
from attnbook.pages.colours import (
    COLOURS,
    DARK_GREY,
    PALE_GREY,
    SHADE,
    SKY,
    TEXT_COLOURS,
)
from attnbook.pages.curves import label_lines, logarithmic
from attnbook.pages.figures.alignment_maps import alignment_map
from attnbook.pages.figures.exact_match import CLAUSES, exact_match_shares
from attnbook.pages.heat_maps import colour_bar
from attnbook.pages.tables import mean_and_range, row, stored_runs
from attnbook.toy.language import Pair

# How large are the scores at the start?

SCORE_COLOURS = {"dot": SKY, "general": COLOURS["source"], "concat": DARK_GREY}


@torch.no_grad()
def score_spreads(
    widths: Sequence[int] = (4, 16, 64, 256), draws: int = 20, seed: int = 0
) -> dict[str, list[float]]:
    """Standard deviation of untrained scores of random queries and keys, by width.

    Queries and keys are independent, of mean 0 and variance 1; weights are those that
    :func:`attnbook.nn.scores.make_score` starts with.

    Args:
        widths: Widths of query and key alike.
        draws: How many times weights, and 100 queries and 100 keys each, are drawn.
        seed: Decides all of them; the generator of the caller is left as it was.

    Returns:
        For each score one number a width.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return {
            name: [_spread(name, width, draws) for width in widths]
            for name in SCORE_COLOURS
        }


def _spread(name: str, width: int, draws: int) -> float:
    scores = []
    for _ in range(draws):
        score = make_score(name, width, width)
        query, states = torch.randn(2, 1, 100, width)  # (1, 100, width) each
        scores.append(score(query, score.prepare(states)))  # (1, 100, 100)
    return torch.cat(scores).std().item()


def score_spread_figure(widths: Sequence[int] = (4, 16, 64, 256)) -> Figure:
    """Draw :func:`score_spreads` against the width, both axes logarithmic."""
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    for name, spreads in score_spreads(widths).items():
        ax.plot(widths, spreads, marker="o", color=SCORE_COLOURS[name], label=name)
    logarithmic(ax, widths)
    ax.set(xlabel="width of query and key", ylabel="standard deviation")
    ax.set_yticks((0.3, 1, 3, 10))
    label_lines(ax)
    return fig


# How far must one look?


def distances(pairs: Sequence[Pair]) -> list[int]:
    """How far each word lies from the one it renders: j - i, both from 0.

    The connective, which renders no word of a clause, is left out.
    """
    return [
        j - i for pair in pairs for i, j in enumerate(pair.alignment) if j is not None
    ]


def reach_figure(panels: dict[str, Sequence[Pair]], half_width: int = 3) -> Figure:
    """Draw how far words lie from those they render, and what a window would hold.

    Args:
        panels: Pairs for each title, one panel below the other.
        half_width: D of the window that is drawn.
    """
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
    axes[-1, 0].set(xlabel="source place less target place, s − t")
    return fig


def stored_map(name: str, seed: int = 0) -> Tensor:
    """Weights of a stored run for the first held-out pair of two clauses, (T, S)."""
    return torch.tensor(stored_runs(name, seed=seed)[0]["map"])


def maps_figure(
    maps: dict[str, Tensor], pair: Pair, windows: dict[str, Tensor] | None = None
) -> Figure:
    """Draw attention weights as heat maps below each other, gold cells framed.

    Args:
        maps: For each title the weights of one sentence, (T, S) or more: pads behind
            the ends of the sentences are cut off.
        pair: The sentence.
        windows: For some of the titles the places that may be used, bool, of the shape
            of the weights; the others are drawn grey.
    """
    rows, columns = len(pair.target) + 1, len(pair.source) + 1  # with EOS
    height = 2.0 + len(maps) * (0.4 + 0.2 * rows)
    fig, axes = plt.subplots(len(maps), squeeze=False, figsize=(5.5, height))
    for ax, (title, weights) in zip(axes[:, 0], maps.items(), strict=True):
        if windows and title in windows:  # what is not a number shows the ground
            weights = weights.masked_fill(~windows[title], torch.nan)
        alignment_map(ax, weights[:rows, :columns], pair)
        ax.set_facecolor(SHADE)
        ax.set_title(title)
        ax.label_outer()
    colour_bar(axes[:, 0], "weight")
    return fig


# What the models reach

LUONG_ROWS = {  # stored result: label
    "bahdanau": "Bahdanau",
    "luong_dot": "dot",
    "luong_general": "general",
    "luong_concat": "concat",
    "luong_location": "location",
    "luong_dot_no_feeding": "dot, no feed",
    "luong_general_no_feeding": "general, no feed",
    "luong_concat_no_feeding": "concat, no feed",
    "luong_location_no_feeding": "location, no feed",
    "luong_local_m": "local-m, D = 3",
    "luong_local_p": "local-p, D = 3",
    "luong_local_m_no_feeding": "local-m, no feed",
    "luong_local_p_no_feeding": "local-p, no feed",
    "luong_local_m_0": "local-m, D = 0",
    "luong_local_m_1": "local-m, D = 1",
    "luong_local_m_2": "local-m, D = 2",
    "luong_general_reversed": "global, reversed",
    "luong_local_m_reversed": "local-m, reversed",
    "luong_local_p_reversed": "local-p, reversed",
}


def alignment_shares(name: str) -> list[list[float]]:
    """Alignment score in per cent, stored: one row a seed, 1 to 4 clauses."""
    return [[100 * run["align"][str(n)] for n in CLAUSES] for run in stored_runs(name)]


def print_luong_table(names: Sequence[str]) -> None:
    """Print the share of faultless sentences and the alignment score, by clauses.

    Each cell is the mean over seeds and their range. The alignment score is the mean
    over 1 to 4 clauses.
    """
    widths = 18, 17
    heads = ["1 clause", "2 clauses", "4 clauses", "aligned"]
    print(row("faultless, %", heads, widths))
    for name in names:
        one, two, _, four = zip(*exact_match_shares(name), strict=True)
        aligned = [fmean(shares) for shares in alignment_shares(name)]
        cells = map(mean_and_range, (one, two, four, aligned))
        print(row(LUONG_ROWS[name], cells, widths))


def exact_and_alignment_figure(names: Sequence[str]) -> Figure:
    """Draw how often each model is right and how often it looks right, seed by seed.

    One row a model, and in it two dots a seed, joined: faultless sentences and
    alignment score, both means over 1 to 4 clauses.
    """
    fig, ax = plt.subplots(figsize=(5.5, 1.2 + 0.5 * len(names)))
    for line, name in enumerate(names):
        exact = map(fmean, exact_match_shares(name))
        align = map(fmean, alignment_shares(name))
        pairs = [*zip(exact, align, strict=True)]
        for seed, pair in enumerate(pairs):
            y = line + 0.5 * ((seed + 0.5) / len(pairs) - 0.5)
            ax.plot(pair, (y, y), color=PALE_GREY, linewidth=1.5, zorder=1)
            ax.plot(pair[0], y, "o", color=COLOURS["target"], markersize=8, mfc="none")
            ax.plot(pair[1], y, "D", color=COLOURS["source"], markersize=4)
    ax.set(xlim=(-3, 103), ylim=(len(names) - 0.4, -0.6))
    ax.set(xlabel="%, mean over 1 to 4 clauses")
    ax.set_yticks(range(len(names)), [LUONG_ROWS[name] for name in names])
    for x, role, label in (
        (0, "target", "○ faultless"),
        (0.4, "source", "◆ looks right"),
    ):
        ax.text(x, 1.02, label, color=TEXT_COLOURS[role], transform=ax.transAxes)
    return fig


# What a window costs

COUNTED = {"global": COLOURS["target"], "local": COLOURS["source"]}
TIMED = {
    "global": COLOURS["target"],
    "local, masked": COLOURS["key"],
    "local, windowed": COLOURS["source"],
}


def cost_figure(batch: int = 1) -> Figure:
    """Draw scores a step, and time for all steps, by length: from the stored result."""
    stored = results.load("local_cost")
    counts = stored["counts"]
    lengths = [count["S"] for count in counts]
    fig, (top, bottom) = plt.subplots(2, sharex=True, figsize=(5.5, 5.6))
    for form in ("global", "local"):
        each = [count[f"{form}_scores"] / count["S"] for count in counts]
        top.plot(lengths, each, marker="o", color=COUNTED[form], label=form)
    for form, colour in TIMED.items():
        times = [1000 * t for t in cost_times(stored, form, batch)]
        bottom.plot(lengths, times, marker="o", color=colour, label=form)
    for ax in (top, bottom):
        logarithmic(ax, lengths)
    top.set(ylabel="scores a step")
    bottom.set(ylabel="ms for all steps", xlabel="source length S = target length T")
    label_lines(top)
    label_lines(bottom)
    return fig


def cost_times(stored: dict, form: str, batch: int) -> list[float]:
    """Seconds of one form at one batch size, by length."""
    return [
        run["seconds"]
        for run in stored["runs"]
        if (run["form"], run["batch"]) == (form, batch)
    ]


def print_cost(batch: int = 1) -> None:
    """Print scores a step and time, by length and form."""
    stored = results.load("local_cost")
    d = stored["half_width"]
    print(f"batch {batch}, D = {d}; {stored['machine']}")
    print("       scores a step    ms for all steps")
    print("    S  global   local   global   masked windowed")
    columns = [cost_times(stored, form, batch) for form in TIMED]
    for count, *times in zip(stored["counts"], *columns, strict=True):
        s = count["S"]
        scores = [count[f"{form}_scores"] / s for form in ("global", "local")]
        row = f"{s:5}" + "".join(f"{x:8.1f}" for x in scores)
        print(row + "".join(f"{1000 * t:9.2f}" for t in times))
