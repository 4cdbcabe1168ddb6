"""What does a prediction lose without a source word? Two ways to take a word away.

Losses are counted in nats of log-probability: 0.7 nats is half the probability.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.bahdanau import Bahdanau, BahdanauState, Source
from attnbook.batches import make_batch
from attnbook.toy_language import ADJECTIVES, DETERMINERS, NOUNS, VERBS, Pair


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
        "hidden": hiding_effects(model, pair),
        "replaced": replacing_effects(model, pair),
    }


@torch.no_grad()
def hiding_effects(model: Bahdanau, pair: Pair) -> Tensor:
    """Drop of log p, (T, S), when place j is hidden at step i, and at no other.

    The rest share its weight; the state before the step is what it was.
    """
    src, tgt_in, tgt_out = make_batch([pair])
    n = src.shape[1]
    others = ~torch.eye(n, dtype=torch.bool)  # (S, S): row j allows all but place j
    state, drops = model.start(src), []
    for token, right in zip(tgt_in[0], tgt_out[0], strict=True):
        states, keys, _ = state.source
        source = Source(states.expand(n, -1, -1), keys.expand(n, -1, -1), others)
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
    before = _log_p(model, [pair])[0]  # (T,)
    drops = torch.full((len(before), len(pair.source) + 1), math.nan)
    for j in range(len(pair.source)):
        changed = [Pair(words, pair.target, pair.alignment) for words in swaps(pair, j)]
        if changed:
            drops[:, j] = before - _log_p(model, changed).mean(0)
    return drops


def _log_p(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """Log probability of each right word, (B, T), given the right ones before it."""
    src, tgt_in, tgt_out = make_batch(pairs)
    log_p = model(src, tgt_in).log_softmax(-1)  # (B, T, V)
    return log_p.gather(-1, tgt_out[..., None])[..., 0]


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
