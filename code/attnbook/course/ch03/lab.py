"""Figures and tables of laboratory page 3."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from attnbook.core import results
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
from attnbook.nn.scores import make_score
from attnbook.toy.language import Pair

LABELS = {  # stored result: what a row of a table is called
    "bahdanau": "Bahdanau",
    **{
        f"luong_{kind}{end}": label
        for end in ("", "_no_feeding")
        for kind, label in {
            "dot": "dot",
            "general": "general",
            "concat": "concat",
            "location": "location",
            "local_m": "local-m, D = 3",
            "local_p": "local-p, D = 3",
        }.items()
    },
    **{f"luong_local_m_{d}": f"local-m, D = {d}" for d in (0, 1, 2)},
    "luong_general_reversed": "global",
    "luong_local_m_reversed": "local-m, D = 3",
    "luong_local_p_reversed": "local-p, D = 3",
}
KINDS = ("dot", "general", "concat", "location", "local_m", "local_p")


# The time of a step


def step_cost_table() -> Table:
    """Quartiles of the time of one training step, by model: ``step_cost``."""
    groups: dict[str, list] = {}
    for run in stored_runs("step_cost"):
        name, _, feeding = run["model"].partition(", ")
        group = "Luong, with input feeding" if feeding else "Luong, all steps at once"
        if name == "bahdanau":
            name, group = "additive", "Bahdanau"
        times = (1000 * run[key] for key in ("low", "median", "high"))
        groups.setdefault(group, []).append((name, run["parameters"], *times))
    heads = [Column(q, "ms", "processor time") for q in ("¼", "median", "¾")]
    return table(["score", Column("parameters"), *heads], groups)


# How large are the scores at the start?

SCORE_COLOURS = {"dot": SKY, "general": INK, "concat": DARK_GREY}


@torch.no_grad()
def score_spreads(
    widths: Sequence[int] = (4, 16, 64, 256), draws: int = 20, seed: int = 0
) -> dict[str, list[float]]:
    """Standard deviation of untrained scores of random queries and keys, by width.

    Queries and keys are independent, of mean 0 and variance 1; weights are those that
    :func:`attnbook.nn.scores.make_score` starts with.
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


def score_spread_table(widths: Sequence[int] = (4, 16, 64, 256)) -> Table:
    """Show :func:`score_spreads`."""
    heads = [Column(f"width {n}", "", "standard deviation", 1) for n in widths]
    rows = [(name, *spreads) for name, spreads in score_spreads(widths).items()]
    return table(["score", *heads], rows)


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
            rows.setdefault(heading, []).append((LABELS[name], *cells))
    return table(["model", *heads], rows)


def seeds_table(name: str) -> Table:
    """Show exact match and alignment accuracy at two clauses, one row a seed."""
    rows = [
        (f"seed {run['seed']}", 100 * run["exact"]["2"], 100 * run["align"]["2"])
        for run in stored_runs(name)
    ]
    heads = [Column(text, "%", "two clauses", 1) for text in ("exact match", "aligned")]
    return table(["run", *heads], rows)


def five_clauses_table(*names: str) -> Table:
    """Show exact match at four and at five clauses: mean and range over seeds."""
    rows = []
    for name in names:
        runs = stored_runs(name)
        cells = (spread(100 * run["exact"][n] for run in runs) for n in "45")
        rows.append((LABELS[name], *cells))
    heads = [Column(f"{n} clauses", "%", "exact match", 1) for n in (4, 5)]
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
    ax.set_yticks(range(len(names)), [LABELS[name] for name in names])
    for x, colour, label in ((0, INK, "○ exact match"), (0.45, SKY, "◆ alignment")):
        ax.text(x, 1.02, label, color=text_colour(colour), transform=ax.transAxes)
    return fig


# Which word do the weights belong to?


def two_ways_table() -> Table:
    """Exact match and the alignment with output and input: ``alignment_two_ways``."""
    heads = [
        Column("exact match", "%", digits=1),
        *(Column(w, "%", "alignment accuracy, by the", 1) for w in ("output", "input")),
    ]
    rows = [
        (name, *(spread(100 * r[key] for r in runs) for key in ENTRIES))
        for name, runs in _by_model().items()
    ]
    return table(["model", *heads], rows)


ENTRIES = ("exact", "output", "input")


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


# What a window costs

FORMS = {
    "global": INK,
    "local, masked": DARK_GREY,
    "local, windowed": SKY,
}


def cost_table(batch: int = 1) -> Table:
    """Scores for each step, and the time of all steps, by length: ``local_cost``."""
    stored = results.load("local_cost")
    heads = [
        Column("S = T"),
        *(Column(name, "", "scores per step", 1) for name in ("global", "local")),
        *(Column(name, "ms", "median time", 2) for name in FORMS),
    ]
    columns = [cost_times(stored, form, batch) for form in FORMS]
    rows = []
    for count, *times in zip(stored["counts"], *columns, strict=True):
        s = count["S"]
        scores = [count[f"{form}_scores"] / s for form in ("global", "local")]
        rows.append((f"{s:,}", *scores, *(1000 * t for t in times)))
    return table(heads, rows)


def cost_figure(batch: int = 1) -> Figure:
    """Draw the time of all steps by length: ``local_cost``."""
    stored = results.load("local_cost")
    lengths = [count["S"] for count in stored["counts"]]
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for form, colour in FORMS.items():
        times = [1000 * t for t in cost_times(stored, form, batch)]
        ax.plot(lengths, times, marker="o", color=colour, label=form)
    logarithmic(ax, lengths)
    ax.set(ylabel="ms for all steps", xlabel="source length S = target length T")
    label_lines(ax)
    return fig


def cost_times(stored: dict, form: str, batch: int) -> list[float]:
    """Seconds of one form at one batch size, by length."""
    return [
        run["seconds"]
        for run in stored["runs"]
        if (run["form"], run["batch"]) == (form, batch)
    ]
