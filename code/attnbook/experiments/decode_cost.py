"""What a word costs in decoding, with kept keys and values and without."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch

from attnbook.masks import key_mask
from attnbook.transformer import Transformer, TransformerState

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
        sentence alone.
    """
    torch.manual_seed(0)
    model = Transformer(VOCABULARY).eval()
    cached = {str(b): _cached(model, b) for b in BATCHES}
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "source": SOURCE_LENGTH,
        "repeats": REPEATS,
        "cached": {b: times for b, (times, _) in cached.items()},
        "cache_mb": {b: sizes for b, (_, sizes) in cached.items()},
        "recomputed": {"1": _recomputed(model)},
    }


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


def _recomputed(model: Transformer) -> dict:
    """Milliseconds at each length, all words before it computed again."""
    src, words = _ids(1, SOURCE_LENGTH), _ids(1, max(LENGTHS))
    memory, mask = model.encode(src), key_mask(src)
    return {
        str(n): _milliseconds(lambda: model.decode(words[:, :n], memory, mask))  # noqa: B023
        for n in LENGTHS
    }


def _ids(b: int, length: int) -> torch.Tensor:
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
