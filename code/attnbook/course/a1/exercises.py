"""The exercises of appendix A1."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import exercise


def _words() -> list[tuple[Tensor, ...]]:
    """Ids, those chosen, a number from 0 to 1 for each, random words, id of [MASK]."""
    g = torch.Generator().manual_seed(0)
    ids, words = torch.randint(4, 39, (2, 3, 40), generator=g)
    chosen, kind = torch.rand(2, 3, 40, generator=g)
    return [(ids, chosen < 0.5, kind, words, 39)]


@exercise(_words)
def exa1_bert(
    ids: Tensor, chosen: Tensor, kind: Tensor, words: Tensor, mask_id: int
) -> Tensor:
    """Three things can happen to a chosen word, and nothing to any other.

    chosen & (kind < 0.8) => kind < 0.8
    chosen & (kind >= 0.8) => (kind >= 0.8)
        Words that were not chosen change as well.
    chosen & (kind < 0.8) => chosen
    chosen & (kind >= 0.8) => (kind > 1)
        You replace every chosen word by [MASK]; 20 % get something else.
    & (kind < 0.9) =>
        From 0.9 on a chosen word stays as it is.
    """
    given = torch.where(chosen & (kind < 0.8), mask_id, ids)
    return torch.where(chosen & (kind >= 0.8) & (kind < 0.9), words, given)


@exercise(lambda: [(6, 3), (4, 1), (5, 5)])
def exa1_prefix(t: int, p: int) -> Tensor:
    """Begin with the causal mask, and add the columns of the prompt.

    | (i < p) =>
        That is the causal mask: tokens of the prompt miss those after them.
    (i < p) => (i[:, None] < p)
        Tokens of the prompt attend to tokens after the prompt.
    i < p => i <= p
        The prompt has p tokens, at positions 0 to p - 1.
    """
    i = torch.arange(t)
    return (i <= i[:, None]) | (i < p)


@exercise(
    lambda: [
        ([["a", "b"], ["b", "a"]],),
        ([["a", "b", "c"]],),
        ([["a", "b", "v"], ["b", "a", "v"], ["a", "a", "v"]],),
        ([["a", "b", "c", "d", "v"], ["c", "d", "a", "b", "v"]],),
    ]
)
def exa1_valid(translations: list[list[str]]) -> float:
    """First one output: what is its probability, position by position?

    return total => return total / n
        Any of the translations will do: add their probabilities up.
    return total => return n * n ** -float(len(words))
        Where translations agree on a word, its probability is larger.
    """
    total, n = 0.0, len(translations)
    for words in translations:
        p = 1.0
        for t, word in enumerate(words):
            p *= sum(other[t] == word for other in translations) / n
        total += p
    return total
