"""A decoder that recomputes its prefix at every step, with and without causal mask."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sacrebleu.metrics import BLEU
from torch import nn

from attnbook.core.vocabulary import PAD
from attnbook.course.ch06.translators import Recomputing
from attnbook.data.batching import Batch, IdPair, id_batch
from attnbook.nn.losses import token_loss
from attnbook.toy.data import held_out_pairs, make_batch
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import load_toy_model
from attnbook.translation.bleu_score import corpus_bleu, paired_bootstrap
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.registry import experiment

CLAUSES = 4  # of the sentences of the toy language
BATCH_SIZE = 64


@torch.no_grad()
def stepwise_loss(model: nn.Module, batches: Sequence[Batch]) -> float:
    """Loss per target token if every step sees the correct tokens before it."""
    total, number = 0.0, 0
    for batch in batches:
        state, steps = model.start(batch.src), []
        for token in batch.tgt_in.unbind(1):
            logits, state = model.step(token, state)  # (B, V)
            steps.append(logits)
        tokens = int((batch.tgt_out != PAD).sum())
        total += tokens * token_loss(torch.stack(steps, 1), batch.tgt_out).item()
        number += tokens
    return total / number


@experiment
def mask_at_inference() -> dict:
    """Decode with two trained Transformers, with the causal mask and without it.

    Returns:
        "runs": for each model and mask the loss per token, in nats, with the correct
        tokens before; the share of "changed" translations, compared with those with
        the mask; and "exact", the share translated exactly (toy language), or "bleu"
        (captions, greedy decoding, on all validation sentences).
    """
    runs = []
    for measure in (_toy, _captions):
        kept = None
        for causal in (True, False):
            found, outputs = measure(causal)
            kept = kept or outputs
            changed = [a != b for a, b in zip(kept, outputs, strict=True)]
            found["changed"] = round(sum(changed) / len(changed), 4)
            runs.append({"causal": causal, "sentences": len(outputs), **found})
            print(f"  {runs[-1]}", flush=True)
    return {"clauses": CLAUSES, "runs": runs}


def _toy(causal: bool) -> tuple[dict, list]:
    """The toy language: loss, exact match and translations."""
    pairs = held_out_pairs(CLAUSES)
    model = load_toy_model("transformer")
    model = Recomputing(model, () if causal else range(len(model.decoder)))
    outputs = greedy_translations(model, pairs)
    right = [out == pair.target for out, pair in zip(outputs, pairs, strict=True)]
    loss = stepwise_loss(model, [make_batch(pairs)])
    found = {"exact": round(sum(right) / len(right), 4), "loss": round(loss, 4)}
    return {"model": "toy", **found}, outputs


def _captions(causal: bool) -> tuple[dict, list]:
    """Captions from English to German: loss, BLEU and translations."""
    translator = Translator()
    val = load_texts(translator.config, "val")
    bare = () if causal else range(len(translator.model.decoder))
    model = Recomputing(translator.model, bare)
    outputs = beam_translate(model, translator.subwords, val.source, width=1)
    pairs = encode_pairs(translator.subwords, val)
    loss = stepwise_loss(model, batches(pairs))
    score = corpus_bleu(outputs, val.target)
    found = {"bleu": round(score.bleu, 2), "loss": round(loss, 4)}
    return {"model": "captions", **found, "signature": score.signature}, outputs


LAYERS = {"none": (), "1": (0,), "2": (1,), "3": (2,), "4": (3,), "all": range(4)}
"""Which of the translator's four decoder layers lose their mask."""
FIRST, LAST = 200, 500  # of the validation captions


@experiment
def mask_by_layer() -> dict:
    """Drop the causal mask in single layers of the translator; look at BLEU's parts.

    Returns:
        "runs": for each choice of layers the BLEU of greedy decoding on 300 validation
        captions, its four "precisions" in %, the "length_ratio" to the references, the
        number of "changed" translations, and the "p_value" of the difference in BLEU
        to the intact model, by paired bootstrap.
    """
    translator = Translator()
    val = load_texts(translator.config, "val")
    english, german = val.source[FIRST:LAST], val.target[FIRST:LAST]
    kept, runs = None, []
    for name, bare in LAYERS.items():
        model = Recomputing(translator.model, bare)
        outputs = beam_translate(model, translator.subwords, english, width=1)
        kept = kept or outputs
        changed = sum(a != b for a, b in zip(kept, outputs, strict=True))
        found = {"changed": changed, **bleu_parts(outputs, german)}
        if changed:
            test = paired_bootstrap(kept, outputs, german)
            found["p_value"] = round(test.p_value, 4)
        runs.append({"layers": name, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"captions": len(english), "runs": runs}


def bleu_parts(outputs: Sequence[str], references: Sequence[str]) -> dict:
    """BLEU with its four precisions, in %, and the ratio of the lengths."""
    score = BLEU(force=True).corpus_score([*outputs], [[*references]])
    return {
        "bleu": round(score.score, 2),
        "precisions": [round(p, 1) for p in score.precisions],
        "length_ratio": round(score.sys_len / score.ref_len, 3),
        "brevity_penalty": round(score.bp, 3),
    }


def batches(pairs: Sequence[IdPair], size: int = BATCH_SIZE) -> list[Batch]:
    """Pairs in batches, sorted by the length of the target."""
    ordered = sorted(pairs, key=lambda pair: len(pair.target))
    groups = (ordered[i : i + size] for i in range(0, len(ordered), size))
    return [id_batch(group) for group in groups]
