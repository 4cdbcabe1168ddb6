"""Laboratory page 12: training runs, scores, decoding, probes and speeds."""

from __future__ import annotations

from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.ch12.figures import (
    BEAM,
    GREEDY,
    LADDER,
    NAME,
    VALIDATION,
    ablation_runs,
    ablation_seeds,
    part,
    validation_spreads,
)
from attnbook.course.kit.colours import COLOURS, GREY, INK, text_colour
from attnbook.course.kit.html_tables import Cell, Column, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.translation.report import TEST_SPLITS

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


def few_samples() -> int:
    """The number of samples of the stored runs that use the same ones again."""
    runs = stored_runs("smoothing_known")
    return next(run["samples"] for run in runs if run["samples"] != "fresh")


def smoothing_table() -> Table:
    """Show perplexity and accuracy by ε: mean and range of the seeds."""
    names = {
        "samples": {
            "fresh": "fresh samples at every step",
            few_samples(): f"the same {few_samples():,} samples",
            "all": "the language itself",
        },
        "smoothing": lambda amount: (
            "true probabilities" if amount is None else f"ε = {amount}"
        ),
    }
    truth = {"samples": "all", "smoothing": None}
    truth |= results.load("smoothing_known")["best"]
    return pivot(
        [*stored_runs("smoothing_known"), truth],
        "smoothing",
        None,
        Value("perplexity", digits=2, name="perplexity"),
        Value("accuracy", "%", 100, 1, name="accuracy"),
        groups="samples",
        names=names,
        head="model",
    )


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
    runs = stored_runs("smoothing_known", samples=samples)
    at, found = ([run[x] for run in runs] for x in ("smoothing", "perplexity"))
    ax.plot(at, found, "o", color=COLOURS["target"])
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
    exact = Value(lambda run: run["exact"]["2"], "%", 100, name="exact match")
    loss = Value("validation_loss", "nats", digits=3, name="validation loss")
    about = {
        "names": {"change": lambda change: NAMES.get(change, change)},
        "head": "Transformer",
    }
    return pivot(stored_runs("toy_ablation"), "change", None, exact, loss, **about)


# The shipped model on the test sets


def headline_table() -> Table:
    """Show BLEU and chrF of the shipped model on both tests."""
    scores = results.load("multi30k_headline")["scores"]
    rows = []
    for split in TEST_SPLITS["multi30k"]:
        for way in ("cased", "lowercased"):
            found = [scores[split][f"{how}, {way}"] for how in ("greedy", "beam")]
            cells = (score[metric] for score in found for metric in ("bleu", "chrf"))
            rows.append((f"{split[5:9]}, {way}", *cells))
    heads = [
        Column(metric, "", how, 1)
        for how in ("greedy", "beam of 5")
        for metric in ("BLEU", "chrF")
    ]
    return table(["test set", *heads], rows)


def signatures() -> dict[str, str]:
    """Give sacreBLEU's signature of each metric in ``headline_table``."""
    scores = results.load("multi30k_headline")["scores"]
    found = scores[TEST_SPLITS["multi30k"][0]]
    return {
        f"{label}, {case}": found[f"beam, {case}"][entry]
        for case in ("cased", "lowercased")
        for label, entry in (("BLEU", "signature"), ("chrF", "chrf_signature"))
    }


# Decoding and averaging


DIRECTIONS = {"en_de": "English to German", "de_en": "German to English"}


def averaging_table() -> Table:
    """Show greedy validation BLEU by the number of epochs averaged."""
    bleu = Value("validation_bleu", digits=1, name="BLEU", group="validation")
    about = {"names": {"epochs": "{}"}, "head": "last epochs averaged"}
    return pivot(stored_runs("multi30k_average"), "epochs", None, bleu, **about)


def length_penalties_table() -> Table:
    """Show the validation BLEU of three seeds by the exponent of the length penalty."""
    runs = part("en_de")["runs"].values()
    alphas = results.load(NAME)["validation_bleu_by_alpha"]
    rows = [
        (
            f"{float(alpha):.1f}",
            alphas[alpha],
            spread(run["validation_bleu_by_alpha"][alpha] for run in runs),
        )
        for alpha in alphas
    ]
    heads = (Column(name, "", "validation BLEU", 1) for name in ("shipped", "seeds"))
    return table(["α", *heads], rows)


def beams_figure() -> Figure:
    """Draw BLEU and time by the width of the beam: ``multi30k_beams``."""
    runs = results.load("multi30k_beams")["runs"]
    widths = [run["width"] for run in runs]
    fig, axes = plt.subplots(2, sharex=True, figsize=(5.5, 4.6))
    for ax, entry, label in zip(
        axes, ("bleu", "seconds"), ("BLEU", "processor time, s"), strict=True
    ):
        values = [run[entry] for run in runs]
        ax.plot(widths, values, marker="o", color=COLOURS["target"])
        ax.set_ylabel(label)
    scores = [run["bleu"] for run in runs]
    axes[0].set_ylim(min(scores) - 1, max(scores) + 1)
    axes[1].set(ylim=(0, None), xlabel="beam width", xticks=widths)
    return fig


def bootstrap_table() -> Table:
    """Show pairs of outputs, and how often chance alone makes them differ as much."""
    runs = {
        f"{'R-Drop' if run['config'].get('r_drop') else 'bfloat16'}, recorded run": run
        for run in results.load("multi30k_against_shipped")["runs"]
    }
    beam = results.load("multi30k_scores")["comparison"]
    pairs = {"validation": runs, "test of 2016": {"beam of 5, greedy": beam}}
    rows = {
        split: [
            (name, *(found[entry] for entry in ("bleu", "other", "p_value")))
            for name, found in of.items()
        ]
        for split, of in pairs.items()
    }
    heads = [Column(name, "BLEU", digits=1) for name in ("first", "second")]
    return table(["two outputs", *heads, Column("p", digits=3)], rows)


def directions_table() -> Table:
    """Show the lowercased BLEU of both directions: mean and range of their seeds."""
    splits = TEST_SPLITS["multi30k"]
    rows = []
    for name, direction in DIRECTIONS.items():
        runs = part(name)["runs"].values()
        scores = [
            [run["scores"][split][how]["bleu"] for run in runs]
            for how in (BEAM, GREEDY)
            for split in splits
        ]
        several = len(runs) > 1
        label = f"{direction}, {len(runs)} run{'s' * several}"
        rows.append((label, *(spread(x) if several else x[0] for x in scores)))
    heads = [
        Column(split[5:9], "", how, 1)
        for how in ("beam of 5", "greedy")
        for split in splits
    ]
    return table(["direction", *heads], rows)


def lengths_figure() -> Figure:
    """Draw BLEU by the length of the source: ``multi30k_scores``."""
    groups = results.load("multi30k_scores")["by_length"]
    words = [f"{g['first']}–{g['last']}" for g in groups]
    words[0], words[-1] = f"≤ {groups[0]['last']}", f"≥ {groups[-1]['first']}"
    names = [f"{w}\n({g['sentences']})" for w, g in zip(words, groups, strict=True)]
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    bars = ax.bar(
        names,
        [g["bleu"] for g in groups],
        yerr=[g["margin"] for g in groups],
        error_kw={"ecolor": INK, "capsize": 4},
        color=COLOURS["target"],
    )
    ax.bar_label(bars, [f"{g['bleu']:.0f}" for g in groups], padding=2)
    ax.margins(y=0.15)
    ax.set(ylabel="BLEU", xlabel="words in the source (sentences)")
    return fig


# The inside of the encoder and decoder


LABELS = {
    "itself": "the subword itself",
    "its translation": "its translation",
    "the one before": "the subword before",
    "the one after": "the subword after",
}
"""What the probes predict, as a reader calls it."""


def accuracies(label: str) -> list[float]:
    """Accuracy of a label's probes after each number of layers, mean of the splits."""
    stored = results.load("multi30k_probes")["probes"]
    splits = [probe["by_layer"] for probe in stored if probe["label"] == label]
    return [100 * fmean(layer) for layer in zip(*splits, strict=True)]


def probes_table() -> Table:
    """Show the accuracy of linear probes by layer, and of two guesses without one."""
    stored = results.load("multi30k_probes")["probes"]
    rows = []
    for label, name in LABELS.items():
        some = [probe for probe in stored if probe["label"] == label]
        rest = (
            100 * fmean(p[entry] for p in some) for entry in ("by_subword", "chance")
        )
        rows.append((name, *accuracies(label), *rest))
    layers = range(len(rows[0]) - 3)
    heads = [Column(str(n), "%", "encoder layers passed") for n in layers]
    heads += [Column("subword alone", "%"), Column("most frequent", "%")]
    return table(["label", *heads], rows)


# Speeds


def training_speeds_table() -> Table:
    """Show tokens per second of training, ours and others, and their ratios."""
    rows = [
        row
        for row in results.load("processor_speeds")["methods"]
        if "tokens_per_second" in row
    ]
    plain = rows[0]["tokens_per_second"]
    return table(
        ["method", Column("speed", "tokens/s"), Column("ratio", digits=2)],
        [
            (row["name"], row["tokens_per_second"], row["tokens_per_second"] / plain)
            for row in rows
        ],
    )
