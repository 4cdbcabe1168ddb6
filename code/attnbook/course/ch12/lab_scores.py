"""Laboratory page 12: scores, decoding, heads, probes and speeds of the models."""

from __future__ import annotations

from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.ch12.figures_scores import BEAM, GREEDY, part
from attnbook.course.ch12.figures_training import NAME
from attnbook.course.kit.colours import COLOURS, INK
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.translation.report import TEST_SPLITS

# The shipped model on the test sets


def headline_table() -> Table:
    """Show BLEU and chrF of the shipped model on both tests."""
    scores = results.load("multi30k_headline")["scores"]
    rows = [
        (
            f"{split[5:9]}, {way}",
            *(scores[split][f"{how}, {way}"][m] for how, m in _MEASURES),
        )
        for split in TEST_SPLITS["multi30k"]
        for way in ("cased", "lowercased")
    ]
    groups = {"greedy": "greedy", "beam": "beam of 5"}
    heads = [
        Column({"bleu": "BLEU", "chrf": "chrF"}[m], "", groups[how], 1)
        for how, m in _MEASURES
    ]
    return table(["test set", *heads], rows)


_MEASURES = [(how, m) for how in ("greedy", "beam") for m in ("bleu", "chrf")]


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
VALIDATION_BLEU = Column("BLEU", "", "validation", 1)


def averaging_table() -> Table:
    """Show greedy validation BLEU by the number of epochs averaged."""
    rows = [
        (str(run["epochs"]), run["validation_bleu"])
        for run in results.load("multi30k_average")["runs"]
    ]
    return table(["last epochs averaged", VALIDATION_BLEU], rows)


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
