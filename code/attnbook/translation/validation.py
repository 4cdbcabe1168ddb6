"""What a run is judged by after each epoch: its loss and translations of val."""

from __future__ import annotations

import math
import random
from collections.abc import Sequence

import torch
from torch import nn

from attnbook.core.devices import model_device
from attnbook.core.divergence import DivergedError
from attnbook.data.batching import (
    Batch,
    IdPair,
    id_batch,
    target_tokens,
    token_batches,
)
from attnbook.data.subwords import Subwords
from attnbook.nn.losses import label_smoothing_loss
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.corpora import Texts
from attnbook.translation.evaluation import beam_translate, runaway_share


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to a device; to a GPU asynchronously."""
    if device.type == "cuda":
        return Batch(*(ids.pin_memory().to(device, non_blocking=True) for ids in batch))
    return Batch(*(ids.to(device) for ids in batch))


@torch.no_grad()
def mean_loss(
    model: nn.Module, pairs: Sequence[IdPair], batch_tokens: int, when: str
) -> float:
    """Loss in nats per target token, without label smoothing and dropout.

    Args:
        model: It is in eval mode afterwards.
        pairs: Sentences and translations as ids.
        batch_tokens: Positions of a padded batch on each side.
        when: A phrase for the error.

    Raises:
        DivergedError: If it isn't finite.
    """
    model.eval()
    device = model_device(model)
    total = torch.zeros((), device=device)
    batches = token_batches(pairs, batch_tokens, random.Random(0))
    for pairs_of_batch in batches:
        batch = to_device(id_batch(pairs_of_batch), device)
        logits = model(batch.src, batch.tgt_in)
        total += label_smoothing_loss(logits, batch.tgt_out, smoothing=0.0).sum()
    loss = total.item() / target_tokens(batches)
    if not math.isfinite(loss):
        raise DivergedError(f"{when} the validation loss is {loss}")
    return loss


def score_greedy(
    model: nn.Module, subwords: Subwords, texts: Texts, batch_tokens: int
) -> dict[str, float]:
    """Translate greedily, and score the translations, as entries of a run's log."""
    outputs = beam_translate(
        model, subwords, texts.source, width=1, batch_tokens=batch_tokens
    )
    scores = corpus_scores(outputs, texts.target)
    return {
        "validation_bleu": scores.bleu,
        "validation_chrf": scores.chrf,
        "validation_length_ratio": scores.length_ratio,
        "validation_runaway": runaway_share(outputs, texts.target),
    }
