"""What reaches the last place: the model, its stacks and its two tasks."""

import pytest
import torch
from compare import close
from torch import nn

from attnbook.course.ch11.first_symbol import (
    LAYER_STACKS,
    LastPosition,
    contiguous_dilations,
    convolutions,
    exponential_dilations,
    first_symbol_batches,
)
from attnbook.nn.positions import sinusoids
from attnbook.nn.sequence_layers import SelfAttentionLayer
from attnbook.toy.task_models import InductionModel
from attnbook.toy.tasks import induction_batches, last_position_accuracy


def hears_the_first(layers, n, d=8):
    torch.manual_seed(0)
    model = LastPosition(layers, d).eval()
    vectors = []
    model.embedding.register_forward_hook(lambda *args: vectors.append(args[2]))
    logits = model(torch.ones(1, n, dtype=torch.long))
    (moved,) = torch.autograd.grad(logits.square().sum(), vectors[0])
    return bool((moved[0, 0] != 0).any())


@pytest.mark.parametrize("n", [2, 8, 9, 10, 27, 28])
def test_stacks_are_just_deep_enough(n):
    for stack in (contiguous_dilations(n), exponential_dilations(n)):
        assert hears_the_first(convolutions(8, stack), n)
        assert not hears_the_first(convolutions(8, stack[:-1]), n)


@pytest.mark.parametrize("kind", LAYER_STACKS)
def test_every_reader_hears_the_first(kind):
    assert hears_the_first(LAYER_STACKS[kind](12, 8), 12)


def test_a_model_is_what_its_docstring_says():
    torch.manual_seed(0)
    layer = SelfAttentionLayer(8, 2)
    model, ids = LastPosition([layer], 8), torch.tensor([[3, 1, 4]])
    x = model.embedding(ids) + sinusoids(3, 8)
    x = x + layer(nn.functional.layer_norm(x, (8,)))
    last = model.out(nn.functional.layer_norm(x[:, -1:], (8,)))
    close(model(ids), last, atol=1e-6)


def test_first_weights_keep_the_size_of_a_signal():
    torch.manual_seed(0)
    x = torch.randn(4, 50, 64)
    for layer in convolutions(64, [1] * 6):
        x = layer(x)
    assert 0.3 < x.square().mean().sqrt() < 3


def test_the_first_symbol_is_asked_for():
    ids, targets = next(first_symbol_batches(7, seed=0, batch_size=5))
    assert ids.shape == (5, 7)
    assert torch.equal(targets, ids[:, :1])


@pytest.mark.parametrize("n", [3, 12, 17])
def test_what_followed_is_asked_for(n):
    ids, targets = next(induction_batches(n, seed=0, batch_size=50))
    asked = set()
    for row, target in zip(ids.tolist(), targets[:, 0].tolist(), strict=True):
        assert len(row) == n
        assert len(set(row[:-1])) == n - 1  # all different, so one answer
        position = row.index(row[-1])
        assert position < n - 2
        assert row[position + 1] == target
        asked.add(position)
    assert asked == set(range(n - 2))  # each distance occurs


@pytest.mark.parametrize("n", [2, 18])
def test_followers_need_a_position_and_symbols(n):
    with pytest.raises(ValueError, match="from 3 to 17"):
        next(induction_batches(n, seed=0))


def test_a_position_holds_its_symbol_and_the_one_before():
    torch.manual_seed(0)
    model, ids = InductionModel(nn.Identity(), 8), torch.tensor([[5, 6, 7]])
    last = torch.cat([model.own.weight[7], model.previous.weight[6]])
    close(model(ids)[0, 0], model.out(last), atol=1e-6)


def test_share_right_is_of_the_batch():
    ids = torch.tensor([[1, 2], [3, 4], [5, 5], [2, 1]])
    model = lambda ids: nn.functional.one_hot(ids[:, -1:], 17).float()  # noqa: E731
    assert last_position_accuracy(model, (ids, ids[:, :1])) == 0.25


@pytest.mark.parametrize("dilations", [contiguous_dilations, exponential_dilations])
def test_a_convolution_that_sees_one_position_is_refused(dilations):
    with pytest.raises(ValueError, match=r"width is 1; .* take 2 or more"):
        dilations(5, width=1)


def test_an_odd_width_cannot_be_halved():
    with pytest.raises(ValueError, match="even"):
        InductionModel(nn.Identity(), 65)
