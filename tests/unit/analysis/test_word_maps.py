"""Subwords merged into words: which belong together, and what their weights are."""

import torch
from compare import close

from attnbook.analysis.word_maps import word_groups, word_weights

PIECES = ["▁A", "▁red", "dish", "▁dog", "'", "s", "▁ball", ".", "<eos>"]


def test_a_word_goes_on_until_a_space_or_a_mark():
    groups = word_groups(PIECES)
    assert groups == [[0], [1, 2], [3], [4], [5], [6], [7], [8]]
    assert word_groups([]) == []


def test_a_space_belongs_to_what_follows_it():
    assert word_groups(["▁", "(", "so", "▁", "<unk>", "<eos>"]) == [
        *([0, 1], [2], [3, 4], [5]),
    ]


def test_columns_are_summed_and_rows_averaged():
    g = torch.Generator().manual_seed(0)
    weights = torch.rand(3, 4, generator=g, dtype=torch.float64).softmax(-1)
    target, source = ["▁Ha", "llo", "<eos>"], ["▁He", "llo", "▁you", "<eos>"]
    merged, rows, columns = word_weights(weights, target, source)
    assert (rows, columns) == (["Hallo", "<eos>"], ["Hello", "you", "<eos>"])
    by_hand = [
        [(weights[t, 0] + weights[t, 1]), weights[t, 2], weights[t, 3]]
        for t in range(3)
    ]
    first = [(a + b) / 2 for a, b in zip(*by_hand[:2], strict=True)]
    close(merged, torch.tensor([first, by_hand[2]]))
    close(merged.sum(-1), torch.ones(2, dtype=torch.float64))
