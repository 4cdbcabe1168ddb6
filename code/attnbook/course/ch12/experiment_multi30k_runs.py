"""Results of several training runs on Multi30k: seeds, directions, other models.

The runs are made by :mod:`gpu`. Here their results are read from
its folder and shortened, so that they can be part of the package.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from attnbook.core import results
from attnbook.course.ch12.experiment_multi30k_decoding import RUN_VARIABLE
from attnbook.course.kit.experiments import experiment

PARTS = ("en_de", "de_en", "ladder", "ablation", "ablation_seed_2")
"""The parts of that script that train models."""

KEPT = (
    *("config", "machine", "commit", "precision", "versions", "parameters"),
    *("updates", "epochs", "seconds", "tokens_per_second", "peak_memory_mb"),
    *("validation_loss", "validation_bleu_by_alpha", "alpha", "averaged_epochs"),
    *("weights_sha256", "scores"),
)
"""Entries of a run that are stored unchanged."""
LATER = ("parameters_without_tables", "validation_scores")
"""The same, where there are; the first runs that were stored lack them."""


@experiment
def multi30k_runs() -> dict:
    """Collect the training runs of all parts that exist.

    Reads the folder named by the environment variable ``ATTNBOOK_RUN``; by default
    ``runs/gpu``, where the script writes them. A part that the folder lacks stays as
    it is stored, and so do earlier runs under another name, such as "ablation_fp32".

    Returns:
        "parts": by part, "bleu" (mean, standard deviation and number of runs that
        differ in their seed only), "missing" (names of missing runs), "jobs_at_once"
        (how many shared a GPU or a CPU) and "runs": by name the entries of
        :data:`KEPT` and :data:`LATER`, and "log", a line for each epoch.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/gpu"))
    parts = {}
    for part in PARTS:
        path = folder / f"{part}.json"
        if path.exists():
            parts[part] = shortened(json.loads(path.read_text(encoding="utf-8")))
    if not parts:
        raise ValueError(
            f"{folder} holds none of {', '.join(PARTS)}; make them with python -m "
            f"gpu, and name its folder in {RUN_VARIABLE}"
        )
    first = not (results.FOLDER / "multi30k_runs.json").is_file()
    return {"parts": parts if first else results.load("multi30k_runs")["parts"] | parts}


@experiment
def multi30k_learning_rates() -> dict:
    """Collect the validation losses of :mod:`learning_rates`.

    Reads its folder, named by the environment variable ``ATTNBOOK_RUN``; by default
    ``runs/learning_rates``.

    Returns:
        "losses": by model and peak learning rate, in nats per token after each epoch.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/learning_rates"))
    path = folder / "learning_rates.json"
    if not path.exists():
        raise ValueError(
            f"there is no {path}; make it with python -m "
            f"learning_rates, and name its folder in "
            f"{RUN_VARIABLE}"
        )
    found = json.loads(path.read_text(encoding="utf-8"))
    return {
        "losses": {
            model: {
                rate: [round(x, 4) for x in losses] for rate, losses in runs.items()
            }
            for model, runs in found.items()
        }
    }


def shortened(part: dict) -> dict:
    """Keep the entries that the page shows or that are needed to repeat the runs."""
    runs = {}
    for name, run in part["runs"].items():
        epochs = [line for line in run["log"] if "validation_loss" in line]
        later = {entry: run[entry] for entry in LATER if entry in run}
        runs[name] = {entry: run[entry] for entry in KEPT} | later | {"log": epochs}
    return {
        "bleu": part["bleu"],
        "missing": sorted(part["missing"]),
        "jobs_at_once": part["jobs_at_once"],
        "runs": runs,
    }
