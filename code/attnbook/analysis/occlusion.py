"""What does a prediction lose without a source word? Two ways to take a word away.

Losses are counted in nats of log-probability: 0.7 nats is half the probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import ne

import torch
from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.models.bahdanau import Bahdanau, BahdanauState, EncodedSource
from attnbook.models.transformer import Transformer
from attnbook.toy.data import make_batch
from attnbook.toy.language import ADJECTIVES, DETERMINERS, NOUNS, VERBS, Pair


@torch.no_grad()
def removal_effects(model: Bahdanau, pair: Pair) -> dict[str, Tensor]:
    """How much less probable the right word becomes without source place j.

    Args:
        model: Trained.
        pair: A pair.

    Returns:
        "hidden" and "replaced", (T, S) each: the drop of log p of target word i, given
        the right words before it, when place j is hidden from the attention at that
        step alone, and when another word of its kind stands there from the start.
    """
    return {
        "hidden": bahdanau_hiding_effects(model, pair),
        "replaced": replacing_effects(model, pair),
    }


@torch.no_grad()
def bahdanau_hiding_effects(model: Bahdanau, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), when place j is hidden at step i, and at no other.

    The rest share its weight; the state before the step is what it was.
    """
    src, tgt_in, tgt_out = make_batch([pair])
    n = src.shape[1]
    others = ~torch.eye(n, dtype=torch.bool)  # (S, S): row j allows all but place j
    state, drops = model.start(src), []
    for token, right in zip(tgt_in[0], tgt_out[0], strict=True):
        states, keys, _ = state.source
        source = EncodedSource(states.expand(n, -1, -1), keys.expand(n, -1, -1), others)
        without = BahdanauState(state.s.expand(n, -1), source, state.weights)
        hurt, _ = model.step(token.expand(n), without)  # (S, V)
        logits, state = model.step(token[None], state)  # (1, V)
        drops.append((logits.log_softmax(-1) - hurt.log_softmax(-1))[:, right])
    return torch.stack(drops)


@torch.no_grad()
def replacing_effects(model: Bahdanau, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), when another word of its kind stands at place j.

    Mean over all other words of the kind; NaN where there is none, at *and* and EOS.
    """
    before = _log_p_of_pairs(model, [pair])[0]  # (T,)
    drops = torch.full((len(before), len(pair.source) + 1), math.nan)
    for j in range(len(pair.source)):
        changed = [Pair(words, pair.target, pair.alignment) for words in swaps(pair, j)]
        if changed:
            drops[:, j] = before - _log_p_of_pairs(model, changed).mean(0)
    return drops


def _log_p(logits: Tensor, right: Tensor) -> Tensor:
    """Log probability of each right word: (B, T, V), (B, T) → (B, T)."""
    return logits.log_softmax(-1).gather(-1, right[..., None])[..., 0]


def _log_p_of_pairs(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """The same, (B, T), for what a model predicts given the right words before."""
    src, tgt_in, tgt_out = make_batch(pairs)
    return _log_p(model(src, tgt_in), tgt_out)


def swaps(pair: Pair, j: int) -> list[tuple[str, ...]]:
    """The source with each other word of its kind at place j."""
    word = "a" if pair.source[j] == "an" else pair.source[j]
    kinds = (DETERMINERS, ADJECTIVES, NOUNS, VERBS)
    kind = next((kind for kind in kinds if word in kind), ())
    return [
        _with_articles([*pair.source[:j], other, *pair.source[j + 1 :]])
        for other in kind
        if other != word
    ]


def _with_articles(words: Sequence[str]) -> tuple[str, ...]:
    """Write *an* before a vowel and *a* before a consonant."""
    followers = [*words[1:], "."]
    return tuple(
        ("an" if after[0] in "aeiou" else "a") if word in ("a", "an") else word
        for word, after in zip(words, followers, strict=True)
    )


@torch.no_grad()
def transformer_hiding_effects(model: Transformer, pair: Pair) -> Tensor:
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
