"""Chapter 12: scores on the test sets, and runs that differ in one thing."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MultipleLocator

from attnbook.core import results
from attnbook.course.kit.colours import GREY, SKY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.exact_match import CURVES
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.names import name_of
from attnbook.translation.report import TEST_SPLITS

BEAM, GREEDY = "beam, lowercased", "greedy, lowercased"
LADDER = {
    "initial_state": (name_of("initial_state"), CURVES["initial_state"][0]),
    "static_context": (name_of("static_last"), CURVES["static_last"][0]),
    "bahdanau": (name_of("bahdanau"), CURVES["bahdanau"][0]),
    "luong": (name_of("luong_general"), SKY),
    "transformer": (name_of("transformer"), CURVES["transformer"][0]),
}
"""Label and colour of each model, as in the figure that grows."""


def part(name: str) -> dict:
    """Give what is stored of a part of the runs."""
    return results.load("multi30k_runs")["parts"][name]


# Models and parts compared


def whole_ladder() -> dict[str, dict]:
    """Give the runs of the five models to their end, by name."""
    return results.load("gpu_runs")["trained"]["ladder"]["runs"]


def models_table() -> Table:
    """Show size, speed and validation scores (beam, cased) of each model.

    The speed is that of training alone on one thread: ``processor_speeds``.
    """
    speeds, rows = results.load("processor_speeds")["models"], []
    for name, (label, _) in LADDER.items():
        early, run = part("ladder")["runs"][name], whole_ladder()[name]
        sizes = run["parameters"] / 1e6, run["parameters_without_tables"] / 1e6
        speed = speeds[name]["tokens_per_second"]
        bleu = [x["validation_scores"]["beam, cased"]["bleu"] for x in (early, run)]
        loss = run["validation_loss"]
        rows.append((label, *sizes, speed, bleu[0], run["epochs"], loss, bleu[1]))
    heads = [
        Column("all", "million", "parameters", 1),
        Column("without embeddings", "million", "parameters", 1),
        Column("training", "tokens/s"),
        Column("BLEU", "", "ten epochs", 1),
        Column("epochs", "", "full run"),
        Column("loss", "nats", "full run", 2),
        Column("BLEU", "", "full run", 1),
    ]
    return table(["model", *heads], rows)


VALIDATION = [
    Column("loss", "nats", "validation", 2),
    Column("BLEU", "", "validation", 1),
    Column("chrF", "", "validation", 1),
    Column("length", "ratio", "validation", 2),
]


def validation_row(run: dict, score: dict) -> tuple[float, ...]:
    """The cells of the columns ``VALIDATION``."""
    return run["validation_loss"], score["bleu"], score["chrf"], score["length_ratio"]


ABLATION = {
    "the model": {
        "as_it_is": "unchanged",
        "heads_1": "one head instead of four",
        "heads_8": "eight heads instead of four",
        "no_scale": "no division by the root of d_k",
        "no_positions": "no positional encoding",
        "no_feed_forward": "no feed-forward networks",
        "post_norm": "post-norm instead of pre-norm",
        "post_norm_slow": "post-norm, learning rate 0.001",
    },
    "the training": {
        "dropout_0": "no dropout",
        "dropout_0.1": "dropout 0.1 instead of 0.2",
        "smoothing_0": "no label smoothing",
        "r_drop_5": "with R-Drop",
        "lowercase": "all text in lower case",
    },
}
"""The runs with one thing changed, as a reader calls them, by what is changed."""


def ablation_runs(stored: str = "ablation") -> dict[str, dict[str, dict]]:
    """Give the runs with one thing changed, by kind and by name for a reader."""
    runs = part(stored)["runs"]
    if stored == "ablation_seed_2":  # whose unchanged model is a row of the first
        runs = runs | {"as_it_is": part("ablation")["runs"]["seed_2"]}
    return {
        kind: {label: runs[name] for name, label in labels.items() if name in runs}
        for kind, labels in ABLATION.items()
    }


def ablation_seeds() -> dict[str, dict[str, list[dict]]]:
    """Give the runs of each row of the ablation, one or two seeds, by their names."""
    second = ablation_runs("ablation_seed_2")
    return {
        kind: {
            label: [both[label] for both in (runs, second[kind]) if label in both]
            for label in runs
        }
        for kind, runs in ablation_runs().items()
    }


def ablation_table() -> Table:
    """Show the validation loss and scores (beam, cased) with the model changed."""
    rows = [
        (label, *validation_spreads(runs, "beam, cased")[:3])
        for label, runs in ablation_seeds()["the model"].items()
    ]
    return table(["Transformer", *VALIDATION[:3]], rows)


def validation_spreads(runs: list[dict], how: str) -> list[float | Spread]:
    """The cells of the columns ``VALIDATION``, over seeds if there are several."""
    rows = [validation_row(run, run["validation_scores"][how]) for run in runs]
    columns = zip(*rows, strict=True)
    return [spread(x) if len(runs) > 1 else x[0] for x in columns]


def ladder_figure() -> Figure:
    """Draw the validation BLEU of each model by epoch."""
    fig, ax = plt.subplots(figsize=(5.5, 4))
    for name, (label, colour) in LADDER.items():
        log = whole_ladder()[name]["log"]
        epochs = [line["epoch"] for line in log]
        bleu = [line["validation_bleu"] for line in log]
        ax.plot(epochs, bleu, color=colour, label=label)
    ax.axvline(10, color=GREY, lw=1)
    ax.set(xlabel="epoch", ylabel="validation BLEU", xlim=(0, 36), ylim=(0, None))
    ax.xaxis.set_major_locator(MultipleLocator(10))
    label_lines(ax)
    return fig


# Scores


PUBLISHED = {"test_2016_flickr": 41.02}
"""BLEU, English to German, text alone, trained on Multi30k alone, lowercased: Wu et al.
2021, from README-baseline.md of LividWo/Revisit-MMT. Its tokenisation and sacreBLEU's
13a agree in 991 of the 1,000 lowercased references."""

RULES = {
    "sacreBLEU's own, cased": "sacreBLEU's default: rule 13a, cased",
    "lowercased": "rule 13a, lowercased",
    "words between spaces": "split at spaces, cased",
    "words between spaces, lowercased": "split at spaces, lowercased",
    "letter by letter": "every character a token",
}
"""The stored rules, as a reader calls them."""


def scorings_table() -> Table:
    """Show one output's BLEU by several rules: ``multi30k_scores``."""
    rows = [
        (RULES[row["rule"]], row["bleu"])
        for row in results.load("multi30k_scores")["scorings"]
    ]
    return table(["tokenisation", Column("BLEU", digits=1)], rows)


def scores_table() -> Table:
    """Show the shipped model's scores, those of three seeds, and a published one.

    All with the beam; BLEU and chrF of the shipped model: ``multi30k_headline``.
    """
    shipped = results.load("multi30k_headline")["scores"]
    seeds = part("en_de")["runs"].values()
    rows = []
    for split in TEST_SPLITS["multi30k"]:
        cased = shipped[split]["beam, cased"]
        lowercased = shipped[split][BEAM]["bleu"]
        over_seeds = spread(run["scores"][split][BEAM]["bleu"] for run in seeds)
        row = (split[5:9], cased["bleu"], cased["chrf"], lowercased, over_seeds)
        rows.append((*row, PUBLISHED.get(split)))
    heads = [
        Column("BLEU", "", "shipped model, cased", 1),
        Column("chrF", "", "shipped model, cased", 1),
        Column("shipped model", "", "BLEU, lowercased", 1),
        Column("three seeds", "", "BLEU, lowercased", 1),
        Column("published", "", "BLEU, lowercased", 1),
    ]
    return table(["test set", *heads], rows)
