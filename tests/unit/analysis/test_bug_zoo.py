"""The zoo: each mistake is the one that its name says, and shows where a page says."""

import pytest
import torch
from compare import close, make_transformer, project, step_by_step
from torch import nn
from torch.nn import functional as F

from attnbook.analysis.bug_zoo import (
    CausalInTraining,
    OneCache,
    RepeatedMask,
    SoftmaxInside,
    Uncounted,
    Unmasked,
    WrongSplit,
    replace_attention,
    scale_wrongly,
    split_wrongly,
)
from attnbook.analysis.leaks import influence
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import causal_mask, key_mask, target_mask
from attnbook.nn.multi_head import MultiHeadAttention

SRC = torch.tensor([[3, 5, 6, 4, 3, 9], [7, 8, 2, 0, 0, 0]])
READ = torch.tensor([[1, 7, 4, 3, 5], [1, 5, 6, 0, 0]])


def small(kind=Transformer, **kwargs):
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 32}
    return make_transformer(10, kind=kind, **sizes, **kwargs).eval()


# Heads, scale and softmax


def test_a_wrong_split_deals_out_positions():
    torch.manual_seed(0)
    wrong, x = WrongSplit(16, 4), torch.randn(2, 8, 16)
    moved = influence(lambda x: wrong(x, x, x), x) > 0
    pairs = torch.arange(8) // 2  # 8 places, 4 heads: two places a head
    assert torch.equal(moved, pairs[:, None] == pairs)
    out, weights = wrong(x, x, x, need_weights=True)
    close(out, wrong(x, x, x), atol=1e-5)
    close(weights.sum(-1), torch.ones(2, 4, 8), atol=1e-5)


def test_a_wrong_split_drops_weights_in_training_alone():
    torch.manual_seed(0)
    wrong, x = WrongSplit(16, 4, dropout=0.5), torch.randn(2, 8, 16)
    assert not torch.equal(wrong(x, x, x), wrong(x, x, x))
    wrong.eval()
    assert torch.equal(wrong(x, x, x), wrong(x, x, x))


def test_a_wrong_split_reaches_every_attention():
    model = small()
    split_wrongly(model)
    attentions = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    assert len(attentions) == 6
    assert all(type(m) is WrongSplit and m.n_heads == 4 for m in attentions)
    with pytest.raises(ValueError, match=r"no keys and values .* all positions"):
        model.start(SRC)


def test_wrong_masks_are_those_that_their_names_say():
    """Of two sentences with two heads, a head gets the other's mask; or none at all."""
    torch.manual_seed(0)
    right, x, mask = MultiHeadAttention(8, 2), torch.randn(2, 5, 8), target_mask(READ)
    _, plain = right(x, x, x, mask, need_weights=True)
    _, exchanged = right(x, x, x, mask.flip(0), need_weights=True)
    _, causal = right(x, x, x, causal_mask(5), need_weights=True)
    replace_attention(right, RepeatedMask)
    _, weights = right(x, x, x, mask, need_weights=True)
    close(weights[0], torch.stack([plain[0, 0], exchanged[0, 1]]), atol=1e-6)
    close(weights[1], torch.stack([exchanged[1, 0], plain[1, 1]]), atol=1e-6)
    replace_attention(right, Unmasked)
    close(right(x, x, x, mask, need_weights=True)[1], causal, atol=1e-6)
    close(right(x[:, :1], x, x, key_mask(READ)), right(x[:, :1], x, x), atol=1e-6)


def test_a_wrong_scale_is_that_of_a_narrower_head():
    layer = MultiHeadAttention(16, 4)  # heads 4 wide; wrongly taken for 1
    x = torch.randn(2, 5, 16)
    q, k, v = project(layer, x, x, x)
    wanted = F.scaled_dot_product_attention(q, k, v, scale=1.0)
    scale_wrongly(layer)
    close(layer(x, x, x), layer.W_O(wanted.transpose(1, 2).flatten(2)), atol=1e-5)


def test_a_softmax_inside_has_a_floor():
    inside = SoftmaxInside(nn.Identity())
    sure = torch.tensor([[100.0] + [0.0] * 18])
    floor = F.cross_entropy(inside(sure), torch.tensor([0]))
    assert floor.item() == pytest.approx(2.0304, abs=1e-3)  # log(1 + 18 / e)
    close(inside(SRC.double()).sum(-1), torch.ones(2).double())


# What only decoding shows


@torch.no_grad()
def test_uncounted_positions_show_only_word_by_word():
    model, read = small(), READ.clamp(min=1)
    right = model(SRC, read)
    close(step_by_step(model, SRC, read), right, atol=1e-5)
    model.positions = Uncounted(16)
    close(model(SRC, read), right, atol=0)
    wrong = (step_by_step(model, SRC, read) - right).abs().amax(dim=(0, 2))
    assert wrong[0] < 1e-5 < 1e-2 < wrong[1:].min()


def test_a_mask_of_training_leaks_in_eval_mode():
    model = small(CausalInTraining, dropout=0.0)
    other = torch.where(READ == 5, 6, 5).masked_fill(READ == 0, 0)
    for training in (True, False):
        model.train(training)
        moved = influence(lambda ids: model(SRC, ids), READ, other)
        assert (moved.triu(1).max() > 0) != training
    model.train()
    close(model(SRC, READ), small(dropout=0.0)(SRC, READ))


@torch.no_grad()
def test_one_cache_gives_two_answers_to_one_state():
    for make, same in ((Transformer, True), (OneCache, False)):
        model = small(make)
        close(step_by_step(model, SRC, READ[:, :1]), model(SRC, READ[:, :1]), atol=1e-5)
        state = model.start(SRC)
        answers = [model.step(torch.tensor([5, 5]), state)[0] for _ in range(2)]
        assert torch.equal(*answers) == same
