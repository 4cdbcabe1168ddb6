"""The cost of global and local attention: scores, memory and time."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.course.kit.experiments import experiment
from attnbook.nn.local_attention import GlobalAlignment, MonotonicAlignment
from attnbook.nn.masks import masked_softmax

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
    """Local attention (local-m) by a mask: all scores are computed, most are discarded.

    Arguments and results are those of :func:`global_attention`.
    """
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
    """Count and time the attention of T = S steps, computed all at once.

    Returns:
        "counts": for each length the number of scores over all steps, and their size in
        bytes if all windows are stored equally wide. "runs": for each batch size,
        length and form the median time in seconds.
    """
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
    """Time the forms in turn, so that other load affects all of them alike."""
    g = torch.Generator().manual_seed(0)
    h, states = torch.randn(2, batch, length, WIDTH, generator=g)
    mask = torch.ones(batch, length, dtype=torch.bool)
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    for repeat in range(1 + REPEATS):
        for form, attend in FORMS.items():
            start = time.perf_counter()
            attend(h, states, mask)
            if repeat:  # the first warms up
                times[form].append(time.perf_counter() - start)
    return {form: float(f"{median(found):.3g}") for form, found in times.items()}
