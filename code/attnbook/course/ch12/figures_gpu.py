"""Chapter 12: the same training on a GPU."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table

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
    heads = ["seed", Column("validation", "", "BLEU, lowercased", 1)]
    heads += [Column(year, "", "BLEU, lowercased", 1) for year in TESTS.values()]
    heads += [Column("time", "min", "", 1), Column("memory", "MB")]
    trained = results.load("gpu_runs")["trained"]
    tests, together = results.load("gpu_scores"), results.load("gpu_ensemble")
    rows: dict[str, list[tuple]] = {}
    for part, words in parts.items():
        for name, run in trained[part]["runs"].items():
            scores = {"val": run["validation_scores"]} | tests[part][name]
            size = run["seconds"] / 60, run["peak_memory_mb"]
            row = (name.removeprefix("seed_"), *bleu_by_split(scores), *size)
            rows.setdefault(words, []).append(row)
    if "published" in parts:
        three = ("all three", *bleu_by_split(together), None, None)
        rows[parts["published"]].append(three)
    return table(heads, rows)


def bleu_by_split(scores: dict) -> list[float]:
    """BLEU on the validation split and on both tests."""
    return [plain_bleu(scores[split]) for split in ("val", *TESTS)]


def plain_bleu(scores: dict) -> float:
    """BLEU of a beam of 5 on plain lowercased text."""
    return scores.get("beam, detokenised", scores[LOWERCASED])["bleu"]


def changes_table() -> Table:
    """Show what changes of multi30k-tiny do to its validation scores."""
    heads = ["run", Column("BLEU, lowercased", "", "validation", 1)]
    heads += [Column("loss", "nats", "validation", 2)]
    trained = results.load("gpu_runs")["trained"]
    groups = {
        "English to German, post-norm, dropout 0.3": trained["en_de"]["runs"],
        "the same with seed 0 and one change or more": {
            words: trained["recipe"]["runs"][name] for name, words in CHANGES.items()
        },
        "pre-norm": trained["pre_norm"]["runs"],
    }
    rows = {
        group: [
            (
                name.replace("_", " "),
                plain_bleu(run["validation_scores"]),
                run["validation_loss"],
            )
            for name, run in runs.items()
        ]
        for group, runs in groups.items()
    }
    return table(heads, rows)


def students_table() -> Table:
    """Show validation scores of students and teachers, and of models without."""
    trained = results.load("gpu_runs")["trained"]
    runs = {part: [*trained[part]["runs"].values()] for part in trained}
    together = results.load("distilled_teachers")
    tiny = trained["en_de"]["runs"]
    teachers = [tiny["seed_0"], tiny["seed_2"], trained["pre_norm"]["runs"]["seed_0"]]
    rows = {
        "English to German": [
            ("a teacher", *validation_bleu(teachers)),
            ("the teachers together", *bleu_of(together["en_de"]["scores"])),
            ("a student", *validation_bleu(runs["distilled"])),
            ("the same without teachers", *validation_bleu(runs["pre_norm"])),
        ],
        "German to English": [
            ("a teacher", *validation_bleu(runs["de_en"])),
            ("the teachers together", *bleu_of(together["de_en"]["scores"])),
            ("a student", *validation_bleu(runs["distilled_de_en"])),
        ],
    }
    heads = [Column(case, "", "BLEU", 1) for case in ("cased", "lowercased")]
    return table(["model", *heads], rows)


def bleu_of(scores: dict) -> list[float]:
    """BLEU of a beam, cased and lowercased."""
    return [scores[how]["bleu"] for how in (BEAM, LOWERCASED)]


def validation_bleu(runs: list[dict]) -> list[Spread]:
    """The same of several runs, on validation data."""
    columns = zip(*(bleu_of(run["validation_scores"]) for run in runs), strict=True)
    return [spread(column) for column in columns]


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
    measured = results.load("gpu_runs")["measured"]
    heads = ["way of training", Column("speed", "tokens/s"), Column("ratio", "", "", 2)]
    heads += [Column("share of the peak", "%", "", 1), Column("memory", "MB")]
    rows = {}
    for size, (part, program) in SPEEDS.items():
        found = measured[part]["runs"][program]["eager"]
        first = found[0]["tokens_per_second"]
        rows[size] = [
            (
                row["name"],
                speed := row["tokens_per_second"],
                speed / first,
                100 * row["share"],
                row.get("peak_mb"),
            )
            for row in found
            if "failed" not in row
        ]
    return table(heads, rows)


def costs_table() -> Table:
    """Show time and memory of attention with its gradients, in bfloat16."""
    found = results.load("gpu_runs")["measured"]["costs"]["runs"]["costs"]["rows"]
    known = {
        (row["n"], row["form"]): row
        for row in found
        if row["dtype"] == "bfloat16" and row["gradients"]
    }
    heads = ["positions"]
    heads += [Column(form, "ms", "time", 2) for form in ("weights kept", "fused")]
    heads += [Column(form, "MB", "memory") for form in ("weights kept", "fused")]
    rows = []
    for n in LENGTHS:
        pair = [known[n, form] for form in ("eager", "fused")]
        times = [1000 * row["seconds"] for row in pair]
        rows.append((f"{n:,}", *times, *(row["bytes"] / 2**20 for row in pair)))
    return table(heads, rows)
