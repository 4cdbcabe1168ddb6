"""Sampling from the model's distribution: temperature, top-k, top-p."""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_logits, check_sizes
from attnbook.decoding.greedy_search import generate
from attnbook.nn.precision import wide

COLDEST = 2.0**-149
"""The least temperature, which is the least number above 0 in float32."""


def sample(
    model: nn.Module,
    src: Tensor,
    max_len: Tensor | Sequence[int] | int,
    generator: torch.Generator,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Tensor:
    """Sample each token from the model's distribution, until EOS.

    Args:
        model: As in :func:`~attnbook.decoding.greedy_search.generate`, as are the next
            two.
        src: Source ids, (B, S).
        max_len: Maximum length of the output, EOS included.
        generator: Source of randomness, on the device of ``src``.
        temperature: See :func:`token_probabilities`, also for the next two.
        top_k: Number of tokens to sample from.
        top_p: Probability mass to sample from.

    Returns:
        Target ids, (B, at most ``max_len``), as greedy decoding does.

    Raises:
        ValueError: If ``temperature``, ``top_k`` or ``top_p`` is out of range, or as
            greedy decoding.

    Examples:
        >>> from attnbook.decoding import sample
        >>> from attnbook.toy import SOURCE, load_toy_model
        >>> src = torch.tensor([SOURCE.encode("the old farmer sees a bird".split())])
        >>> generator = torch.Generator().manual_seed(0)
        >>> output = sample(load_toy_model("transformer"), src, 20, generator)
        >>> output.shape[1] <= 20  # (B, T)
        True
    """

    def choose(log_p: Tensor) -> Tensor:
        p = token_probabilities(log_p, temperature, top_k, top_p)  # (B, V)
        return p.multinomial(1, generator=generator)[:, 0]

    return generate(model, src, max_len, choose)


def token_probabilities(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float = 1.0,
) -> Tensor:
    """Apply a temperature, and cut off improbable tokens by top-k and top-p.

    Args:
        logits: (..., V); log-probabilities are logits too.
        temperature: Divides the logits: below 1 sharpens the distribution, above 1
            flattens it; near 0 sampling becomes greedy decoding.
        top_k: Keep the k most probable tokens (Fan et al. 2018); None keeps all.
        top_p: Keep the fewest most probable tokens whose probabilities, after
            temperature and ``top_k``, sum to at least this (nucleus sampling, Holtzman
            et al. 2020); 1 keeps all.

    Returns:
        Probabilities, (..., V); those of the tokens kept sum to 1.

    Raises:
        ValueError: If the temperature is not above 0, k is not a whole number from 1
            on, or p is not above 0 and at most 1; if logits are not finite.
    """
    check_sampling_options(temperature, top_k, top_p)
    check_logits(logits)
    # Subtract the maximum first: a small temperature could turn all logits into -inf.
    logits = wide(logits) - logits.amax(-1, keepdim=True)
    p = (logits / temperature).softmax(-1)
    p, order = p.sort(dim=-1, descending=True, stable=True)  # (..., V)
    if top_k is not None:
        p[..., top_k:] = 0
        p = p / p.sum(-1, keepdim=True)
    if top_p < 1:
        before = p.cumsum(-1) - p  # total probability of the more probable tokens
        p = p.masked_fill(before >= top_p, 0)
        p = p / p.sum(-1, keepdim=True)
    return torch.zeros_like(p).scatter(-1, order, p)


def check_sampling_options(temperature: float, top_k: int | None, top_p: float) -> None:
    """Raise a ValueError that names the first option out of range."""
    if not COLDEST <= temperature < math.inf:
        raise ValueError(
            f"temperature is {temperature}; it must be a number above 0: for the most "
            "probable token alone use greedy decoding"
        )
    if top_k is not None:
        check_sizes(top_k=top_k)
    if not 0 < top_p <= 1:
        raise ValueError(
            f"top_p is {top_p}; it is a probability mass, above 0 and at most 1"
        )
