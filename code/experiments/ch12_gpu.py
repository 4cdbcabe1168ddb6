"""Chapter 12: the models that a GPU trained, scored next to the CPU's.

The stored runs and speeds themselves, ``gpu_runs``, were imported by an older state of
this repository: ``git checkout gpu-runs``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import torch
from torch import nn

from attnbook.data.subwords import Subwords
from attnbook.decoding.ensemble import Ensemble
from attnbook.translation.bleu_score import corpus_scores, paired_bootstrap
from attnbook.translation.configs import from_json
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import bleu_by_alpha
from attnbook.translation.moses import detokenised
from attnbook.translation.report import (
    BEAM_WIDTH,
    check_may_test,
    score_splits,
    test_splits,
)
from attnbook.translation.translator import Translator
from experiments.ch12_scores import RUN_VARIABLE, by_length
from experiments.registry import experiment

SCORED = ("en_de", "de_en", "published", "distilled", "distilled_de_en")
"""Parts of the runs, which have frozen recipes and are scored on the test sets."""


@experiment
def gpu_scores() -> dict:
    """Score the models of those runs on the test sets, once nothing more is chosen.

    Reads the folder named by ``ATTNBOOK_RUN``, by default ``runs/gpu``: by part, the
    folder of each run.

    Returns:
        By part and run BLEU and chrF, by test set, decoding and case. A model of
        tokenised text is scored on it, as its authors did, and on the validation split,
        too; "detokenised" are scores of the same translations on plain lowercased text.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/gpu"))
    return {
        part: {path.name: scores_of(path) for path in sorted(folder.glob(f"{part}/*"))}
        for part in SCORED
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


def scores_of(run: Path) -> dict:
    """Scores of a run's model on the test sets, with the α that the run chose."""
    print(f"  {run}", flush=True)
    translator = Translator(run / "model")
    return scores_with(translator.model, translator)


def scores_with(model: nn.Module, translator: Translator) -> dict:
    """Scores of a model with a translator's subwords, config and α."""
    # A student was trained on a folder of texts; the tests are Multi30k's.
    config = replace(translator.config, data="multi30k", score_tests=True)
    check_may_test(config)
    alpha, splits = translator.facts["alpha"], test_splits(config)
    both = model, translator.subwords
    if not config.moses:
        return score_splits(*both, config, alpha, splits)[0]
    scores, outputs = score_splits(*both, config, alpha, ("val", *splits))
    plain = replace(config, moses=False, lowercase=False)
    for split, by_decoding in outputs.items():
        references = load_texts(plain, split).target
        for how, texts in by_decoding.items():
            texts = detokenised(texts, config.target)
            score = corpus_scores(texts, references, lowercase=True)
            scores[split][f"{how}, detokenised"] = score._asdict()
    return scores


@experiment
def gpu_ensemble() -> dict:
    """Let the three models of the published recipe translate together, scored once.

    Returns:
        As for each run in ``gpu_scores``.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/gpu"))
    seeds = [Translator(path / "model") for path in sorted(folder.glob("published/*"))]
    return scores_with(together(seeds), seeds[0])


@experiment
def rankings() -> dict:
    """Rank the same models' hypotheses in both ways, on validation data.

    Reads the runs of English to German in the folder named by ``ATTNBOOK_RUN``, by
    default ``runs/gpu``.

    Returns:
        By part and run BLEU (lowercased, on each model's own text) "per_token", and
        "by_alpha" of the length penalty.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/gpu"))
    return {
        part: {run.name: ranked(run) for run in sorted(folder.glob(f"{part}/*"))}
        for part in ("en_de", "published")
    }


def ranked(run: Path) -> dict:
    """Validation BLEU of a run's model, by what its hypotheses are ranked by."""
    print(f"  {run}", flush=True)
    translator = Translator(run / "model")
    texts = load_texts(replace(translator.config, score_tests=False), "val")
    score = partial(
        bleu_by_alpha,
        *(translator.model, translator.subwords, texts.source, texts.target),
        BEAM_WIDTH,
        lowercase=True,
    )
    (per_token,) = score(alphas=(1.0,), per_token=True).values()
    by_alpha = {str(alpha): round(bleu, 2) for alpha, bleu in score().items()}
    return {"per_token": round(per_token, 2), "by_alpha": by_alpha}


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
