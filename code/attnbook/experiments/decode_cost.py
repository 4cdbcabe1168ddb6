"""What a word costs in decoding, with kept keys and values and without."""

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

VOCABULARY = 37_000  # about that of the paper's English-German model
SOURCE_LENGTH = 32
LENGTHS = (1, 32, 64, 128, 256)
BATCHES = (1, 8, 32)
REPEATS = 9


@torch.no_grad()
def decode_cost() -> dict:
    """Time one more word after n − 1 words: the paper's base model, random weights.

    Returns:
        "parameters"; "source": length of the sources; "cached" and "recomputed": for
        each batch size the milliseconds of word n, a median, by n; "cache_mb": size of
        the keys and values kept, by batch size and n. Recomputing is timed for one
        sentence alone: "recomputed" makes logits of the last word only, as a step
        does; "recomputed_all_logits" of every word.
    """
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(VOCABULARY)).eval()
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
    model: Transformer, words: Tensor, memory: Tensor, mask: Tensor
) -> Tensor:
    """Decode all words again, but spare the output layer all places but the last.

    Args:
        model: Whose ``decode`` is called.
        words: Target ids, (B, T).
        memory: What the encoder returned, (B, S, D).
        mask: Of the source, (B, 1, 1, S).

    Returns:
        Logits, (B, 1, V).
    """
    hook = model.out.register_forward_pre_hook(lambda _, args: args[0][:, -1:])
    try:
        return model.decode(words, memory, mask)
    finally:
        hook.remove()


def _cached(model: Transformer, b: int) -> tuple[dict, dict]:
    """Milliseconds and megabytes at each length, with the cache."""
    src, words = _ids(b, SOURCE_LENGTH), _ids(b, max(LENGTHS))
    state = model.start(src)
    times, sizes = {}, {}
    for n in range(1, max(LENGTHS) + 1):
        token, before = words[:, n - 1], state
        _, state = model.step(token, before)
        if n in LENGTHS:
            # A state is never changed, so the same step can be taken again.
            times[str(n)] = _milliseconds(lambda: model.step(token, before))  # noqa: B023
            sizes[str(n)] = round(_megabytes(state), 2)
    return times, sizes


def _recomputed(model: Transformer, decode: Callable[..., Tensor]) -> dict:
    """Milliseconds at each length, all words before it computed again.

    Args:
        model: Encodes the source, which is not timed.
        decode: Called as ``decode(words, memory, mask)``.
    """
    src, words = _ids(1, SOURCE_LENGTH), _ids(1, max(LENGTHS))
    memory, mask = model.encode(src), key_mask(src)
    return {
        str(n): _milliseconds(lambda: decode(words[:, :n], memory, mask))  # noqa: B023
        for n in LENGTHS
    }


def _ids(b: int, length: int) -> Tensor:
    return torch.randint(4, VOCABULARY, (b, length))


def _megabytes(state: TransformerState) -> float:
    kept = (kv for layer in state.layers for part in layer for kv in part)
    return sum(x.numel() * x.element_size() for x in kept) / 1e6


def _milliseconds(do: Callable[[], object]) -> float:
    """Median over several runs, of processor time: others may share the machine."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        do()
        times.append(1000 * (time.process_time() - start))
    return round(median(times), 2)
