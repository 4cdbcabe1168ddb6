"""Occlusion: how much does a prediction depend on a source word?

A word is taken away in two ways, hidden from the attention or replaced by another word.
The effect is the drop of log-probability in nats; 0.7 nats is half the probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from operator import ne

import torch
from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.core.devices import model_device
from attnbook.models.bahdanau import Bahdanau, BahdanauState, EncodedSource
from attnbook.models.transformer import Transformer
from attnbook.nn.precision import wide
from attnbook.toy.data import make_batch
from attnbook.toy.language import KINDS, Pair, kind_of


@torch.no_grad()
def bahdanau_hiding_effects(model: Bahdanau, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), if position j is masked at step i only.

    The other positions share its weight; the state before the step is unchanged.
    """
    src, tgt_in, tgt_out = make_batch([pair], model_device(model))
    n = src.shape[1]
    eye = torch.eye(n, dtype=torch.bool, device=src.device)
    others = ~eye  # (S, S): row j allows all but j
    state, drops = model.start(src), []
    for token, target in zip(tgt_in[0], tgt_out[0], strict=True):
        states, keys, _ = state.source
        source = EncodedSource(states.expand(n, -1, -1), keys.expand(n, -1, -1), others)
        without = BahdanauState(state.s.expand(n, -1), source, state.weights)
        masked_logits, _ = model.step(token.expand(n), without)  # (S, V)
        logits, state = model.step(token[None], state)  # (1, V)
        before, after = (
            wide(x).log_softmax(-1)[:, target] for x in (logits, masked_logits)
        )
        drops.append(before - after)
    return torch.stack(drops)


@torch.no_grad()
def replacing_effects(model: Bahdanau, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), if another word of its kind is at position j.

    Mean over all other words of the kind; NaN if there is none, at *and* and EOS.
    """
    before = _log_p_of_pairs(model, [pair])[0]  # (T,)
    drops = before.new_full((len(before), len(pair.source) + 1), math.nan)
    for j in range(len(pair.source)):
        changed = [
            Pair(words, pair.target, pair.alignment) for words in word_swaps(pair, j)
        ]
        if changed:
            drops[:, j] = before - _log_p_of_pairs(model, changed).mean(0)
    return drops


@torch.no_grad()
def context_changes(encoder: nn.Module, pair: Pair, parts: int = 1) -> Tensor:
    r"""How much the context changes, (S, parts), if another word of its kind is at j.

    Mean of :math:`\lVert c' - c \rVert / \lVert c \rVert` over all other words of the
    kind, for each of several equal parts of the context c; NaN if there is no other
    word, at *and* and EOS.

    Args:
        encoder: Turns ids, (B, S), into its states and a context, (B, C).
        pair: The sentence pair.
        parts: Number of parts; 2 for the two directions of a bidirectional encoder.
    """

    def context(sources: Sequence[tuple[str, ...]]) -> Tensor:  # (N, parts, C / parts)
        pairs = [Pair(words, pair.target, pair.alignment) for words in sources]
        _, c = encoder(make_batch(pairs, model_device(encoder)).src)
        return wide(c).unflatten(-1, (parts, -1))

    [before] = context([pair.source])  # (parts, C / parts)
    changes = before.new_full((len(pair.source) + 1, parts), math.nan)
    for j in range(len(pair.source)):
        if swaps := word_swaps(pair, j):
            distance = (context(swaps) - before).norm(dim=-1).mean(0)  # (parts,)
            changes[j] = distance / before.norm(dim=-1)
    return changes


def _log_p(logits: Tensor, targets: Tensor) -> Tensor:
    """Log-probability of each target word: (B, T, V), (B, T) → (B, T)."""
    return wide(logits).log_softmax(-1).gather(-1, targets[..., None])[..., 0]


def _log_p_of_pairs(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """The same, (B, T), for the predictions of a model under teacher forcing."""
    src, tgt_in, tgt_out = make_batch(pairs, model_device(model))
    return _log_p(model(src, tgt_in), tgt_out)


def word_swaps(pair: Pair, j: int) -> list[tuple[str, ...]]:
    """The source with each other word of the same kind at position j."""
    word = "a" if pair.source[j] == "an" else pair.source[j]
    return [
        _with_articles([*pair.source[:j], other, *pair.source[j + 1 :]])
        for other in KINDS.get(kind_of(word), ())
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
    """Drop of log p, (T, S), if position j is masked at step i only.

    It is masked in the cross-attention of all layers and heads; the encoder sees it.
    """
    src, tgt_in, tgt_out = make_batch([pair], model_device(model))
    steps, positions = tgt_out.shape[1], src.shape[1]
    mask = src.new_ones((steps, positions, steps, positions), dtype=torch.bool)
    i, j = torch.arange(steps)[:, None], torch.arange(positions)
    mask[i, j, i, j] = False  # copy (i, j) masks position j at step i
    copies = steps * positions
    memory = model.encode(src)
    hidden = model.decode(
        tgt_in.expand(copies, -1),
        memory.expand(copies, -1, -1),
        mask.flatten(0, 1)[:, None],  # (T S, 1, T, S)
    )
    before = _log_p(model(src, tgt_in), tgt_out)[0]  # (T,)
    after = _log_p(hidden, tgt_out.expand(copies, -1)).view(steps, positions, steps)
    return before[:, None] - after.diagonal(dim1=0, dim2=2).T  # (T, S)


@torch.no_grad()
def encoder_effects(model: Transformer, pair: Pair) -> Tensor:
    """Change of the encoder's output at i if another word is at position j.

    Returns:
        (S, S), Euclidean distances; the mean over the other words of the kind that do
        not change the article before them. NaN if there is none, and at i = j, where
        the word itself is changed.
    """
    src = make_batch([pair], model_device(model))[0]
    before, positions = wide(model.encode(src)), src.shape[1]
    changes = before.new_full((positions, positions), math.nan)
    for j in range(positions - 1):  # the last is EOS
        changed = [
            Pair(words, pair.target, pair.alignment)
            for words in word_swaps(pair, j)
            if sum(map(ne, words, pair.source)) == 1  # no *a* became *an* as well
        ]
        if changed:
            after = model.encode(make_batch(changed, src.device)[0])  # (B, S, D)
            changes[:, j] = (after - before).norm(dim=-1).mean(0)
    return changes.fill_diagonal_(math.nan)


@torch.no_grad()
def encoder_weights(model: Transformer, pair: Pair) -> Tensor:
    """The encoder's attention weights, (S, S), averaged over layers and heads."""
    src, tgt_in, _ = make_batch([pair], model_device(model))
    maps = attention_maps(model, src, tgt_in)
    found = [weights[0] for name, weights in maps.items() if name.startswith("encoder")]
    return torch.cat(found).mean(0)  # (L H, S, S) → (S, S)


def rank_correlation(one: Tensor, other: Tensor) -> float:
    """Spearman's rank correlation of two vectors, from -1 to 1.

    Args:
        one: (n,).
        other: (n,); ties get the mean of their ranks.

    Returns:
        NaN if one of them is constant, such as a single number.
    """
    if len(one) < 2:
        return math.nan
    ranks = torch.stack([_ranks(one), _ranks(other)])  # (2, n)
    return torch.corrcoef(ranks)[0, 1].item()


def _ranks(numbers: Tensor) -> Tensor:
    """For each number, how many are smaller, plus half of those that are equal."""
    smaller = (numbers < numbers[:, None]).sum(1)
    return smaller + (numbers == numbers[:, None]).sum(1) / 2


def agreement(weights: Tensor, effects: Tensor) -> tuple[float, float]:
    """Agreement of attention weights and effects, where both are known.

    Effects are compared by absolute value: a word that makes a prediction worse matters
    too.

    Args:
        weights: (T, S).
        effects: (T, S), positive or negative, NaN where unknown.

    Returns:
        The mean rank correlation of the rows, and the fraction of rows in which the
        largest weight and the largest effect are at the same position.

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
        raise ValueError("no row can be ranked: all weights or all effects are equal")
    return sum(correlations) / len(correlations), sum(map(float, hits)) / len(hits)
