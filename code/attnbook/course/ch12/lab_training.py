"""Laboratory page 12: the training runs on Multi30k, and what parts and settings do."""

from __future__ import annotations

from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.ch12.figures_scores import (
    LADDER,
    VALIDATION,
    ablation_runs,
    ablation_seeds,
    part,
    validation_spreads,
)
from attnbook.course.kit.colours import COLOURS, GREY, text_colour
from attnbook.course.kit.html_tables import Cell, Column, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from experiments.ch12_training import CHANGES

PRECISIONS = {"float32": "fp32", "bfloat16": "bf16"}


def all_runs() -> dict[str, dict[str, dict]]:
    """Give every stored training run, by its kind and by its name for a reader."""
    return {
        "English to German, 36 epochs": {
            **{
                f"seed {run['config']['seed']}": run
                for run in part("en_de")["runs"].values()
            },
            "seed 0 in bfloat16": results.load("multi30k_bf16"),
            "seed 0 with R-Drop": results.load("multi30k_r_drop"),
        },
        "German to English, 36 epochs": {
            f"seed {run['config']['seed']}": run
            for run in part("de_en")["runs"].values()
        },
        "Comparison of models, ten epochs": {
            label: part("ladder")["runs"][name] for name, (label, _) in LADDER.items()
        },
        "One thing changed, ten epochs": _together(ablation_runs()),
        "The same with another seed": _together(ablation_runs("ablation_seed_2")),
        "The same in fp32": _together(ablation_runs("ablation_fp32")),
    }


def _together(runs: dict[str, dict[str, dict]]) -> dict[str, dict]:
    """Runs by their names alone."""
    return {label: run for kind in runs.values() for label, run in kind.items()}


def runs_table() -> Table:
    """Show time, speed and validation scores of every stored run."""
    groups = {
        kind: [(name, *_cells(run)) for name, run in runs.items()]
        for kind, runs in all_runs().items()
    }
    heads = [
        Column("precision"),
        Column("time", "minutes"),
        Column("speed", "tokens/s"),
        Column("loss", "nats", "validation", 2),
        Column("BLEU", "", "validation", 1),
        Column("chrF", "", "validation", 1),
    ]
    return table(["run", *heads], groups)


def _cells(run: dict) -> tuple[str | float | None, ...]:
    """The cells of ``runs_table``; the first runs did not record chrF."""
    how = "beam, lowercased" if run["config"].get("lowercase") else "beam, cased"
    score = run.get("validation_scores", {}).get(how, {})
    speed = run["seconds"] / 60, run["tokens_per_second"]
    quality = run["validation_loss"], best_bleu(run), score.get("chrf")
    return PRECISIONS[run["precision"]], *speed, *quality


def ablation_table() -> Table:
    """Show loss and scores (beam) of all runs with one thing changed."""
    groups = {
        f"changes of {kind}": [_changed(label, found) for label, found in runs.items()]
        for kind, runs in ablation_seeds().items()
    }
    ways = [
        Column(way, "", "BLEU", 1) for way in ("cased", "lowercased", "fp32, cased")
    ]
    loss, _, *others = (head._replace(group="") for head in VALIDATION)
    return table(["Transformer", loss, *ways, *others], groups)


def _changed(label: str, runs: list[dict]) -> tuple[Cell, ...]:
    """A row of ``ablation_table``; BLEU in lower case is fair to lowercased text."""
    loss, bleu, *_ = validation_spreads(runs, "beam, cased")
    scores = [run["validation_scores"] for run in runs]
    lowercased = fmean(score["beam, lowercased"]["bleu"] for score in scores)
    other = _together(ablation_runs("ablation_fp32")).get(label)
    in_fp32 = best_bleu(other) if other else None
    others = (
        fmean(score["beam, cased"][entry] for score in scores)
        for entry in ("chrf", "length_ratio")
    )
    return label, loss, bleu, lowercased, in_fp32, *others


def best_bleu(run: dict) -> float:
    """Validation BLEU (beam, cased) with the length penalty that was chosen."""
    return run["validation_bleu_by_alpha"][str(run["alpha"])]


def learning_rates_table() -> Table:
    """Show the validation loss after five epochs, by model and learning rate."""
    losses = results.load("multi30k_learning_rates")["losses"]
    rows = [
        (label, *(losses[name][rate][-1] for rate in ("0.001", "0.003")))
        for name, (label, _) in LADDER.items()
    ]
    heads = [Column(rate, "nats", "learning rate", 2) for rate in ("0.001", "0.003")]
    return table(["model", *heads], rows)


def lengths_table() -> Table:
    """Show BLEU by the length of the source for the five models."""
    found = results.load("ladder_scores")["by_length"]
    rows = []
    for groups in zip(*(found[name] for name in LADDER), strict=True):
        first, last = groups[0]["first"], groups[0]["last"]
        words = f"{first} to {last}" if last < 99 else f"{first} and more"
        scores = [group["bleu"] for group in groups]
        rows.append((words, groups[0]["sentences"], *scores))
    heads = [Column(label, "", "BLEU", 1) for label, _ in LADDER.values()]
    return table(["words in the source", Column("sentences"), *heads], rows)


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
