"""Figures and tables of appendix A2: what each part of today's block changes."""

from __future__ import annotations

from collections.abc import Iterable
from statistics import fmean

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import DARK_GREY, GREY, INK, PALE_GREY, SKY
from attnbook.course.kit.curves import band, label_lines
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import stored_runs

PARTS = {
    "rms_norm": "RMSNorm",
    "rotary": "RoPE instead of sinusoids",
    "swiglu": "SwiGLU",
    "no_biases": "no biases",
    "grouped": "two groups of keys and values†",
    "qk_norm": "QK-norm†",
}
"""Variants that replace one part of the baseline, and what a reader calls it.

Those with a dagger also lack the biases of the attention.
"""

SWEPT = {
    "post_norm": ("2017, post-norm", PALE_GREY),
    "pre_norm": ("baseline: pre-norm", DARK_GREY),
    "qk_norm": ("with QK-norm", SKY),
    "today": ("today's block", INK),
}
"""The lines of the figure: their label and colour."""


CONTROLS = {
    "post-norm": {
        "post-norm, SwiGLU": "SwiGLU",
        "post-norm, RoPE": "RoPE instead of sinusoids",
        "post-norm, QK-norm": "QK-norm†",
        "post-norm, all parts": "all parts of today",
    },
    "pre-norm": {
        "pre-norm, SiLU without gate": "SiLU without a gate",
        "pre-norm, no positions": "no positions",
        "pre-norm, small weights": "small initial weights",
    },
}
"""The stored controls by the position of the norm, and what a reader calls them."""
LINEAR_STARTS = {
    "linear_start": "nn.Linear's initial weights",
    "linear_start, no_biases": "the same, no biases",
}
"""The baseline with PyTorch's initial weights."""
UNCHANGED = {"post-norm": "as in 2017", "pre-norm": "baseline"}
"""What a reader calls a block with the parts of 2017."""
LETTERS = 2.47
"""Excess loss in nats of the characters' frequencies, which the page computes."""


def runs_by_rate(name: str) -> dict[float, list[dict]]:
    """The stored runs of a variant, by learning rate."""
    groups: dict[float, list[dict]] = {}
    for run in results.load(f"block_{name}")["runs"]:
        groups.setdefault(run["learning_rate"], []).append(run)
    return groups


def best_rate(groups: dict[float, list[dict]]) -> float:
    """The learning rate with the least mean excess within the trained length."""
    return min(groups, key=lambda rate: fmean(r["excess"][0] for r in groups[rate]))


def variants_table() -> Table:
    """Excess loss of each variant at its best learning rate and at the largest."""
    rows = {
        "parts of 2017": [
            _row("post_norm", "post-norm"),
            _row("pre_norm", "baseline: pre-norm"),
        ],
        "baseline, with one part replaced": [_row(*part) for part in PARTS.items()],
        "all parts replaced": [_row("today", "today")],
    }
    heads = [
        Column("parameters", "thousands"),
        Column("characters 1–64", "nats", "best learning rate", 3),
        Column("characters 65–128", "nats", "best learning rate", 3),
        Column("characters 1–64", "nats", "learning rate 0.03", 3),
    ]
    return table(["block", *heads], rows)


def _row(name: str, label: str) -> tuple:
    groups = runs_by_rate(name)
    best, largest = groups[best_rate(groups)], spread(at_largest(name))
    size = results.load(f"block_{name}")["parameters"] / 1000
    return (label, size, _excess(best, 0), _excess(best, 1), largest)


def _excess(runs: list[dict], half: int) -> Spread:
    """Nats per character within the trained length, half 0, or after it."""
    return spread(run["excess"][half] for run in runs)


def rescue_figure() -> Figure:
    """Excess loss of blocks and controls at the largest rate: a dot a seed.

    Dots are full without a warm-up and open with one.
    """
    panels = {
        "post-norm": {
            UNCHANGED["post-norm"]: at_largest("post_norm"),
            **controls("post-norm"),
        },
        "pre-norm": {
            UNCHANGED["pre-norm"]: at_largest("pre_norm"),
            **{label: at_largest(name) for name, label in PARTS.items()},
            **controls("pre-norm"),
            **{label: at_largest(name) for name, label in LINEAR_STARTS.items()},
            "all parts of today": at_largest("today"),
        },
    }
    heights = [len(rows) for rows in panels.values()]
    fig, axes = plt.subplots(2, sharex=True, figsize=(5.5, 6.2), height_ratios=heights)
    for ax, (title, rows) in zip(axes, panels.items(), strict=True):
        ax.axvline(LETTERS, color=GREY, linewidth=1, zorder=0)
        _dots(ax, rows, rows, "no warm-up", color=INK)
        _dots(ax, rows, warm_ups(title), "warm-up", color=INK, mfc="none")
        ax.set(title=title, xscale="log", ylim=(len(rows) - 0.5, -0.6))
        ax.set_yticks(range(len(rows)), rows)
        ax.tick_params(axis="y", length=0)
        sns.despine(ax=ax, left=True)
    note = {"color": DARK_GREY, "ha": "right", "va": "bottom"}
    axes[0].text(LETTERS, -0.6, "counting letters", **note)
    axes[0].legend(loc="upper left", borderaxespad=0, handletextpad=0)
    axes[1].xaxis.set_major_formatter("{x:g}")
    axes[1].set(xlabel="excess loss (nats)")
    return fig


def _dots(
    ax: Axes, rows: Iterable[str], found: dict[str, list[float]], label: str, **style
) -> None:
    """A dot for each seed, at the height of its row."""
    heights = {name: height for height, name in enumerate(rows)}
    x = [excess for seeds in found.values() for excess in seeds]
    y = [heights[name] for name, seeds in found.items() for _ in seeds]
    ax.plot(x, y, "o", alpha=0.6, label=label, **style)


def at_largest(name: str) -> list[float]:
    """Excess loss of a stored variant at the largest learning rate, by seed.

    There are nine seeds of what comes near :data:`LETTERS` / 10, and three of the rest.
    """
    if nine := stored_runs("block_nine_seeds", variant=name):
        return [run["excess"] for run in nine]
    groups = runs_by_rate(name)
    return [run["excess"][0] for run in groups[max(groups)]]


def controls(norm: str) -> dict[str, list[float]]:
    """Excess loss of the stored controls without a warm-up, by seed."""
    return {label: control_excess(name) for name, label in CONTROLS[norm].items()}


def warm_ups(norm: str) -> dict[str, list[float]]:
    """Excess loss with a warm-up, by seed, of the blocks that were trained with one."""
    blocks = {norm: UNCHANGED[norm], **CONTROLS[norm]}
    found = {
        label: control_excess(f"{name}, warm-up") for name, label in blocks.items()
    }
    return {label: excess for label, excess in found.items() if excess}


def control_excess(name: str) -> list[float]:
    """Excess loss of a control, by seed; empty if it isn't stored."""
    return [run["excess"] for run in stored_runs("block_controls", control=name)]


def learning_rate_figure() -> Figure:
    """Excess loss against the learning rate: which blocks tolerate a large one."""
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for name, (label, color) in SWEPT.items():
        groups = runs_by_rate(name)
        seeds = zip(*groups.values(), strict=True)
        runs = [[run["excess"][0] for run in of_seed] for of_seed in seeds]
        band(ax, [*groups], runs, color, marker="o", label=label)
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set(xticks=[*groups], xticklabels=[f"{rate:g}" for rate in groups])
    ax.minorticks_off()
    ax.yaxis.set_major_formatter("{x:g}")
    ax.set(xlabel="learning rate", ylabel="excess loss\n(nats per character)")
    label_lines(ax)
    return fig


def experts_table() -> Table:
    """One feed-forward network against eight experts of which two are used."""
    rows = []
    for name, label in (("today", "SwiGLU"), ("experts", "8 experts, 2 used")):
        rows.append((*_row(name, label)[:3], _busiest(name)))
    heads = [
        Column("parameters", "thousands"),
        Column("excess loss", "nats", digits=4),
        Column("routed to most-used expert", "% of positions"),
    ]
    return table(["feed-forward part", *heads], rows)


def _busiest(name: str):
    """Share of the positions that use the busiest expert, over blocks and seeds."""
    groups = runs_by_rate(name)
    runs = groups[best_rate(groups)]
    shares = [100 * share for run in runs for share in run.get("busiest", [])]
    return spread(shares) if shares else None
