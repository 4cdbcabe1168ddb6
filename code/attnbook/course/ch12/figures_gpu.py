"""Chapter 12: the same training on a GPU."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import Value, pivot

PARTS = {
    "en_de": "multi30k-tiny",
    "published": "multi30k-published",
    "distilled": "multi30k-distilled-tiny",
}
INTO_ENGLISH = {
    "de_en": "multi30k-tiny",
    "distilled_de_en": "multi30k-distilled-tiny",
}
"""Parts of three seeds, scored on the tests, by their configs."""
CHANGES = {
    "accumulated": "two half batches an update, clipping at 25",
    "pre_norm_dropout_0.2": "pre-norm, dropout 0.2",
    "to_zero": "learning rate falls to zero",
    "pre_norm_to_zero": "pre-norm, dropout 0.2, learning rate falls to zero",
    "r_drop": "R-Drop",
    "r_drop_to_zero": "R-Drop, learning rate falls to zero",
}
TESTS = {"test_2016_flickr": "2016", "test_2017_flickr": "2017"}
BEAM = "beam, cased"
LOWERCASED = "beam, lowercased"
SPEEDS = {"tiny model": ("speed", "tiny_eager"), "base model": ("base", "base_eager")}
"""Where the rows of speeds are: the part, and the program."""
LENGTHS = (1024, 4096, 16_384)


def training_table(parts: dict[str, str] = PARTS) -> Table:
    """Show scores on plain text, time and memory of each run."""
    trained, tests = results.load("gpu_runs")["trained"], results.load("gpu_scores")
    runs = [
        {"part": part, "seed": name.removeprefix("seed_")}
        | {"val": run["validation_scores"], **run, **tests[part][name]}
        for part in parts
        for name, run in trained[part]["runs"].items()
    ]
    if "published" in parts:
        three = results.load("gpu_ensemble")
        about = {"part": "published", "seed": "all three", "seconds": None}
        runs.append(three | about | {"peak_memory_mb": None})
    group, splits = "BLEU, lowercased", {"val": "validation", **TESTS}
    scores = [
        Value(lambda run, of=of: plain_bleu(run[of]), "", 1, 1, name, group)
        for of, name in splits.items()
    ]
    time = Value(
        lambda run: run["seconds"] and run["seconds"] / 60, "min", 1, 1, "time"
    )
    memory = Value("peak_memory_mb", "MB", name="memory")
    names = {"part": parts}
    return pivot(runs, "seed", None, *scores, time, memory, groups="part", names=names)


def plain_bleu(scores: dict) -> float:
    """BLEU of a beam of 5 on plain lowercased text."""
    return scores.get("beam, detokenised", scores[LOWERCASED])["bleu"]


def changes_table() -> Table:
    """Show what changes of multi30k-tiny do to its validation scores."""
    trained = results.load("gpu_runs")["trained"]
    groups = {
        "English to German, post-norm, dropout 0.3": trained["en_de"]["runs"],
        "the same with seed 0 and one change or more": {
            words: trained["recipe"]["runs"][name] for name, words in CHANGES.items()
        },
        "pre-norm": trained["pre_norm"]["runs"],
    }
    runs = [
        {"group": group, "run": name.replace("_", " "), **run}
        for group, of in groups.items()
        for name, run in of.items()
    ]
    bleu = Value(
        lambda run: plain_bleu(run["validation_scores"]),
        *("", 1, 1, "BLEU, lowercased", "validation"),
    )
    loss = Value("validation_loss", "nats", 1, 2, "loss", "validation")
    return pivot(runs, "run", None, bleu, loss, groups="group")


def students_table() -> Table:
    """Show validation scores of students and teachers, and of models without."""
    trained = results.load("gpu_runs")["trained"]
    runs = {part: [*trained[part]["runs"].values()] for part in trained}
    teach = results.load("distilled_teachers")
    together = {
        way: [{"validation_scores": teach[way]["scores"]}] for way in ("en_de", "de_en")
    }
    tiny = trained["en_de"]["runs"]
    teachers = [tiny["seed_0"], tiny["seed_2"], trained["pre_norm"]["runs"]["seed_0"]]
    groups = {
        "English to German": {
            "a teacher": teachers,
            "the teachers together": together["en_de"],
            "a student": runs["distilled"],
            "the same without teachers": runs["pre_norm"],
        },
        "German to English": {
            "a teacher": runs["de_en"],
            "the teachers together": together["de_en"],
            "a student": runs["distilled_de_en"],
        },
    }
    found = [
        {"direction": direction, "model": model, **run["validation_scores"]}
        for direction, models in groups.items()
        for model, of in models.items()
        for run in of
    ]
    values = (
        Value((how, "bleu"), "", 1, 1, how.removeprefix("beam, "), "BLEU")
        for how in (BEAM, LOWERCASED)
    )
    return pivot(found, "model", None, *values, groups="direction")


def curves_figure() -> Figure:
    """Draw validation BLEU by update for each seed, English to German."""
    found = results.load("gpu_runs")
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    for (name, run), look in zip(
        found["trained"]["en_de"]["runs"].items(), ("-", "--", ":"), strict=True
    ):
        curve(ax, run["log"], name.replace("_", " "), COLOURS["target"], ls=look)
    for run in found["trained"]["published"]["runs"].values():
        curve(ax, run["log"], "_", GREY)
    ax.set(xlim=(0, 8000), ylim=(0, 44), xlabel="update", ylabel="validation BLEU")
    ax.xaxis.set_major_formatter("{x:,.0f}")
    label_lines(ax)
    return fig


def curve(ax: plt.Axes, log: list[dict], label: str, colour: str, **look: str) -> None:
    """Draw the validation BLEU of a log."""
    steps = [line["step"] for line in log]
    bleu = [line["validation_bleu"] for line in log]
    ax.plot(steps, bleu, label=label, color=colour, **look)


def speeds_table() -> Table:
    """Show the speed of each way of training, for a small and a large model."""
    measured, runs = results.load("gpu_runs")["measured"], []
    for size, (part, program) in SPEEDS.items():
        found = measured[part]["runs"][program]["eager"]
        about = {"size": size, "first": found[0]["tokens_per_second"], "peak_mb": None}
        runs += [{**about, **row} for row in found if "failed" not in row]
    return pivot(
        runs,
        "name",
        None,
        Value("tokens_per_second", "tokens/s", name="speed"),
        Value(lambda run: run["tokens_per_second"] / run["first"], "", 1, 2, "ratio"),
        Value("share", "%", 100, 1, "share of the peak"),
        Value("peak_mb", "MB", name="memory"),
        groups="size",
        head="way of training",
    )


def costs_table() -> Table:
    """Show time and memory of attention with its gradients, in bfloat16."""
    found = results.load("gpu_runs")["measured"]["costs"]["runs"]["costs"]["rows"]
    runs = [
        row
        for row in found
        if row["dtype"] == "bfloat16" and row["gradients"] and row["n"] in LENGTHS
    ]
    values = (
        Value("seconds", "ms", 1000, 2, "time"),
        Value("bytes", "MiB", 2**-20, name="memory"),
    )
    names = {"n": "{:,}", "form": {"eager": "weights kept", "fused": "fused"}}
    return pivot(runs, "n", "form", *values, names=names, head="positions")
