"""What does a window save? Scores, memory and time of global and local attention."""

from __future__ import annotations

import time
from collections.abc import Callable
from statistics import median

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.nn.local_attention import GlobalAlignment, MonotonicAlignment
from attnbook.nn.masks import masked_softmax

LENGTHS = (50, 100, 200, 500, 1000, 2000)
BATCHES = (1, 8)
WIDTH = 64  # H
HALF_WIDTH = 10  # D
REPEATS = 41


def global_attention(h: Tensor, states: Tensor, mask: Tensor) -> tuple[Tensor, Tensor]:
    """Global attention: every state is compared with every other.

    Args:
        h: Decoder states, (B, T, H).
        states: Encoder states, (B, S, H).
        mask: Real places, (B, S).

    Returns:
        Contexts, (B, T, H), and weights, (B, T, S).
    """
    weights = GlobalAlignment()(h @ states.transpose(1, 2), h, 0, mask)  # (B, T, S)
    return weights @ states, weights


def local_masked(
    h: Tensor, states: Tensor, mask: Tensor, half_width: int = HALF_WIDTH
) -> tuple[Tensor, Tensor]:
    """Local attention, local-m, as a mask: all scores are computed, most thrown away.

    Arguments and results are those of :func:`global_attention`.
    """
    scores = h @ states.transpose(1, 2)  # (B, T, S)
    weights = MonotonicAlignment(half_width)(scores, h, 0, mask)  # (B, T, S)
    return weights @ states, weights


def local_windowed(
    h: Tensor, states: Tensor, mask: Tensor, half_width: int = HALF_WIDTH
) -> tuple[Tensor, Tensor]:
    """Local attention, local-m, on the 2D + 1 places of each window and no others.

    Args:
        h: Decoder states, (B, T, H), no more of them than source places.
        states: Encoder states, (B, S, H).
        mask: Real places, (B, S).
        half_width: D.

    Returns:
        Contexts, (B, T, H), and weights, (B, T, 2D + 1): entry d of step t belongs to
        place t - D + d, and is 0 where there is no such place.

    Raises:
        ValueError: If there are more steps than source places.
    """
    if h.shape[1] > states.shape[1]:
        raise ValueError(
            f"{h.shape[1]} steps, but {states.shape[1]} source places; windows are cut "
            "for as many steps as there are places at most"
        )
    # Sentence by sentence: the windows of a whole batch would have to be copied.
    sentences = zip(h, states, mask, strict=True)
    looks = [_one_sentence(*sentence, half_width) for sentence in sentences]
    context, weights = zip(*looks, strict=True)
    return torch.stack(context), torch.stack(weights)


def _one_sentence(
    h: Tensor, states: Tensor, mask: Tensor, half_width: int
) -> tuple[Tensor, Tensor]:
    """One sentence: (T, H), (S, H), (S,) → (T, H), (T, 2D + 1)."""
    steps, places = len(h), 2 * half_width + 1
    margin = (half_width, half_width)
    states = F.pad(states, (0, 0, *margin))  # (S + 2D, H)
    near = states.unfold(0, places, 1)[:steps]  # (T, H, 2D + 1), a view
    inside = F.pad(mask, margin).unfold(0, places, 1)[:steps]  # (T, 2D + 1)
    scores = torch.einsum("th,thd->td", h, near)
    weights = masked_softmax(scores, inside)
    return torch.einsum("td,thd->th", weights, near), weights


FORMS: dict[str, Callable[[Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]] = {
    "global": global_attention,
    "local, masked": local_masked,
    "local, windowed": local_windowed,
}


def local_cost() -> dict:
    """Count and time one look at the source by each of T = S steps, all at once.

    Returns:
        "counts": for each length the scores that are needed, summed over the steps, and
        the bytes that they take where all windows are kept equally wide. "runs": for
        each batch size, length and form the median time in seconds.
    """
    runs = []
    with torch.inference_mode():
        for batch in BATCHES:
            for length in LENGTHS:
                for form, seconds in _race(batch, length).items():
                    about = dict(batch=batch, S=length, form=form)
                    runs.append({**about, "seconds": seconds})
                print(f"  batch {batch}, S = {length}", flush=True)
    counts = [count(length) for length in LENGTHS]
    return {"half_width": HALF_WIDTH, "width": WIDTH, "counts": counts, "runs": runs}


def count(length: int, half_width: int = HALF_WIDTH) -> dict:
    """How many scores S steps over S places need, and their bytes in float32."""
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


def _race(batch: int, length: int) -> dict[str, float]:
    """Time the forms in turn, so that a busy moment hits all of them alike."""
    g = torch.Generator().manual_seed(0)
    h, states = torch.randn(2, batch, length, WIDTH, generator=g)
    mask = torch.ones(batch, length, dtype=torch.bool)
    times: dict[str, list[float]] = {form: [] for form in FORMS}
    for repeat in range(1 + REPEATS):
        for form, look in FORMS.items():
            start = time.perf_counter()
            look(h, states, mask)
            if repeat:  # the first is for warming up
                times[form].append(time.perf_counter() - start)
    return {form: float(f"{median(found):.3g}") for form, found in times.items()}
