"""Figures and tables of appendix A2: what each part of today's block changes."""

from statistics import fmean

import matplotlib.pyplot as plt
import seaborn as sns
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import DARK_GREY, GREY, INK
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import stored_runs

PARTS = {
    "rotary": "RoPE instead of sinusoids",
    "qk_norm": "QK-norm†",
    "swiglu": "SwiGLU",
    "rms_norm": "RMSNorm",
    "grouped": "two groups of keys and values†",
    "no_biases": "no biases",
}
"""Variants that replace one part of the baseline, and what a reader calls it.

Those with a dagger also lack the biases of the attention.
"""
CONTROLS = {
    "pre-norm, no positions": "no positions",
    "pre-norm, SiLU without gate": "SiLU without a gate",
    "pre-norm, small weights": "small initial weights",
}
"""The stored controls, and what a reader calls them."""
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
    """Excess loss of each variant at its best learning rate."""
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
        Column("characters 1–64", "nats", "excess loss", 3),
        Column("characters 65–128", "nats", "excess loss", 3),
    ]
    return table(["block", *heads], rows)


def _row(name: str, label: str) -> tuple:
    groups = runs_by_rate(name)
    best = groups[best_rate(groups)]
    size = results.load(f"block_{name}")["parameters"] / 1000
    return (label, size, _excess(best, 0), _excess(best, 1))


def _excess(runs: list[dict], half: int) -> Spread:
    """Nats per character within the trained length, half 0, or after it."""
    return spread(run["excess"][half] for run in runs)


def rescue_figure() -> Figure:
    """Excess loss at the largest rate of what helps the baseline or not: a dot a seed.

    Dots are full without a warm-up and open with one.
    """
    rows = {
        "baseline": at_largest("pre_norm"),
        "baseline, warm-up": control_excess("pre-norm, warm-up"),
        "nn.Linear's initial weights": at_largest("linear_start"),
        **{label: at_largest(name) for name, label in PARTS.items()},
        **{label: control_excess(name) for name, label in CONTROLS.items()},
    }
    fig, ax = plt.subplots(figsize=(5.5, 4.4))
    ax.axvline(LETTERS, color=GREY, linewidth=1, zorder=0)
    ax.axvline(LETTERS / 10, color=GREY, linewidth=1, linestyle="--", zorder=0)
    for height, (label, seeds) in enumerate(rows.items()):
        inside = "none" if "warm-up" in label else INK
        ax.plot(seeds, [height] * len(seeds), "o", alpha=0.6, color=INK, mfc=inside)
    note = {"color": DARK_GREY, "ha": "right", "va": "bottom"}
    ax.text(LETTERS, -0.6, "counting letters", **note)
    ax.set(xscale="log", ylim=(len(rows) - 0.5, -0.6), xlabel="excess loss (nats)")
    ax.set_yticks(range(len(rows)), rows)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_major_formatter("{x:g}")
    sns.despine(ax=ax, left=True)
    return fig


def sharp_heads_table() -> Table:
    """Show how sharp the attention of some blocks becomes."""
    rows = []
    for name in ("baseline", "baseline, warm-up", "QK-norm", "RoPE"):
        runs = stored_runs("sharp_heads", model=name)
        largest = fmean(fmean(run["largest"][-1]) for run in runs)
        label = PARTS["qk_norm"] if name == "QK-norm" else name
        rows.append((label, largest, spread(run["excess"] for run in runs)))
    heads = [
        Column("mean largest weight", digits=2),
        Column("excess loss", "nats", digits=2),
    ]
    return table(["block", *heads], rows)


def at_largest(name: str) -> list[float]:
    """Excess loss of a stored variant at the largest learning rate, by seed.

    There are nine seeds of what comes near :data:`LETTERS` / 10, and three of the rest.
    """
    if nine := stored_runs("block_nine_seeds", variant=name):
        return [run["excess"] for run in nine]
    groups = runs_by_rate(name)
    return [run["excess"][0] for run in groups[max(groups)]]


def control_excess(name: str) -> list[float]:
    """Excess loss of a control at the largest learning rate, by seed."""
    return [run["excess"] for run in stored_runs("block_controls", control=name)]
