"""The smallest model that attends, and what must hold in each way to know positions."""

import math

import pytest
import torch
from compare import agree, close, double, sentences
from torch import nn

from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import target_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions
from attnbook.nn.relative import RelativeAttention
from attnbook.toy.task_models import POSITION_KINDS, OneLayer, one_layer
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    previous_symbols,
    task_batches,
)
from attnbook.toy.training import fit

every_way = pytest.mark.parametrize("positions", POSITION_KINDS)


def model(positions, max_len=9, d=8, h=2, seed=0, **kwargs):
    """In float64, with weights large enough that places differ, biases too."""
    made = double(one_layer, positions, max_len, d, h, seed=seed, **kwargs)
    for parameter in made.parameters():
        nn.init.normal_(parameter, std=0.5)
    return made.eval()


def padded(left=False):
    """Sentences of 7, 4 and 1 words."""
    ids = sentences(0, [7, 4, 1], TASK_VOCAB_SIZE)
    return ids.flip(1) if left else ids


def test_it_is_made_of_its_parts():
    """Vectors, positions added, one attention, and answers: nothing else."""
    mha = double(MultiHeadAttention, 8, 2)
    layer = double(OneLayer, mha, SinusoidalPositions(8), vocab_size=12, n_answers=3)
    ids = sentences(0, [6, 4], 12)
    mask = target_mask(ids)
    x = SinusoidalPositions(8)(layer.embedding.weight[ids])
    found = mha(x, x, x, mask)  # (2, 6, 8)
    rows = layer.out.weight.view(3, 12, 8)  # K answers of V words
    by_hand = torch.einsum("bld,kvd->blkv", found, rows) + layer.out.bias.view(3, 12)
    parts = [*layer.parameters()]
    agree(layer(ids, mask), by_hand, parts)
    logits, weights = layer(ids, mask, need_weights=True)
    agree(logits, by_hand, parts)
    close(weights, mha(x, x, x, mask, need_weights=True)[1])
    assert set(dict(layer.named_children())) == {
        "embedding",
        "positions",
        "attention",
        "out",
    }


def test_without_positions_nothing_is_added():
    mha = double(MultiHeadAttention, 8, 2)
    layer = double(OneLayer, mha)
    ids = padded()
    x = layer.embedding(ids)
    by_hand = layer.out(mha(x, x, x))[:, :, None]
    close(layer(ids), by_hand)
    assert layer(ids).shape == (3, 7, 1, TASK_VOCAB_SIZE)


@pytest.mark.parametrize(
    ("positions", "attention", "added"),
    [
        ("none", MultiHeadAttention, nn.Identity),
        ("sinusoidal", MultiHeadAttention, SinusoidalPositions),
        ("learned", MultiHeadAttention, LearnedPositions),
        ("relative", RelativeAttention, nn.Identity),
        ("rotary", MultiHeadAttention, nn.Identity),
    ],
)
def test_each_way_has_its_part_and_no_other(positions, attention, added):
    made = one_layer(positions, 9, d_model=8, n_heads=4, n_answers=3)
    assert type(made.attention) is attention
    assert type(made.positions) is added
    assert (made.attention.d_model, made.attention.n_heads) == (8, 4)
    ids = padded()
    logits, weights = made(ids, need_weights=True)
    assert logits.shape == (3, 7, 3, TASK_VOCAB_SIZE)
    assert weights.shape == (3, 4, 7, 7)


def test_max_len_sets_the_table_and_the_largest_distance():
    assert one_layer("learned", 9).positions.table.shape == (9, 64)
    relative = one_layer("relative", 9).attention.relative
    assert relative.max_distance == 8
    assert relative.table.shape == (2, 17)


@every_way
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_keeps_its_type(positions, dtype):
    """A pad that sees nothing stays finite in each, gradients too."""
    made, ids = model(positions), padded(left=True)
    exact = made(ids, target_mask(ids))
    logits, weights = made.to(dtype)(ids, target_mask(ids), need_weights=True)
    assert logits.dtype == weights.dtype == dtype
    assert made(ids, target_mask(ids)).dtype == dtype
    # Some twenty roundings on the way, of numbers up to about the largest logit.
    allowed = 20 * torch.finfo(dtype).eps * exact.abs().max().item()
    close(logits.double(), exact, allowed)
    logits.float().square().mean().backward()
    assert all(p.grad.isfinite().all() for p in made.parameters())


def test_all_parts_learn():
    """One step of training reaches every parameter but PAD's vector and W^K's bias."""
    torch.manual_seed(0)
    made = one_layer("relative", 6, d_model=8)
    before = {name: p.detach().clone() for name, p in made.named_parameters()}
    losses = fit(
        made, task_batches(previous_symbols, 6, seed=0), steps=1, learning_rate=1e-2
    )
    assert losses[0] == pytest.approx(math.log(TASK_VOCAB_SIZE), abs=0.5)
    for name, p in made.named_parameters():
        if name != "attention.W_K.bias":  # its gradient is rounding and nothing else
            assert (p != before[name]).any(), name
    assert torch.equal(made.embedding.weight[PAD], before["embedding.weight"][PAD])


ids = torch.ones(2, 4, dtype=torch.int64)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: one_layer("absolute", 4),
            "'absolute'; choose one of none, sinusoidal, learned, relative, rotary",
        ),
        (lambda: one_layer("learned", 3)(ids), "0 … 3 .* rows 0 … 2; .*`max_len`"),
        (lambda: one_layer("learned", 0), "max_len is 0"),
        (lambda: one_layer("relative", 1), "max_distance is 0"),
        (lambda: one_layer("none", 4, n_answers=0), "n_answers is 0"),
        (lambda: OneLayer(MultiHeadAttention(8, 2), vocab_size=0), "vocab_size is 0"),
        (
            lambda: OneLayer(MultiHeadAttention(8, 2), SinusoidalPositions(7))(ids),
            r"x has shape \(2, 4, 8\).*\(B, T, 7\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
