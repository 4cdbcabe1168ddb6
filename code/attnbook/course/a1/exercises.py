"""The exercises of appendix A1."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import register, wrong


def _words() -> list[tuple[Tensor, ...]]:
    """Ids, those chosen, a number from 0 to 1 for each, random words, id of [MASK]."""
    g = torch.Generator().manual_seed(0)
    ids, words = torch.randint(4, 39, (2, 3, 40), generator=g)
    chosen, kind = torch.rand(2, 3, 40, generator=g)
    return [(ids, chosen < 0.5, kind, words, 39)]


def _bert(ids: Tensor, chosen: Tensor, kind: Tensor, words: Tensor, mask_id: int):
    given = torch.where(chosen & (kind < 0.8), mask_id, ids)
    return torch.where(chosen & (kind >= 0.8) & (kind < 0.9), words, given)


def _everywhere(ids: Tensor, chosen: Tensor, kind: Tensor, words: Tensor, mask_id: int):
    given = torch.where(kind < 0.8, mask_id, ids)
    return torch.where((kind >= 0.8) & (kind < 0.9), words, given)


def _always_masked(
    ids: Tensor, chosen: Tensor, kind: Tensor, words: Tensor, mask_id: int
):
    return ids.masked_fill(chosen, mask_id)


def _never_unchanged(
    ids: Tensor, chosen: Tensor, kind: Tensor, words: Tensor, mask_id: int
):
    given = torch.where(chosen & (kind < 0.8), mask_id, ids)
    return torch.where(chosen & (kind >= 0.8), words, given)


register(
    "exa1_bert",
    reference=_bert,
    inputs=_words,
    hint="Three things can happen to a chosen word, and nothing to any other.",
    mistakes=wrong(
        _everywhere,
        "Words that were not chosen change as well.",
        _always_masked,
        "You replace every chosen word by [MASK]; 20 % get something else.",
        _never_unchanged,
        "From 0.9 on a chosen word stays as it is.",
    ),
)


def _prefix(t: int, p: int) -> Tensor:
    i = torch.arange(t)
    return (i <= i[:, None]) | (i < p)


def _causal(t: int, p: int) -> Tensor:
    i = torch.arange(t)
    return i <= i[:, None]


def _full_rows(t: int, p: int) -> Tensor:
    i = torch.arange(t)
    return (i <= i[:, None]) | (i[:, None] < p)


def _one_too_many(t: int, p: int) -> Tensor:
    i = torch.arange(t)
    return (i <= i[:, None]) | (i <= p)


register(
    "exa1_prefix",
    reference=_prefix,
    inputs=lambda: [(6, 3), (4, 1), (5, 5)],
    hint="Begin with the causal mask, and add the columns of the prompt.",
    mistakes=wrong(
        _causal,
        "That is the causal mask: tokens of the prompt miss those after them.",
        _full_rows,
        "Tokens of the prompt attend to tokens after the prompt.",
        _one_too_many,
        "The prompt has p tokens, at positions 0 to p - 1.",
    ),
)


def _valid(translations: list[list[str]]) -> float:
    total = 0.0
    for words in translations:
        p = 1.0
        for t, word in enumerate(words):
            p *= sum(other[t] == word for other in translations) / len(translations)
        total += p
    return total


register(
    "exa1_valid",
    reference=_valid,
    inputs=lambda: [
        ([["a", "b"], ["b", "a"]],),
        ([["a", "b", "c"]],),
        ([["a", "b", "v"], ["b", "a", "v"], ["a", "a", "v"]],),
        ([["a", "b", "c", "d", "v"], ["c", "d", "a", "b", "v"]],),
    ],
    hint="First one output: what is its probability, position by position?",
    mistakes=wrong(
        lambda translations: _valid(translations) / len(translations),
        "Any of the translations will do: add their probabilities up.",
        lambda translations: (
            len(translations) * len(translations) ** -float(len(translations[0]))
        ),
        "Where translations agree on a word, its probability is larger.",
    ),
)
