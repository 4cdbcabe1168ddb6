"""The leak detector: it finds who reacts to whom, in models whose answer is known."""

import torch
from compare import close, plain
from torch import nn

from attnbook.analysis.leaks import influence


def weigh(matrix):
    """A model whose output i is the sum of the inputs j, times entry (i, j)."""
    return lambda x: torch.einsum("ts,bsd->btd", matrix, x)


def test_influence_is_the_largest_change():
    matrix, x, other = plain(0, 3, 4), plain(0, 2, 4, 5), plain(1, 2, 4, 5)
    by_hand = matrix.abs() * (other - x).abs().amax((0, 2))
    close(influence(weigh(matrix), x, other), by_hand)


def test_one_number_a_position_is_enough_and_a_layer_norm_hides_no_change():
    """A constant, which it takes away, is none."""
    norm = nn.LayerNorm(5, elementwise_affine=False)
    found = influence(lambda x: norm(x)[..., 0], plain(0, 2, 4, 5))
    assert torch.equal(found > 0.01, torch.eye(4).bool())


def test_ids_are_replaced_with_others():
    embedding = nn.Embedding(9, 4)
    ids, other = torch.tensor([[4, 5, 6]]), torch.tensor([[4, 7, 8]])
    found = influence(lambda ids: embedding(ids).cumsum(1), ids, other)
    assert (found > 0).tolist() == [
        [False, False, False],
        [False, True, False],
        [False, True, True],
    ]
    assert ids.tolist() == [[4, 5, 6]]
    assert not found.requires_grad


def test_a_change_that_gives_nan_is_seen():
    x = plain(0, 1, 3, 2).abs()
    found = influence(torch.sqrt, x, -x)
    assert torch.equal(found.isnan(), torch.eye(3).bool())
