"""Laboratory page 12: label smoothing with known probabilities, parts on a toy task."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.ch12.experiment_toy_ablation import CHANGES
from attnbook.course.kit.colours import COLOURS, GREY, text_colour
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs

# Label smoothing


def smoothing_runs(samples: str | int) -> dict[float, list[dict]]:
    """Stored runs on fresh samples or on few, by amount of smoothing."""
    where = {"name": "smoothing_known", "samples": samples}
    amounts = sorted({run["smoothing"] for run in stored_runs(**where)})
    return {a: stored_runs(**where, smoothing=a) for a in amounts}


def few_samples() -> int:
    """The number of samples of the stored runs that use the same ones again."""
    runs = results.load("smoothing_known")["runs"]
    return next(run["samples"] for run in runs if run["samples"] != "fresh")


def smoothing_table() -> Table:
    """Show perplexity and accuracy by ε: mean and range of the seeds."""
    groups = {}
    for samples, title in (
        ("fresh", "fresh samples at every step"),
        (few_samples(), f"the same {few_samples():,} samples"),
    ):
        groups[title] = [
            (
                f"ε = {amount}",
                spread(run["perplexity"] for run in runs),
                spread(100 * run["accuracy"] for run in runs),
            )
            for amount, runs in smoothing_runs(samples).items()
        ]
    best = results.load("smoothing_known")["best"]
    truth = ("true probabilities", best["perplexity"], 100 * best["accuracy"])
    groups["the language itself"] = [truth]
    heads = [Column("perplexity", digits=2), Column("accuracy", "%", digits=1)]
    return table(["model", *heads], groups)


def smoothing_figure() -> Figure:
    """Draw the perplexity by ε, on fresh samples and on few."""
    fig, (fresh, few) = plt.subplots(2, sharex=True, figsize=(5.5, 5))
    stored = results.load("smoothing_known")
    limit = {float(a): x["perplexity"] for a, x in stored["limit"].items()}
    fresh.plot([*limit], [*limit.values()], color=GREY)
    fresh.text(0.21, limit[0.1], "line: by formula", color=text_colour(GREY))
    _perplexity_dots(fresh, "fresh", "trained on fresh samples")
    title = f"trained on the same {few_samples():,} samples"
    _perplexity_dots(few, few_samples(), title)
    few.axhline(stored["best"]["perplexity"], color=GREY, linewidth=1.2)
    few.text(0.3, stored["best"]["perplexity"] + 0.5, "the language itself", ha="right")
    few.set(xlabel="label smoothing ε")
    fig.align_ylabels()
    return fig


def _perplexity_dots(ax: Axes, samples: str | int, title: str) -> None:
    for amount, runs in smoothing_runs(samples).items():
        found = [run["perplexity"] for run in runs]
        ax.plot([amount] * len(found), found, "o", color=COLOURS["target"])
    ax.set(title=title, ylabel="perplexity", xticks=[0, 0.1, 0.2, 0.3])


# Parts of the Transformer

NAMES = {
    "as it is": "unchanged",
    "1 head": "one head",
    "8 heads": "eight heads",
    "no scale": "no division by the root of d_k",
    "no positions": "no positional encoding",
    "no feed-forward": "no feed-forward networks",
    "no smoothing": "no label smoothing",
}
"""The changes of the toy ablation, as a reader calls them; the others as stored."""


def toy_ablation_table() -> Table:
    """Show exact match and loss with one change each: ``toy_ablation``."""
    rows = []
    for change in CHANGES:
        runs = stored_runs("toy_ablation", change=change)
        exact = spread(100 * run["exact"]["2"] for run in runs)
        loss = spread(run["validation_loss"] for run in runs)
        rows.append((NAMES.get(change, change), exact, loss))
    heads = [Column("exact match", "%"), Column("validation loss", "nats", digits=3)]
    return table(["Transformer", *heads], rows)
