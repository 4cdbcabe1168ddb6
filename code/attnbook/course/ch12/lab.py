"""Laboratory page 12: scores of training runs, and decoding."""

from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.ch12.figures import (
    ABLATION,
    BEAM,
    GREEDY,
    LADDER,
    NAME,
    ablation,
    bleu_by,
    loss_and_bleu,
    part,
    whole_ladder,
)
from attnbook.course.kit.colours import COLOURS, GREY, text_colour
from attnbook.course.kit.html_tables import Cell, Column, Table, table
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.translation.report import TEST_SPLITS


def ablation_table() -> Table:
    """Show loss and scores (beam) of all runs with one thing changed."""
    groups = {
        f"changes of {kind}": [
            (label, *_changed(name, ablation(kind)[name]))
            for name, label in labels.items()
        ]
        for kind, labels in ABLATION.items()
    }
    heads = [
        Column("loss", "nats", digits=2),
        *(Column(way, "", "BLEU", 1) for way in ("cased", "lowercased", "fp32, cased")),
        Column("chrF", digits=1),
        Column("length", "ratio", digits=2),
    ]
    return table(["Transformer", *heads], groups)


def _changed(name: str, runs: list[dict]) -> tuple[Cell, ...]:
    """Cells of ``ablation_table``; BLEU in lower case is fair to lowercased text."""
    scores = [run["validation_scores"] for run in runs]
    lowercased = fmean(score["beam, lowercased"]["bleu"] for score in scores)
    if in_fp32 := part("ablation_fp32")["runs"].get(name):
        in_fp32 = in_fp32["validation_bleu_by_alpha"][str(in_fp32["alpha"])]
    others = (
        fmean(score["beam, cased"][entry] for score in scores)
        for entry in ("chrf", "length_ratio")
    )
    return *loss_and_bleu(runs), lowercased, in_fp32, *others


def learning_rates_table() -> Table:
    """Show the validation loss after five epochs, by model and learning rate."""
    losses = results.load("multi30k_learning_rates")["losses"]
    runs = [{"model": label, **losses[name]} for name, (label, _) in LADDER.items()]
    values = (
        Value((rate, -1), "nats", 1, 2, rate, "learning rate")
        for rate in ("0.001", "0.003")
    )
    return pivot(runs, "model", None, *values)


def full_runs_table() -> Table:
    """Show size, loss and validation scores (cased) of the five full runs."""
    values = (
        Value("parameters", "million", 1e-6, 1, "parameters"),
        Value("validation_loss", "nats", digits=2, name="loss"),
        Value(bleu_by("greedy"), "", 1, 1, "greedy", "BLEU"),
        Value(("validation_bleu_by_alpha", "0.0"), "", 1, 1, "α = 0", "BLEU"),
        Value(bleu_by("beam"), "", 1, 1, "best α", "BLEU"),
        Value(("validation_scores", "beam, cased", "chrf"), digits=1, name="chrF"),
    )
    return pivot(whole_ladder(), "model", None, *values)


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


DIRECTIONS = {"en_de": "English to German", "de_en": "German to English"}


def length_penalties_table() -> Table:
    """Show the validation BLEU of three seeds by the exponent of the length penalty."""
    runs = {"shipped": [results.load(NAME)], "seeds": part("en_de")["runs"].values()}
    found = [
        {"α": f"{float(alpha):.1f}", "of": name, "bleu": bleu}
        for name, of in runs.items()
        for run in of
        for alpha, bleu in run["validation_bleu_by_alpha"].items()
    ]
    return pivot(found, "α", "of", Value("bleu", "", 1, 1, "validation BLEU"))


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
    runs = []
    for name, direction in DIRECTIONS.items():
        found = part(name)["runs"].values()
        label = f"{direction}, {len(found)} run{'s' * (len(found) > 1)}"
        runs += [{"direction": label, **run} for run in found]
    values = [
        Value(("scores", split, how, "bleu"), "", 1, 1, split[5:9], heading)
        for how, heading in ((BEAM, "beam of 5"), (GREEDY, "greedy"))
        for split in TEST_SPLITS["multi30k"]
    ]
    return pivot(runs, "direction", None, *values)


RECIPES = {"multi30k-cpu": "shipped recipe", "multi30k-quick": "quick recipe"}


def recipe_runs() -> list[dict]:
    """Validation loss and greedy BLEU after each epoch: three seeds of both recipes."""
    shipped, quick = RECIPES
    logs = (
        [line for line in run["log"] if "validation_bleu" in line]
        for run in part("en_de")["runs"].values()
    )
    return [
        {
            "recipe": shipped,
            "loss": [line["validation_loss"] for line in log],
            "bleu": [line["validation_bleu"] for line in log],
        }
        for log in logs
    ] + [{"recipe": quick, **run} for run in results.load("quick_recipe")["runs"]]


def minutes(run: dict, epochs: int) -> float:
    """What the updates of so many epochs take on one core, by the run's recipe."""
    stored = results.load("quick_speeds")
    speed = fmean(found[run["recipe"]] for found in stored["tokens_per_second"])
    return epochs * stored["tokens"] / speed / 60


def recipes_table() -> Table:
    """Show both recipes after the quick one's minutes, and the other at its own end."""
    every = recipe_runs()
    end = minutes(every[-1], len(every[-1]["bleu"]))
    runs = [
        {
            "recipe": RECIPES[run["recipe"]],
            "after": f"{epochs} epochs, {minutes(run, epochs):.0f} minutes",
            "loss": run["loss"][epochs - 1],
            "bleu": run["bleu"][epochs - 1],
        }
        for run in every
        for epochs in sorted({round(end / minutes(run, 1)), len(run["bleu"])})
    ]
    values = Value("loss", "nats", 1, 2, "loss"), Value("bleu", "", 1, 1, "BLEU")
    return pivot(runs, "after", None, *values, groups="recipe")


def without_table() -> Table:
    """Show four epochs of the quick recipe without some changes: ``quick_without``."""
    shipped = [{"without": "all of them", **run} for run in recipe_runs()[:3]]
    runs = stored_runs("quick_without") + shipped
    loss = Value(("loss", 3), "nats", digits=2, name="loss")
    bleu = Value(("bleu", 3), digits=1, name="BLEU")
    return pivot(runs, "without", None, loss, bleu)


def minutes_figure() -> Figure:
    """Draw validation BLEU by minutes of training, three seeds of each recipe."""
    fig, ax = plt.subplots(figsize=(5.5, 3.6))
    looks = (GREY, 33), (COLOURS["target"], 40)  # colour, and where the name stands
    for (recipe, name), (colour, y) in zip(RECIPES.items(), looks, strict=True):
        for run in (run for run in recipe_runs() if run["recipe"] == recipe):
            x = [minutes(run, epoch) for epoch in range(1, len(run["bleu"]) + 1)]
            ax.plot(x, run["bleu"], color=colour)
        ax.text(x[-1], y, name, ha="right", color=text_colour(colour))
    ax.set(xlabel="minutes on one core", ylabel="validation BLEU, greedy")
    ax.set(xlim=(0, None), ylim=(0, None))
    return fig
