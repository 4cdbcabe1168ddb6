"""Chapter 12: what a GPU made of the same training, imported next to the CPU's runs."""

from __future__ import annotations

import json
import os
import zipfile
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from attnbook.course.ch12.experiment_scores import RUN_VARIABLE, by_length
from attnbook.course.ch12.experiment_training import shortened
from attnbook.course.kit.experiments import experiment
from attnbook.data.subwords import Subwords
from attnbook.decoding.ensemble import Ensemble
from attnbook.translation.bleu_score import paired_bootstrap
from attnbook.translation.configs import from_json
from attnbook.translation.corpora import load_texts
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.translator import Translator

TRAINED = (
    *("en_de", "de_en", "published", "distilled", "distilled_de_en"),
    *("recipe", "pre_norm", "ladder"),
)
MEASURED = ("smoke", "speed", "base", "decoding", "costs", "compiled")
"""Parts of ``benchmarks/gpu.py``; :data:`TRAINED` are training runs."""

ABOUT = ("machine", "device", "commit", "plan")


@experiment
def gpu_runs() -> dict:
    """Import the results of ``benchmarks/half_hour.py``.

    Reads the packed file or the folder named by the environment variable
    ``ATTNBOOK_RUN``; by default the folder ``runs/gpu``. Runs of a CPU are another
    result, ``multi30k_runs``, which stays as it is.

    Returns:
        "trained": by direction what :func:`shortened` keeps; "measured": by part the
        results of its programs; both with the machine and the commit. "unfinished": by
        part and name the validations of runs that were stopped, if it is a folder.
    """
    source = Path(os.environ.get(RUN_VARIABLE, "runs/gpu"))
    return collected(source) | {"unfinished": unfinished(source)}


def unfinished(folder: Path) -> dict:
    """Config and validations of each training run without a result."""
    return {
        f"{log.parent.parent.name}/{log.parent.name}": {
            "config": json.loads(log.with_name("config.json").read_text("utf-8")),
            "log": [line for line in read_metrics(log) if "validation_loss" in line],
        }
        for log in sorted(folder.glob("*/*/metrics.jsonl"))
        if not log.with_name("results.json").exists()
    }


RIVALS = ("luong", "bahdanau")


@experiment
def ladder_scores() -> dict:
    """Score the five models' translations of the validation split.

    Reads ``ladder`` in the folder named by ``ATTNBOOK_RUN``, by default ``runs/gpu``.

    Returns:
        "by_length": by model what :func:`by_length` finds, with a beam of 5;
        "against": by decoding and rival the paired bootstrap of the Transformer
        against the RNNs with attention.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/gpu")) / "ladder"
    outputs = {
        run.name: json.loads((run / "hypotheses.json").read_text("utf-8"))["val"]
        for run in sorted(folder.glob("*"))
    }
    config = from_json(folder / "transformer" / "config.json")
    source, references = load_texts(config, "val")

    def against(how: str, rival: str) -> dict:
        pair = (outputs[name][how] for name in ("transformer", rival))
        return paired_bootstrap(*pair, references)._asdict()

    return {
        "by_length": {
            name: by_length(source, found["beam"], references)
            for name, found in outputs.items()
        },
        "against": {
            how: {rival: against(how, rival) for rival in RIVALS}
            for how in ("beam", "greedy")
        },
    }


def together(translators: Sequence[Translator]) -> Ensemble:
    """Several translators' models as one, for the subwords of the first.

    Their subwords are the same, but their numbers may not be.
    """
    first = translators[0].subwords
    return Ensemble([renumbered(one, first) for one in translators]).eval()


def renumbered(translator: Translator, subwords: Subwords) -> nn.Module:
    """The model of a translator with its word tables in the order of other subwords."""
    own = translator.subwords.tokenizer
    size = len(subwords)
    order = [own.token_to_id(subwords.tokenizer.id_to_token(i)) for i in range(size)]
    with torch.no_grad():
        for weights in translator.model.parameters():
            if len(weights) == size:
                weights.copy_(weights[order])
    return translator.model


def collected(source: Path, trial: bool = False) -> dict:
    """Collect the parts that a packed file or a folder holds."""
    found = {
        name: part for name in (*TRAINED, *MEASURED) if (part := read(source, name))
    }
    if not found:
        raise ValueError(
            f"{source} holds no results of a GPU; make them with "
            f"python benchmarks/half_hour.py, and name its file in {RUN_VARIABLE}"
        )
    for name, part in found.items():
        if not trial and (part["device"] != "cuda" or part["plan"]["small"]):
            raise ValueError(
                f"{name} in {source} was made on {part['device']} with {part['plan']}; "
                "only a GPU's whole runs are imported here"
            )
    about = {name: {key: part[key] for key in ABOUT} for name, part in found.items()}
    return {
        "trained": {n: about[n] | shortened(found[n]) for n in TRAINED if n in found},
        "measured": {
            n: about[n] | {"missing": found[n]["missing"], "runs": found[n]["runs"]}
            for n in MEASURED
            if n in found
        },
    }


def read(source: Path, part: str) -> dict | None:
    """A part's file in an archive or a folder; None if it isn't there."""
    path = (zipfile.Path(source) if source.is_file() else source) / f"{part}.json"
    return json.loads(path.read_text(encoding="utf-8")) if path.exists() else None
