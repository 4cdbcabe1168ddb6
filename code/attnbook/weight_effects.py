"""Does a weight tell what a Transformer's answer depends on? Take the word away.

As :mod:`attnbook.removal` does it for the model of Bahdanau et al.; losses are counted
in nats of log-probability.
"""

from __future__ import annotations

import math
from operator import ne

import torch
from torch import Tensor

from attnbook.batches import make_batch
from attnbook.maps import attention_maps
from attnbook.removal import swaps
from attnbook.toy_language import Pair
from attnbook.transformer import Transformer


@torch.no_grad()
def hiding_effects(model: Transformer, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), when source place j is hidden at step i, and no other.

    Hidden from the cross-attention, in all layers and heads; the encoder has read it.
    """
    src, tgt_in, tgt_out = make_batch([pair])
    steps, places = tgt_out.shape[1], src.shape[1]
    open_to = torch.ones(steps, places, steps, places, dtype=torch.bool)
    i, j = torch.arange(steps)[:, None], torch.arange(places)
    open_to[i, j, i, j] = False  # copy (i, j) hides place j at step i
    copies = steps * places
    memory = model.encode(src)
    hidden = model.decode(
        tgt_in.expand(copies, -1),
        memory.expand(copies, -1, -1),
        open_to.flatten(0, 1)[:, None],  # (T S, 1, T, S)
    )
    before = _log_p(model(src, tgt_in), tgt_out)[0]  # (T,)
    after = _log_p(hidden, tgt_out.expand(copies, -1)).view(steps, places, steps)
    return before[:, None] - after.diagonal(dim1=0, dim2=2).T  # (T, S)


def _log_p(logits: Tensor, right: Tensor) -> Tensor:
    """Log probability of each right word: (B, T, V), (B, T) → (B, T)."""
    return logits.log_softmax(-1).gather(-1, right[..., None])[..., 0]


@torch.no_grad()
def encoder_effects(model: Transformer, pair: Pair) -> Tensor:
    """How far the encoder's vector of place i moves when another word stands at j.

    Returns:
        (S, S), Euclidean; the mean over the other words of the kind that leave the
        article before them as it is. NaN where there is none, and at i = j, where the
        word itself is another.
    """
    src = make_batch([pair])[0]
    before, places = model.encode(src), src.shape[1]
    moved = torch.full((places, places), math.nan)
    for j in range(places - 1):  # the last is EOS
        changed = [
            Pair(words, pair.target, pair.alignment)
            for words in swaps(pair, j)
            if sum(map(ne, words, pair.source)) == 1  # no *a* became *an* as well
        ]
        if changed:
            after = model.encode(make_batch(changed)[0])  # (B, S, D)
            moved[:, j] = (after - before).norm(dim=-1).mean(0)
    return moved.fill_diagonal_(math.nan)


@torch.no_grad()
def encoder_weights(model: Transformer, pair: Pair) -> Tensor:
    """The encoder's weights, (S, S), the mean over its layers and heads."""
    src, tgt_in, _ = make_batch([pair])
    maps = attention_maps(model, src, tgt_in)
    found = [weights[0] for name, weights in maps.items() if name.startswith("encoder")]
    return torch.cat(found).mean(0)  # (L H, S, S) → (S, S)


def rank_correlation(one: Tensor, other: Tensor) -> float:
    """Spearman's: do two lists of numbers rise together? 1, 0: unrelated, -1.

    Args:
        one: (n,).
        other: (n,); equal numbers share the mean of their ranks.

    Returns:
        NaN where one of them is constant.
    """
    ranks = torch.stack([_ranks(one), _ranks(other)])  # (2, n)
    return torch.corrcoef(ranks)[0, 1].item()


def _ranks(numbers: Tensor) -> Tensor:
    """How many are smaller, and half of those that are equal."""
    smaller = (numbers < numbers[:, None]).sum(1)
    return smaller + (numbers == numbers[:, None]).sum(1) / 2


def agreement(weights: Tensor, effects: Tensor) -> tuple[float, float]:
    """How far weights tell the size of effects, over the places where both are known.

    A place that helps and one that disturbs both matter, so the sign is left out.

    Args:
        weights: (T, S).
        effects: (T, S), of either sign, NaN where unknown.

    Returns:
        The mean rank correlation of the rows, and the share of rows in which the
        largest weight lies on the largest effect.

    Raises:
        ValueError: If no row has two different weights and two different effects.
    """
    correlations, hits = [], []
    for weight, effect in zip(weights, effects.abs(), strict=True):
        known = ~effect.isnan()
        rho = rank_correlation(weight[known], effect[known])
        if not math.isnan(rho):
            correlations.append(rho)
            hits.append(weight[known].argmax() == effect[known].argmax())
    if not hits:
        raise ValueError("no row has an order: weights or effects are all the same")
    return sum(correlations) / len(correlations), sum(map(float, hits)) / len(hits)
