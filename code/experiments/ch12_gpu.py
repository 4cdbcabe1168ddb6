"""Chapter 12: the models that a GPU trained, scored next to the CPU's.

The stored runs and speeds themselves, ``gpu_runs``, were imported by an older state of
this repository: ``git checkout gpu-runs``.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from pathlib import Path

import torch
from torch import nn

from attnbook.data.subwords import Subwords
from attnbook.decoding.ensemble import Ensemble
from attnbook.translation.bleu_score import paired_bootstrap
from attnbook.translation.configs import from_json
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.ch12_scores import RUN_VARIABLE, by_length
from experiments.registry import experiment

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
