"""What several training runs on Multi30k came to: seeds, directions, other models.

The runs are made by :mod:`attnbook.experiments.gpu`; here their results are read from
its folder and made short enough to come with the package.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from attnbook.experiments.multi30k_decoding import RUN

PARTS = ("en_de", "de_en", "ladder", "ablation")
"""Parts of that script that train."""

KEPT = (
    *("config", "machine", "commit", "precision", "versions", "parameters"),
    *("updates", "epochs", "seconds", "tokens_per_second", "peak_memory_mb"),
    *("validation_loss", "validation_bleu_by_alpha", "alpha", "averaged_epochs"),
    *("weights_sha256", "scores"),
)
"""Entries of a run that are stored as they are."""


def multi30k_runs() -> dict:
    """Collect the training runs of the parts that are there.

    Reads the folder that the environment variable ``ATTNBOOK_RUN`` names; if it does
    not, ``runs/gpu``, where the script puts them.

    Returns:
        "parts": by part, "bleu" (mean, deviation and number of runs that differ in
        their seed alone), "missing" (names of runs that are not there), "jobs_at_once"
        (how many shared a GPU or a processor) and "runs": by
        name what :data:`KEPT` lists, and "log", a line for each epoch.

    Raises:
        ValueError: If the folder has none of the parts.
    """
    folder = Path(os.environ.get(RUN, "runs/gpu"))
    parts = {}
    for part in PARTS:
        path = folder / f"{part}.json"
        if path.exists():
            parts[part] = shortened(json.loads(path.read_text(encoding="utf-8")))
    if not parts:
        raise ValueError(
            f"{folder} holds none of {', '.join(PARTS)}; make them with python -m "
            f"attnbook.experiments.gpu, and name its folder in {RUN}"
        )
    return {"parts": parts}


def shortened(part: dict) -> dict:
    """Keep of a part what its page shows, and what is needed to make it again."""
    runs = {}
    for name, run in part["runs"].items():
        epochs = [line for line in run["log"] if "validation_loss" in line]
        runs[name] = {entry: run[entry] for entry in KEPT} | {"log": epochs}
    return {
        "bleu": part["bleu"],
        "missing": sorted(part["missing"]),
        "jobs_at_once": part["jobs_at_once"],
        "runs": runs,
    }
