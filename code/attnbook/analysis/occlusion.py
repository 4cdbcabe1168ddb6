"""Occlusion: how much does a prediction depend on a source word?

A word is taken away in two ways, hidden from the attention or replaced by another word.
The effect is the drop of log-probability in nats; 0.7 nats is half the probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.core.devices import model_device
from attnbook.models.bahdanau import Bahdanau, BahdanauState, EncodedSource
from attnbook.nn.precision import wide
from attnbook.toy.data import make_batch
from attnbook.toy.language import KINDS, Pair, _article, kind_of


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
    before = _log_p(model, [pair])[0]  # (T,)
    drops = before.new_full((len(before), len(pair.source) + 1), math.nan)
    for j in range(len(pair.source)):
        changed = [
            Pair(words, pair.target, pair.alignment) for words in word_swaps(pair, j)
        ]
        if changed:
            drops[:, j] = before - _log_p(model, changed).mean(0)
    return drops


def _log_p(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """Log-probability, (B, T), of each target word under teacher forcing."""
    src, tgt_in, tgt_out = make_batch(pairs, model_device(model))
    log_p = wide(model(src, tgt_in)).log_softmax(-1)  # (B, T, V)
    return log_p.gather(-1, tgt_out[..., None])[..., 0]


def word_swaps(pair: Pair, j: int) -> list[tuple[str, ...]]:
    """The source with each other word of the same kind at position j."""
    words = ["a" if word == "an" else word for word in pair.source]
    swaps = []
    for other in KINDS.get(kind_of(words[j]), ()):
        if other != words[j]:
            swap = [*words[:j], other, *words[j + 1 :]]
            swaps.append(tuple(map(_article, swap, [*swap[1:], "."])))
    return swaps
