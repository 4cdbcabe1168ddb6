"""Chapter 12: a model trained on the translations of several others."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from attnbook.translation.report import score_splits, test_splits
from attnbook.translation.translator import Translator
from experiments.ch12_gpu import together
from experiments.ch12_scores import RUN_VARIABLE
from experiments.registry import experiment

FOLDER = "runs/distilled"
TEACHERS = {"en_de": FOLDER, "de_en": "runs/distilled_de_en"}
"""By direction the folder where ``benchmarks/distil.py`` names the models; that is part
of an older state of this repository: ``git checkout gpu-runs``."""

KEPT = (
    *("config", "machine", "commit", "precision", "versions", "parameters"),
    *("updates", "epochs", "seconds", "tokens_per_second", "peak_memory_mb"),
    *("validation_loss", "validation_bleu_by_alpha", "alpha", "averaged_epochs"),
    *("weights_sha256", "scores", "validation_scores"),
)
"""Entries of a run that are stored unchanged."""


@experiment
def distilled_teachers() -> dict:
    """Score several models that translate together, on validation data.

    Returns:
        By direction "models": their folders; "alpha": α of their beam; "scores": BLEU
        and chrF by decoding and case.
    """
    return {direction: scores_together(Path(f)) for direction, f in TEACHERS.items()}


def scores_together(folder: Path) -> dict:
    """Scores of the models that a folder names."""
    about = json.loads((folder / "teachers.json").read_text(encoding="utf-8"))
    teachers = [Translator(model) for model in about["models"]]
    first = teachers[0]
    scores, _ = score_splits(
        together(teachers), first.subwords, first.config, about["alpha"], ("val",)
    )
    return about | {"scores": scores["val"]}


@experiment
def distilled() -> dict:
    """Score the student of those models on the test sets, once.

    Reads the run ``student`` of ``multi30k-distilled`` in the folder named by the
    environment variable ``ATTNBOOK_RUN``, by default ``runs/distilled``.

    Returns:
        What is kept of the run, with its "validation_scores", and "scores" by test set.
    """
    run = Path(os.environ.get(RUN_VARIABLE, FOLDER)) / "student"
    found = json.loads((run / "results.json").read_text(encoding="utf-8"))
    student = Translator(run / "model")
    # It was trained on a folder of texts.
    config = replace(student.config, data="multi30k")
    scores, _ = score_splits(
        *(student.model, student.subwords, config),
        *(student.facts["alpha"], test_splits(config)),
    )
    kept = {entry: found[entry] for entry in KEPT}
    return kept | {"scores": scores}
