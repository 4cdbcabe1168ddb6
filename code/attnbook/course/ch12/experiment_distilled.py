"""Chapter 12: a model trained on the translations of several others."""

from __future__ import annotations

import json
import os
from dataclasses import replace
from pathlib import Path

from attnbook.course.ch12.experiment_gpu import together
from attnbook.course.ch12.experiment_scores import RUN_VARIABLE
from attnbook.course.ch12.experiment_training import KEPT
from attnbook.course.kit.experiments import experiment
from attnbook.translation.report import check_may_test, score_splits, test_splits
from attnbook.translation.translator import Translator


@experiment
def distilled() -> dict:
    """Score a student on the test sets, once, and its teachers on validation data.

    Reads the folder named by the environment variable ``ATTNBOOK_RUN``, by default
    ``runs/distilled``: the texts of ``benchmarks/distil.py``, and in ``student`` a run
    of ``multi30k-distilled`` that is over.

    Returns:
        "teachers": their folders, the α of their beam, and their scores on validation
        data by decoding and case; "student": what is kept of its run, with its
        "validation_scores" and, by test set, its "scores".
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/distilled"))
    about = json.loads((folder / "teachers.json").read_text(encoding="utf-8"))
    run = folder / "student"
    found = json.loads((run / "results.json").read_text(encoding="utf-8"))
    kept = {entry: found[entry] for entry in (*KEPT, "validation_scores")}
    return {
        "teachers": about | {"scores": teachers_scores(about)},
        "student": kept | {"scores": headline_scores(Translator(run / "model"))},
    }


def teachers_scores(about: dict) -> dict:
    """BLEU and chrF of the teachers together, on validation data."""
    teachers = [Translator(path) for path in about["models"]]
    first = teachers[0]
    both = together(teachers), first.subwords
    config = replace(first.config, score_tests=False)
    return score_splits(*both, config, about["alpha"], ("val",))[0]["val"]


def headline_scores(student: Translator) -> dict:
    """Its scores on Multi30k's test sets; it was trained on a folder of texts."""
    config = replace(student.config, data="multi30k", score_tests=True)
    check_may_test(config)
    both, alpha = (student.model, student.subwords), student.facts["alpha"]
    return score_splits(*both, config, alpha, test_splits(config))[0]
