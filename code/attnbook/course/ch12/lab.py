"""Tables of laboratory page 12: the training runs on Multi30k."""

from __future__ import annotations

from statistics import fmean

from attnbook.core import results
from attnbook.course.ch12.figures_comparisons import (
    LADDER,
    VALIDATION,
    ablation_runs,
    ablation_seeds,
    part,
    validation_spreads,
)
from attnbook.course.kit.html_tables import Cell, Column, Table, table
from attnbook.translation.configs import config
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


def commands() -> dict[str, str]:
    """Give the command that repeats each run, by its name for a reader."""
    return {
        f"{kind}, {name}": command_of(run)
        for kind, runs in all_runs().items()
        for name, run in runs.items()
    }


def command_of(run: dict, name: str = "multi30k-cpu") -> str:
    """Give the command of a run, with its changes of a config.

    The precision is always named: what "auto" means depends on the machine.
    """
    given = vars(config(name))
    wanted = run["config"] | {"precision": PRECISIONS[run["precision"]]}
    changes = [
        f"{entry}={value}"
        for entry, value in wanted.items()
        if entry in given and value != given[entry]
    ]
    return f"attnbook train --config {name} --set {' '.join(changes)}"


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


def signatures() -> dict[str, str]:
    """Give sacreBLEU's signature of each metric in ``headline_table``."""
    scores = results.load("multi30k_headline")["scores"]
    found = scores[TEST_SPLITS["multi30k"][0]]
    return {
        f"{label}, {case}": found[f"beam, {case}"][entry]
        for case in ("cased", "lowercased")
        for label, entry in (("BLEU", "signature"), ("chrF", "chrf_signature"))
    }


def against_table() -> Table:
    """Show the runs that were compared with the shipped model by a bootstrap."""
    stored = results.load("multi30k_against_shipped")
    first = part("en_de")["runs"]["seed_0"]
    rows: list[tuple] = [
        ("recorded", "fp32", first["seconds"] / 60, stored["runs"][0]["other"], None)
    ]
    for run in stored["runs"]:
        name = "with R-Drop" if run["config"].get("r_drop") else "the same"
        speed = PRECISIONS[run["precision"]], run["seconds"] / 60
        rows.append((name, *speed, run["bleu"], run["p_value"]))
    heads = ["precision", Column("time", "minutes"), Column("BLEU", digits=1)]
    return table(["run", *heads, Column("p", digits=2)], rows)


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


def decoding_speeds_table() -> Table:
    """Show tokens per second of decoding, ours and Marian's if it was there."""
    names = {1: "greedy", 5: "beam of 5"}
    rows = [
        (names[row["width"]], row["ours"], row.get("marian"), row.get("ours_faster"))
        for row in results.load("processor_speeds")["decoding"]
    ]
    heads = [Column("ours", "tokens/s"), Column("Marian", "tokens/s")]
    return table(["decoding", *heads, Column("ratio", digits=2)], rows)
