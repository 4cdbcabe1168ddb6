"""Appendix A1: which training makes a model that writes?"""

from __future__ import annotations

import torch

from attnbook.core.vocabulary import EOS
from attnbook.course.a1.writing import (
    CLAUSES,
    LONGEST_SENTENCE,
    MASK,
    SHARE,
    STEPS,
    TokenModel,
    correct,
    gap_batches,
    next_words,
    one_gap_batches,
    train,
    write,
    write_between,
)
from attnbook.decoding.steps import token_log_probs
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE, held_out_pairs
from attnbook.toy.language import kind_of
from experiments.registry import sweep

# Which training makes a model that writes? Gaps, cut texts, next words; two masks

NUMBER = 500  # texts that each model writes
FEW = 20  # steps on cut texts in which a model that fills gaps learns to write
LONGER = 1500  # steps
OTHER_TEXTS = 100  # added to the seed: these steps are not on the texts seen before


@sweep(seed=range(9), steps=STEPS, few=FEW, texts=NUMBER, share=SHARE)
def writers(seed: int) -> dict[str, float]:
    """Let models write that differ in what they were trained on, and in their mask.

    Returns:
        The share of sentences among the texts written: by the model that fills "gaps";
        by the same weights under the causal mask ("gaps_asked_causal"), where length
        and end are given ("gaps_between"), or where gaps follow up to the greatest
        length ("gaps_followed"); by models trained with one gap in whole texts
        ("one_gap") or in texts cut after the gap ("cut"); with gaps under the causal
        mask ("gaps_causal"); with the next word at all positions ("next") or at one of
        each text ("next_one"); after few steps on cut texts by a new model ("few_new"),
        and by one that begins with the word vectors ("few_vectors") or all weights
        ("few_all") of the model that fills gaps.
        "kinds": how often the latter's best guess for a hidden word has the right kind,
        in whole held-out sentences.
    """
    reader = train(key_mask, gap_batches(seed), seed)
    found = {"kinds": right_kinds(reader), **asked_in_three_ways(reader)}
    reader.mask_of = target_mask
    found["gaps_asked_causal"] = correct(write(reader, NUMBER))
    asked = {
        "one_gap": train(key_mask, one_gap_batches(seed), seed),
        "cut": train(key_mask, one_gap_batches(seed, cut=True), seed),
        "gaps_causal": train(target_mask, gap_batches(seed), seed),
        **after_few_steps(seed, reader),
    }
    next_word = {
        "next": train(target_mask, next_words(seed), seed),
        "next_one": train(target_mask, next_words(seed, one=True), seed),
    }
    found |= {name: correct(write(model, NUMBER)) for name, model in asked.items()}
    found |= {n: correct(write(m, NUMBER, ask=None)) for n, m in next_word.items()}
    return {name: round(share, 4) for name, share in found.items()}


@sweep(seed=range(9), steps=LONGER, texts=NUMBER, share=SHARE)
def writers_longer(seed: int) -> dict[str, float]:
    """Train the model that fills gaps for five times the steps; see :func:`writers`."""
    reader = train(key_mask, gap_batches(seed), seed, LONGER)
    found = {"kinds": right_kinds(reader), **asked_in_three_ways(reader)}
    return {name: round(share, 4) for name, share in found.items()}


def asked_in_three_ways(reader: TokenModel) -> dict[str, float]:
    """What a model that fills gaps writes: see :func:`writers`."""
    followed = write_between(reader, [LONGEST_SENTENCE] * NUMBER, ends=False)
    return {
        "gaps": correct(write(reader, NUMBER)),
        "gaps_between": correct(write_between(reader, lengths())),
        "gaps_followed": correct(followed),
    }


def after_few_steps(seed: int, reader: TokenModel) -> dict[str, TokenModel]:
    """Models after few steps on cut texts, by what they begin with."""
    begin = {"few_new": {}, "few_vectors": {"W_e": reader.W_e}}
    begin["few_all"] = reader.state_dict()
    return {
        name: train(
            key_mask,
            one_gap_batches(seed + OTHER_TEXTS, cut=True),
            seed,
            FEW,
            weights,
        )
        for name, weights in begin.items()
    }


def lengths() -> list[int]:
    """Numbers of words of held-out sentences, half of them with one clause."""
    pairs = [
        pair for n in CLAUSES for pair in held_out_pairs(n, NUMBER // len(CLAUSES))
    ]
    return [len(pair.source) for pair in pairs]


@torch.no_grad()
def right_kinds(model: TokenModel) -> float:
    """How often the best guess for one hidden word is a word of the right kind."""
    right = number = 0
    for pair in (pair for n in CLAUSES for pair in held_out_pairs(n, 100)):
        ids = torch.tensor([*SOURCE.encode(pair.source), EOS])
        hidden = torch.eye(len(ids), dtype=torch.bool)[:-1]  # (T, T + 1)
        logits = model(ids.masked_fill(hidden, MASK))[hidden]  # (T, V)
        best = [SOURCE.words[i] for i in token_log_probs(logits[:, :MASK]).argmax(-1)]
        right += sum(map(same_kind, best, pair.source))
        number += len(pair.source)
    return right / number


def same_kind(one: str, other: str) -> bool:
    """Whether two words have the same kind; *and* has one of its own."""
    return one == other or kind_of(one) == kind_of(other) is not None
