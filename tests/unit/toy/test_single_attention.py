"""The smallest model that attends, and what must hold in each way to know positions."""

import math

import pytest
import torch
from compare import DEVICES, agree, close, double, sentences
from torch import nn

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import causal_mask, key_mask, target_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions
from attnbook.nn.relative import RelativeAttention
from attnbook.nn.rotary import RotaryAttention
from attnbook.toy.single_attention import POSITION_KINDS, OneLayer, one_layer
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    position_numbers,
    previous_symbols,
    random_symbols,
    task_batches,
)
from attnbook.toy.training import fit

every_way = pytest.mark.parametrize("positions", POSITION_KINDS)
makes_masks = pytest.mark.parametrize("make_mask", [key_mask, target_mask])


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


def other(ids):
    """Another symbol at every place."""
    return ids % (TASK_VOCAB_SIZE - 1) + 1


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
        ("rotary", RotaryAttention, nn.Identity),
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


def test_all_ways_are_tried():
    assert POSITION_KINDS == ("none", "sinusoidal", "learned", "relative", "rotary")


def test_max_len_sets_the_table_and_the_largest_distance():
    assert one_layer("learned", 9).positions.table.shape == (9, 64)
    relative = one_layer("relative", 9).attention.relative
    assert relative.max_distance == 8
    assert relative.table.shape == (2, 17)


@every_way
@makes_masks
def test_padding_changes_no_real_answer(positions, make_mask):
    """Lengths differ, and what a pad looks like does not matter."""
    made, ids = model(positions), padded()
    real = ids != PAD
    logits = made(ids, make_mask(ids))
    with torch.no_grad():
        made.embedding.weight[PAD] = 50.0
    assert torch.equal(made(ids, make_mask(ids))[real], logits[real])
    for row, found, is_real in zip(ids, logits, real, strict=True):
        alone = row[is_real][None]
        close(made(alone, make_mask(alone))[0], found[is_real])


@every_way
@makes_masks
def test_padding_on_the_left_leak_nothing_and_leave_no_nan(positions, make_mask):
    """Rows of a pad that sees nothing are among them."""
    made, ids = model(positions), padded(left=True)
    real = ids != PAD
    logits = made(ids, make_mask(ids))
    assert logits.isfinite().all()
    with torch.no_grad():
        made.embedding.weight[PAD] = 50.0
    assert torch.equal(made(ids, make_mask(ids))[real], logits[real])
    loss = logits.square().mean()
    gradients = torch.autograd.grad(loss, [*made.parameters()])
    assert all(g.isfinite().all() for g in gradients)


@every_way
@pytest.mark.parametrize("train", [True, False])
def test_no_position_reacts_to_a_later_one_but_to_every_other(positions, train):
    """In both modes; without a mask to all, both sides."""
    made = model(positions).train(train)
    ids = random_symbols(2, 6, torch.Generator().manual_seed(0))
    causal = influence(lambda ids: made(ids, causal_mask(6)), ids, other(ids))
    assert torch.equal(causal > 0, causal_mask(6))
    assert (influence(made, ids, other(ids)) > 0).all()


@every_way
def test_only_a_way_without_positions_is_blind_to_order(positions):
    """It carries the order over, no more; a causal mask alone tells some of it."""
    made = model(positions)
    ids = random_symbols(2, 6, torch.Generator().manual_seed(0))
    order = torch.tensor([3, 1, 0, 5, 2, 4])
    difference = (made(ids[:, order]) - made(ids)[:, order]).abs().max().item()
    assert difference < 1e-12 if positions == "none" else difference > 0.01
    causal = made(ids[:, order], causal_mask(6)) - made(ids, causal_mask(6))[:, order]
    assert causal.abs().max() > 0.01


@every_way
def test_the_mode_changes_nothing_but_dropout(positions):
    made, ids = model(positions), padded()
    mask = target_mask(ids)
    for need in (False, True):
        torch.testing.assert_close(
            made.train()(ids, mask, need_weights=need),
            made.eval()(ids, mask, need_weights=need),
            rtol=0,
            atol=0,
        )
    made.attention.dropout = 0.5
    assert torch.equal(made(ids, mask), made.eval()(ids, mask))
    assert not torch.allclose(made.train()(ids, mask), made.eval()(ids, mask))


@every_way
@pytest.mark.parametrize("device", DEVICES)
def test_works_on_every_device_with_masks_made_from_its_ids(positions, device):
    """Nothing is moved by hand but the model and the ids."""
    made, ids = model(positions).to(device), padded().to(device)
    here = model(positions)
    for make_mask in (key_mask, target_mask):
        for need in (False, True):
            found = made(ids, make_mask(ids), need_weights=need)
            found = found if need else (found,)
            wanted = here(padded(), make_mask(padded()), need_weights=True)
            for ours, reference in zip(found, wanted, strict=False):
                assert ours.device.type == device
                assert ours.shape == reference.shape
                if device != "meta":
                    close(ours.cpu(), reference)
    rows = causal_mask(7, device=device)
    assert made(ids, rows).device.type == device


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


@every_way
def test_compiles_without_a_graph_break(positions):
    torch._dynamo.reset()
    made = model(positions)

    def call(ids):
        return made(ids, target_mask(ids))

    fast = torch.compile(call, fullgraph=True, backend="eager")
    for n in (5, 7):
        ids = random_symbols(2, n, torch.Generator().manual_seed(n))
        torch.testing.assert_close(fast(ids), call(ids))


@every_way
def test_its_weights_can_be_stored_and_read(positions):
    one, two = model(positions, seed=0), model(positions, seed=1)
    ids = padded()
    assert not torch.equal(one(ids), two(ids))
    two.load_state_dict(one.state_dict())
    assert torch.equal(one(ids), two(ids))


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


def test_learns_the_position_from_a_table_and_not_without():
    """A task of positions alone: the loss falls, or stays that of a guess among 4."""
    found = {}
    for positions in ("none", "learned"):
        torch.manual_seed(0)
        made = one_layer(positions, 4, d_model=16, n_answers=1)
        losses = fit(
            made,
            task_batches(position_numbers, 4, seed=0),
            steps=80,
            learning_rate=3e-2,
        )
        found[positions] = sum(losses[-10:]) / 10
    assert found["none"] == pytest.approx(math.log(4), abs=0.05)
    assert found["learned"] < 0.2


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
        (lambda: one_layer("rotary", 4, 6, 2), "width of 3 cannot .* for each head"),
        (lambda: one_layer("none", 4, 9, 2), "9 cannot be divided among 2 heads"),
        (lambda: one_layer("none", 4, n_answers=0), "n_answers is 0"),
        (lambda: OneLayer(MultiHeadAttention(8, 2), vocab_size=0), "vocab_size is 0"),
        (
            lambda: OneLayer(MultiHeadAttention(8, 2), SinusoidalPositions(7))(ids),
            r"x has shape \(2, 4, 8\).*\(B, T, 7\)",
        ),
        (
            lambda: one_layer("none", 4)(ids, torch.ones(4, 4)),
            "torch.float32; it must be torch.bool",
        ),
        (
            lambda: one_layer("none", 4)(ids, torch.ones(2, 4, 4).bool()),
            "is its first axis B or H?",
        ),
        (
            lambda: one_layer("relative", 4)(ids, torch.ones(3, 4).bool()),
            r"shape \(3, 4\), the scores \(2, 2, 4, 4\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
