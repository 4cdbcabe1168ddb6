"""The cost of a decoding step, with and without a key-value cache."""

from __future__ import annotations

import time
from collections.abc import Callable
from functools import partial
from statistics import median

import torch
from torch import Tensor

from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from experiments.registry import experiment

VOCAB_SIZE = 37_000  # about that of the paper's English-German model
SOURCE_LENGTH = 32
LENGTHS = (1, 32, 64, 128, 256)
BATCHES = (1, 8, 32)
REPEATS = 9


@torch.no_grad()
@experiment
def decode_cost() -> dict:
    """Time token n after n − 1 tokens: the paper's base model with random weights.

    Returns:
        "parameters"; "source": length of the sources; "cached" and "recomputed": for
        each batch size the median milliseconds of token n, by n; "cache_mb": size of
        the cache, by batch size and n. Recomputing is timed for batch size 1:
        "recomputed" computes logits of the last token only, as a step does;
        "recomputed_all_logits" of every token.
    """
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(VOCAB_SIZE)).eval()
    cached = {str(b): _cached(model, b) for b in BATCHES}
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "source": SOURCE_LENGTH,
        "repeats": REPEATS,
        "cached": {b: times for b, (times, _) in cached.items()},
        "cache_mb": {b: sizes for b, (_, sizes) in cached.items()},
        "recomputed": {"1": _recomputed(model, partial(last_logits, model))},
        "recomputed_all_logits": {"1": _recomputed(model, model.decode)},
    }


def last_logits(
    model: Transformer, tokens: Tensor, memory: Tensor, mask: Tensor
) -> Tensor:
    """Decode all tokens again, with the output layer at the last position only."""
    hook = model.out.register_forward_pre_hook(lambda _, args: args[0][:, -1:])
    try:
        return model.decode(tokens, memory, mask)
    finally:
        hook.remove()


def _cached(model: Transformer, b: int) -> tuple[dict, dict]:
    """Milliseconds and megabytes at each length, with the cache."""
    src, tokens = _ids(b, SOURCE_LENGTH), _ids(b, max(LENGTHS))
    state = model.start(src)
    times, sizes = {}, {}
    for n in range(1, max(LENGTHS) + 1):
        token, before = tokens[:, n - 1], state
        _, state = model.step(token, before)
        if n in LENGTHS:
            # A state is never modified, so the same step can be repeated.
            times[str(n)] = _milliseconds(lambda: model.step(token, before))  # noqa: B023
            sizes[str(n)] = round(_megabytes(state), 2)
    return times, sizes


def _recomputed(model: Transformer, decode: Callable[..., Tensor]) -> dict:
    """Milliseconds at each length, with all previous tokens recomputed."""
    src, tokens = _ids(1, SOURCE_LENGTH), _ids(1, max(LENGTHS))
    memory, mask = model.encode(src), key_mask(src)
    return {
        str(n): _milliseconds(lambda: decode(tokens[:, :n], memory, mask))  # noqa: B023
        for n in LENGTHS
    }


def _ids(b: int, length: int) -> Tensor:
    return torch.randint(4, VOCAB_SIZE, (b, length))


def _megabytes(state: TransformerState) -> float:
    kept = (kv for layer in state.layers for part in layer for kv in part)
    return sum(x.numel() * x.element_size() for x in kept) / 1e6


def _milliseconds(call: Callable[[], object]) -> float:
    """Median processor time of a call; unlike wall-clock time, without other load."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(1000 * (time.process_time() - start))
    return round(median(times), 2)
