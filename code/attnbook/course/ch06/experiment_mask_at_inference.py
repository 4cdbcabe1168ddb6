"""A decoder that recomputes its prefix at every step, with and without causal mask."""

from __future__ import annotations

import copy
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.bug_zoo import CausalInTraining
from attnbook.core.vocabulary import PAD
from attnbook.course.kit.experiments import experiment
from attnbook.data.batching import Batch, IdPair, id_batch
from attnbook.models.transformer import Transformer
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask
from attnbook.toy.data import held_out_pairs, make_batch
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import load_toy_model
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator

CLAUSES = 4  # of the sentences of the toy language
BATCH_SIZE = 64


class Prefix(NamedTuple):
    """What :class:`Recomputing` carries from step to step: no keys and no values."""

    ids: Tensor  # (B, t)  the target tokens so far
    memory: Tensor  # (B, S, D)
    source_mask: Tensor  # (B, 1, 1, S)


class Recomputing(nn.Module):
    """Decodes without a cache: every step puts the whole prefix through the decoder."""

    def __init__(self, model: Transformer, causal: bool):
        super().__init__()
        self.model = copy.copy(model)  # the same weights
        if not causal:
            self.model.__class__ = CausalInTraining
        self.eval()

    def start(self, src: Tensor) -> Prefix:
        """Read the source, (B, S)."""
        mask = key_mask(src)  # (B, 1, 1, S)
        return Prefix(src[:, :0], self.model.encode(src, mask), mask)

    def step(self, token: Tensor, state: Prefix) -> tuple[Tensor, Prefix]:
        """Add a token, (B,), to the prefix; logits of the next, (B, V), and state."""
        ids = torch.cat([state.ids, token[:, None]], dim=1)  # (B, t)
        logits = self.model.decode(ids, state.memory, state.source_mask)  # (B, t, V)
        return logits[:, -1], state._replace(ids=ids)


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
    model = Recomputing(load_toy_model("transformer"), causal)
    outputs = greedy_translations(model, pairs)
    right = [out == pair.target for out, pair in zip(outputs, pairs, strict=True)]
    loss = stepwise_loss(model, [make_batch(pairs)])
    found = {"exact": round(sum(right) / len(right), 4), "loss": round(loss, 4)}
    return {"model": "toy", **found}, outputs


def _captions(causal: bool) -> tuple[dict, list]:
    """Captions from English to German: loss, BLEU and translations."""
    translator = Translator()
    val = load_texts(translator.config, "val")
    model = Recomputing(translator.model, causal)
    outputs = beam_translate(model, translator.subwords, val.source, width=1)
    pairs = encode_pairs(translator.subwords, val)
    loss = stepwise_loss(model, batches(pairs))
    score = corpus_bleu(outputs, val.target)
    found = {"bleu": round(score.bleu, 2), "loss": round(loss, 4)}
    return {"model": "captions", **found, "signature": score.signature}, outputs


def batches(pairs: Sequence[IdPair], size: int = BATCH_SIZE) -> list[Batch]:
    """Pairs in batches, sorted by the length of the target."""
    ordered = sorted(pairs, key=lambda pair: len(pair.target))
    groups = (ordered[i : i + size] for i in range(0, len(ordered), size))
    return [id_batch(group) for group in groups]
