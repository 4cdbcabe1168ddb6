"""The results of a training run: the averaged model, its scores, how it was made."""

from __future__ import annotations

import hashlib
import platform
import statistics
from collections.abc import Sequence
from dataclasses import asdict, replace
from importlib.metadata import version

import torch
from torch import Tensor

from attnbook.core.divergence import DivergedError
from attnbook.core.files import write_object
from attnbook.core.results import commit, machine
from attnbook.models.word_tables import count_parameters
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.configs import CONFIGS, Config
from attnbook.translation.corpora import has_files, load_texts
from attnbook.translation.doubts import quantile, usual_texts
from attnbook.translation.evaluation import beam_translate, bleu_by_alpha
from attnbook.translation.run_folder import read_metrics
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import average_weights
from attnbook.translation.translator import save_translator

TEST_SPLITS = {"multi30k": ("test_2016_flickr", "test_2017_flickr")}
"""Test splits by data; a folder and the toy language have one, "test"."""

HEADLINES = ("multi30k-tiny", "multi30k-cpu", "multi30k-quick")
"""Configs, chosen on validation data, whose runs are scored on the test sets."""

FREE = ("data", "seed", "source", "target", "precision")
"""Entries in which such a run may differ from its config."""

BEAM_WIDTH = 5
"""Beam width of the reported scores, as in Wu et al. 2021."""

METHODS = {"greedy": 1, "beam": BEAM_WIDTH}
"""Widths of the decoding methods that are reported, by name."""


def write_results(trainer: Trainer) -> dict:
    """Average the last epochs, choose the length penalty, translate the test sets.

    Writes to the run's folder: ``model/`` (for a Translator), ``hypotheses.json`` (the
    translations, by split and decoding method) and ``results.json``.

    Args:
        trainer: A trainer that has trained for at least one epoch.

    Returns:
        The content of ``results.json``.

    Raises:
        ValueError: If the run has no epoch to average.
        DivergedError: If an averaged weight is too large to be stored, or the
            validation loss isn't finite.
    """
    folder, config = trainer.folder, trainer.config
    model, subwords, val = trainer.model, trainer.subwords, trainer.val_texts
    kept = sorted((folder / "epochs").glob("*.safetensors"))[-config.average :]
    model.load_state_dict(as_stored(average_weights(kept)), strict=False)
    validation_loss = trainer.validation_loss()
    by_alpha = bleu_by_alpha(model, subwords, val.source, val.target, BEAM_WIDTH)
    alpha = max(by_alpha, key=by_alpha.get)
    scores, hypotheses = score_splits(trainer, alpha, ("val", *test_splits(config)))
    usual = usual_texts(load_texts(config, "train"), val, subwords)
    usual["unsure"] = {}
    for name, width in METHODS.items():
        scored = beam_translate(model, subwords, val.source, width, alpha, scored=True)
        usual["unsure"][name] = round(quantile([p for _, p in scored], 0.03), 3)
    facts = run_facts(trainer)
    save_translator(
        model,
        subwords,
        config,
        folder / "model",
        alpha=alpha,
        usual=usual,
        **facts,
    )
    weights = (folder / "model" / "weights.safetensors").read_bytes()
    values = {
        "config": asdict(config),
        **facts,
        "validation_loss": validation_loss,
        "validation_bleu_by_alpha": {str(a): score for a, score in by_alpha.items()},
        "validation_scores": scores.pop("val"),
        "alpha": alpha,
        "averaged_epochs": len(kept),
        "weights_sha256": hashlib.sha256(weights).hexdigest(),
        "scores": scores,
    }
    for name, content in (("hypotheses", hypotheses), ("results", values)):
        write_object(folder / f"{name}.json", content)
    return values


def as_stored(weights: dict[str, Tensor]) -> dict[str, Tensor]:
    """Round weights to half precision, in which a model is stored.

    What is scored is what is stored, so that its scores can be reproduced.

    Raises:
        DivergedError: If one is larger than half precision allows.
    """
    real = {name: w for name, w in weights.items() if w.is_floating_point()}
    largest = max(w.abs().max().item() for w in real.values())
    if not largest <= (limit := torch.finfo(torch.half).max):
        raise DivergedError(
            f"a weight has grown to {largest:.2g}, and a model is stored in half "
            f"precision, which ends at {limit:,.0f}"
        )
    return weights | {name: w.half().float() for name, w in real.items()}


def may_test(config: Config) -> bool:
    """Whether a run is scored on test sets, and not on validation data alone.

    Who compares or chooses by test scores fits the model to them. So of Multi30k's runs
    only those of the recipes of :data:`HEADLINES` are.
    """
    same = {name: getattr(config, name) for name in FREE}
    headline = any(replace(CONFIGS[name], **same) == config for name in HEADLINES)
    return headline or config.data not in TEST_SPLITS


def test_splits(config: Config) -> tuple[str, ...]:
    """Names of the test splits that a run is scored on; a folder may have none."""
    own = config.data not in ("toy", *TEST_SPLITS)
    if not may_test(config) or (own and not has_files(config, "test")):
        return ()
    return TEST_SPLITS.get(config.data, ("test",))


def score_splits(
    trainer: Trainer, alpha: float, splits: Sequence[str]
) -> tuple[dict, dict]:
    """Translate splits by greedy decoding and by beam search, and score them.

    Args:
        trainer: Has the model, in eval mode.
        alpha: α of the length penalty.
        splits: Names of splits of its data.

    Returns:
        Scores and hypotheses, both by split and decoding method.
    """
    model, subwords = trainer.model, trainer.subwords
    scores: dict = {}
    hypotheses: dict = {}
    for split in splits:
        source, references = load_texts(trainer.config, split)
        scores[split], hypotheses[split] = {}, {}
        for name, width in METHODS.items():
            outputs = beam_translate(model, subwords, source, width, alpha)
            hypotheses[split][name] = outputs
            for case, lowercase in (("cased", False), ("lowercased", True)):
                score = corpus_scores(outputs, references, lowercase)
                scores[split][f"{name}, {case}"] = score._asdict()
    return scores, hypotheses


def run_facts(trainer: Trainer) -> dict:
    """The machine and versions of a run, and the time and memory that it took."""
    log = read_metrics(trainer.folder / "metrics.jsonl")
    speeds = [line["tokens_per_second"] for line in log if "tokens_per_second" in line]
    return {
        "machine": machine(trainer.device),
        "commit": commit(),
        "precision": str(trainer.precision).removeprefix("torch."),
        "processes": trainer.processes.world,
        "versions": {
            "python": platform.python_version(),
            **{name: version(name) for name in ("torch", "tokenizers", "sacrebleu")},
        },
        "parameters": (parameters := count_parameters(trainer.model))["all"],
        "parameters_without_tables": parameters["without_tables"],
        "updates": trainer.step,
        "epochs": trainer.epoch,
        "seconds": round(trainer.seconds),
        "tokens_per_second": round(statistics.median(speeds)),
        "peak_memory_mb": round(trainer.peak_memory / 2**20),
    }
