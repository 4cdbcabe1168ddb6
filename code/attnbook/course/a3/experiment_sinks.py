"""A trained decoder that keeps only a window of its past, with and without a sink."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.course.ch06.experiment_mask_at_inference import batches
from attnbook.course.kit.experiments import experiment
from attnbook.data.batching import Batch
from attnbook.models.transformer import Transformer
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import causal_mask, key_mask
from attnbook.nn.windows import window_mask
from attnbook.translation.corpora import load_texts
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator

KEPT = (4, 6, 8)  # positions in the cache
MaskOf = Callable[[int], Tensor]  # number of positions → (T, T)


@torch.no_grad()
def masked_loss(model: Transformer, data: Sequence[Batch], mask_of: MaskOf) -> float:
    """Loss per token under teacher forcing, with another mask in self-attention."""
    total, number = 0.0, 0
    for batch in data:
        source_mask = key_mask(batch.src)
        memory = model.encode(batch.src, source_mask)  # (B, S, D)
        y = model.positions(model.target_embedding(batch.tgt_in))  # (B, T, D)
        mask = key_mask(batch.tgt_in) & mask_of(batch.tgt_in.shape[1])
        for layer in model.decoder:
            y = layer(y, memory, mask, source_mask)
        logits = model.out(model.decoder_norm(y))  # (B, T, V)
        tokens = int((batch.tgt_out != PAD).sum())
        total += tokens * token_loss(logits, batch.tgt_out).item()
        number += tokens
    return total / number


def keep_one(t: int, window: int, position: int) -> Tensor:
    """A window, and besides it one position for all that come after it: (T, T)."""
    mask = window_mask(t, window)
    mask[position:, position : position + 1] = True
    return mask


@experiment
def sinks() -> dict:
    """Give the translator's decoder a window, and measure its loss on validation data.

    Returns:
        "full", the loss with all positions; "runs": for each number of "kept" positions
        the loss with a "window" alone, with the first position, ``BOS``, as a "sink",
        and with the second position, the first word, as a control: "word"; "length",
        the mean number of positions.
    """
    translator = Translator()
    val = load_texts(translator.config, "val")
    data = batches(encode_pairs(translator.subwords, val))
    model = translator.model
    full, runs = masked_loss(model, data, causal_mask), []
    for kept in KEPT:
        masks: dict[str, MaskOf] = {
            "window": lambda t, kept=kept: window_mask(t, kept),
            "sink": lambda t, kept=kept: window_mask(t, kept - 1, sinks=1),
            "word": lambda t, kept=kept: keep_one(t, kept - 1, position=1),
        }
        found = {
            name: round(masked_loss(model, data, m), 4) for name, m in masks.items()
        }
        runs.append({"kept": kept, **found})
        print(f"  {runs[-1]}", flush=True)
    real = [(batch.tgt_out != PAD).sum(1) for batch in data]
    length = torch.cat(real).float().mean().item()
    return {
        "sentences": len(val.source),
        "length": round(length, 1),
        "full": round(full, 4),
        "runs": runs,
    }
