"""Chapter 12: seeds, models and parts compared, each with runs of its own."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.experiments.toy_ablation import CHANGES
from attnbook.pages.colours import SKY
from attnbook.pages.curves import label_lines
from attnbook.pages.figures.exact_match import CURVES
from attnbook.pages.html_tables import Column, Table, table
from attnbook.pages.names import name_of
from attnbook.pages.tables import mean_and_range, stored_runs
from attnbook.translation.report import TEST_SPLITS

NAME = "multi30k_runs"
BEAM, GREEDY = "beam, lowercased", "greedy, lowercased"
COLUMNS = [(how, split) for how in (BEAM, GREEDY) for split in TEST_SPLITS["multi30k"]]
WAYS = {"en_de": "en → de", "de_en": "de → en"}
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
    return results.load(NAME)["parts"][name]


def lowercased(run: dict) -> list[float]:
    """BLEU of a run's beam on both tests, lowercased."""
    return [run["scores"][split][BEAM]["bleu"] for split in TEST_SPLITS["multi30k"]]


def print_seeds() -> None:
    """Print the lowercased BLEU of each seed, both ways, and mean and deviation."""
    print(f"{'lowercased':17} beam          greedy")
    print(f"{'':17} 2016   2017   2016   2017")
    for name, way in WAYS.items():
        found = part(name)
        for run in found["runs"].values():
            scores = [run["scores"][split][how]["bleu"] for how, split in COLUMNS]
            _print_scores(f"{way}, seed {run['config']['seed']}", scores)
        if len(found["runs"]) > 2:  # of two a deviation says nothing
            over_seeds = [found["bleu"][split][how] for how, split in COLUMNS]
            _print_scores("  mean", [x["mean"] for x in over_seeds])
            _print_scores("  st. deviation", [x["sd"] for x in over_seeds])


def _print_scores(label: str, scores: Sequence[float]) -> None:
    print(f"{label:17}" + "".join(f"{x:5.1f}  " for x in scores).rstrip())


def models_table() -> Table:
    """Show size, speed and validation scores (beam, cased) of each model.

    The speed is that of training alone on one thread: ``processor_speeds``.
    """
    speeds, rows = results.load("processor_speeds")["models"], []
    for name, (label, _) in LADDER.items():
        run = part("ladder")["runs"][name]
        score = run["validation_scores"]["beam, cased"]
        sizes = run["parameters"] / 1e6, run["parameters_without_tables"] / 1e6
        speed = speeds[name]["tokens_per_second"]
        rows.append((label, *sizes, speed, *validation_row(run, score)))
    sizes = [Column(x, "million", "parameters", 1) for x in ("all", "without tables")]
    heads = [*sizes, Column("training", "tokens/s"), *VALIDATION]
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


def print_ablation() -> None:
    """Print the same of the Transformer as it is and with one thing changed each."""
    runs = part("ablation")["runs"]
    heads = {"heads_1": "1 head", "heads_8": "8 heads"}
    _print_runs({heads.get(x, x.replace("_", " ")): run for x, run in runs.items()})


def _print_runs(runs: dict[str, dict]) -> None:
    """Print a row for each run, by its label."""
    print(f"{'':20}  2016  2017  loss  parameters")
    for label, run in runs.items():
        first, second = lowercased(run)
        print(
            f"{label:20}{first:6.1f}{second:6.1f}"
            f"{run['validation_loss']:6.2f}{run['parameters']:12,}"
        )


def ladder_figure() -> Figure:
    """Draw the validation BLEU of each model by epoch."""
    runs = part("ladder")["runs"]
    fig, ax = plt.subplots(figsize=(5.5, 4))
    for name, (label, colour) in LADDER.items():
        log = runs[name]["log"]
        ax.plot(
            [line["epoch"] for line in log],
            [line["validation_bleu"] for line in log],
            color=colour,
            marker="o",
            label=label,
        )
    ax.set(xlabel="epochs", ylabel="validation BLEU", xlim=(0, None), ylim=(0, None))
    label_lines(ax)
    return fig


def print_toy_ablation() -> None:
    """Print mean and range of the seeds of ``toy_ablation``."""
    print(f"{'':18}{'exact match, %':27}validation loss")
    for name in CHANGES:
        runs = stored_runs("toy_ablation", change=name)
        shares = mean_and_range([100 * run["exact"]["2"] for run in runs], ".0f")
        losses = mean_and_range([run["validation_loss"] for run in runs], ".3f")
        print(f"{name:18}{shares:27}{losses}")
