"""What attention costs: a training step by score and order, and local attention."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from functools import partial
from statistics import median, quantiles

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.nn.local_attention import GlobalAlignment, MonotonicAlignment
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import masked_softmax
from attnbook.nn.scores import SCORES
from attnbook.toy.data import SOURCE, TARGET, toy_batches
from experiments.registry import experiment


def time_in_turn(
    calls: Mapping[str, Callable[[], object]],
    repeats: int,
    clock: Callable[[], float],
) -> dict[str, list[float]]:
    """Seconds of each call; in turn, so that other load affects all of them alike."""
    times: dict[str, list[float]] = {name: [] for name in calls}
    for repeat in range(1 + repeats):
        for name, call in calls.items():
            start = clock()
            call()
            if repeat:  # the first warms up
                times[name].append(clock() - start)
    return times


# A training step with attention before or after the recurrent step

STEP_REPEATS = 101

MODELS: dict[str, Callable[[int, int], nn.Module]] = {
    "bahdanau": Bahdanau,
    **{
        f"{score}{', input feeding' if feeding else ''}": partial(
            Luong, score=score, input_feeding=feeding
        )
        for feeding in (False, True)
        for score in SCORES
    },
}


@experiment
def step_cost(repeats: int = STEP_REPEATS) -> dict:
    """Quartiles of the processor time of one step on 64 sentences of four clauses."""
    torch.manual_seed(0)
    models = {name: make(len(SOURCE), len(TARGET)) for name, make in MODELS.items()}
    batch = next(toy_batches(seed=0, clauses=(4,)))
    calls = {name: partial(one_step, model, batch) for name, model in models.items()}
    runs = []
    for name, times in time_in_turn(calls, repeats, time.process_time).items():
        quartiles = zip(("low", "median", "high"), quantiles(times, n=4), strict=True)
        run = {"model": name}
        run["parameters"] = sum(p.numel() for p in models[name].parameters())
        runs.append(run | {key: float(f"{seconds:.3g}") for key, seconds in quartiles})
    shape = {"B": len(batch.src), "S": batch.src.shape[1], "T": batch.tgt_in.shape[1]}
    return {"repeats": repeats, **shape, "runs": runs}


def one_step(model: nn.Module, batch: Batch) -> None:
    """One forward and backward pass."""
    model.zero_grad()
    token_loss(model(batch.src, batch.tgt_in), batch.tgt_out).backward()


# Global and local attention: scores, memory and time

LENGTHS = (50, 100, 200, 500, 1000, 2000)
BATCHES = (1, 8)
WIDTH = 64  # H
HALF_WIDTH = 10  # D
REPEATS = 41


def global_attention(h: Tensor, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Global attention: every decoder state is compared with every encoder state."""
    weights = GlobalAlignment()(h @ states.transpose(1, 2), h, 0, mask)  # (B, T, S)
    return weights @ states, weights


def local_masked(
    h: Tensor, states: Tensor, mask: Tensor, half_width: int = HALF_WIDTH
) -> tuple[Tensor, Tensor]:
    """Local attention (local-m) by a mask: all scores are computed, most discarded."""
    scores = h @ states.transpose(1, 2)  # (B, T, S)
    weights = MonotonicAlignment(half_width)(scores, h, 0, mask)  # (B, T, S)
    return weights @ states, weights


def local_windowed(
    h: Tensor, states: Tensor, mask: Tensor, half_width: int = HALF_WIDTH
) -> tuple[Tensor, Tensor]:
    """Local attention (local-m), computed on 2D + 1 positions of each window."""
    if h.shape[1] > states.shape[1]:
        raise ValueError(
            f"{h.shape[1]} steps, but {states.shape[1]} source positions; there may be "
            "at most as many steps as source positions"
        )
    # Sentence by sentence: the windows of a whole batch would have to be copied.
    sentences = zip(h, states, mask, strict=True)
    results = [_one_sentence(*sentence, half_width) for sentence in sentences]
    context, weights = zip(*results, strict=True)
    return torch.stack(context), torch.stack(weights)


def _one_sentence(
    h: Tensor, states: Tensor, mask: Tensor, half_width: int
) -> tuple[Tensor, Tensor]:
    """One sentence: (T, H), (S, H), (S,) → (T, H), (T, 2D + 1)."""
    steps, width = len(h), 2 * half_width + 1
    margin = (half_width, half_width)
    states = F.pad(states, (0, 0, *margin))  # (S + 2D, H)
    near = states.unfold(0, width, 1)[:steps]  # (T, H, 2D + 1), a view
    inside = F.pad(mask, margin).unfold(0, width, 1)[:steps]  # (T, 2D + 1)
    scores = torch.einsum("th,thd->td", h, near)
    weights = masked_softmax(scores, inside)
    return torch.einsum("td,thd->th", weights, near), weights


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "global": global_attention,
    "local, masked": local_masked,
    "local, windowed": local_windowed,
}


@experiment
def local_cost() -> dict:
    """Count and time the attention of T = S steps, computed all at once."""
    runs = []
    with torch.inference_mode():
        for batch in BATCHES:
            for length in LENGTHS:
                for form, seconds in _time_forms(batch, length).items():
                    about = dict(batch=batch, S=length, form=form)
                    runs.append({**about, "seconds": seconds})
                print(f"  batch {batch}, S = {length}", flush=True)
    counts = [count_scores(length) for length in LENGTHS]
    return {"half_width": HALF_WIDTH, "width": WIDTH, "counts": counts, "runs": runs}


def count_scores(length: int, half_width: int = HALF_WIDTH) -> dict:
    """Number of scores of S steps over S positions, and their bytes in float32."""
    everywhere = length * length
    windows = (
        min(t + half_width, length - 1) - max(t - half_width, 0) + 1
        for t in range(length)
    )
    return {
        "S": length,
        "global_scores": everywhere,
        "local_scores": sum(windows),
        "global_bytes": 4 * everywhere,
        "local_bytes": 4 * length * (2 * half_width + 1),
    }


def _time_forms(batch: int, length: int) -> dict[str, float]:
    g = torch.Generator().manual_seed(0)
    h, states = torch.randn(2, batch, length, WIDTH, generator=g)
    mask = torch.ones(batch, length, dtype=torch.bool)
    calls = {form: partial(attend, h, states, mask) for form, attend in FORMS.items()}
    times = time_in_turn(calls, REPEATS, time.perf_counter)
    return {form: float(f"{median(found):.3g}") for form, found in times.items()}
