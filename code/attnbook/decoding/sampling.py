"""Decoding by chance: temperature, top-k, top-p."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.steps import token_log_probs


@torch.no_grad()
def sample(
    model: nn.Module,
    src: Tensor,
    max_len: int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Tensor:
    """Draw each word from the model's distribution, until EOS.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``.
        src: Source ids, (B, S).
        max_len: Longest output, EOS included.
        generator: Where chance comes from; on the device of ``src``.
        temperature: As in :func:`word_probabilities`, and so the next two.
        top_k: How many words are drawn from.
        top_p: Share of probability that is drawn from.

    Returns:
        Target ids, (B, at most ``max_len``); ``PAD`` after EOS. ``PAD`` and ``BOS``
        are never drawn before it.

    Raises:
        ValueError: If ``max_len`` is less than 1, or one of the last three does not
            fit.
    """
    check_sizes(max_len=max_len)
    state = model.start(src)
    token = torch.full((len(src),), BOS, device=src.device)
    finished = torch.zeros_like(token, dtype=torch.bool)
    said = []
    while len(said) < max_len and not finished.all():
        logits, state = model.step(token, state)  # (B, V)
        p = word_probabilities(token_log_probs(logits), temperature, top_k, top_p)
        token = p.multinomial(1, generator=generator)[:, 0]  # (B,)
        token = token.masked_fill(finished, PAD)
        finished = finished | (token == EOS)
        said.append(token)
    return torch.stack(said, dim=1)


def word_probabilities(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Tensor:
    """Sharpen or flatten a distribution, and cut its unlikely words off.

    Args:
        logits: (..., V); log-probabilities are logits as well.
        temperature: What to divide them by: below 1 sharpens, above 1 flattens, near 0
            is greedy.
        top_k: Draw from the k most probable words alone (Fan et al. 2018); from all if
            not given.
        top_p: Draw from the fewest most probable words whose probabilities, after
            temperature and ``top_k``, reach this sum (Holtzman et al. 2020); 1: all.

    Returns:
        Probabilities, (..., V); those of what is left sum to 1.

    Raises:
        ValueError: If the temperature is not a number above 0, k not a whole number
            from 1 on, or p not above 0 and at most 1.
    """
    check_chance(temperature, top_k, top_p)
    # Without the largest first, a small temperature would make -inf of all.
    logits = logits - logits.amax(-1, keepdim=True)
    p = (logits / temperature).softmax(-1)
    p, order = p.sort(dim=-1, descending=True, stable=True)  # (..., V)
    if top_k is not None:
        p[..., top_k:] = 0
        p = p / p.sum(-1, keepdim=True)
    if top_p < 1:
        before = p.cumsum(-1) - p  # what the more probable words have together
        p = p.masked_fill(before >= top_p, 0)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


def check_chance(temperature: float, top_k: int | None, top_p: float) -> None:
    """Raise a ValueError that names the number that does not fit."""
    if not 0 < temperature < math.inf:
        raise ValueError(
            f"temperature is {temperature}; it must be a number above 0: for the most "
            "probable word alone take greedy decoding"
        )
    if top_k is not None:
        check_sizes(top_k=top_k)
    if not 0 < top_p <= 1:
        raise ValueError(
            f"top_p is {top_p}; it is a share of probability, above 0 and at most 1"
        )
