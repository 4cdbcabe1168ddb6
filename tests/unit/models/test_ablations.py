"""A Transformer without one of its parts: what changes, and that nothing else does."""

import pytest
import torch
from compare import close, double, make_transformer, project, randomise, sentences
from torch import nn

from attnbook.models.ablations import (
    VARIANTS,
    ablate,
    without_feed_forward,
    without_positions,
    without_scale,
)
from attnbook.models.rotary_transformer import RotaryTransformer
from attnbook.nn.layers import FeedForward, TransformerConfig


def model(norm_first=False, n_heads=2):
    sizes = {"d_model": 8, "n_heads": n_heads, "n_layers": 2, "d_ff": 12}
    made = double(make_transformer, 20, **sizes, dropout=0.0, norm_first=norm_first)
    return randomise(made).eval()


def parameters(module):
    return sum(p.numel() for p in module.parameters())


def test_without_positions_the_encoder_cannot_tell_the_order_of_words():
    src, order = torch.tensor([[5, 9, 7, 11, 2]]), torch.tensor([3, 0, 4, 2, 1])
    ours = model()
    before = ours.encode(src)[:, order], ours.encode(src[:, order])
    assert not torch.allclose(*before)
    without_positions(ours)
    close(ours.encode(src)[:, order], ours.encode(src[:, order]))


@pytest.mark.parametrize("n_heads", [1, 2, 4])
def test_without_scale_the_scores_are_larger_by_the_root_of_d_k(n_heads):
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0)).double()
    ours = model(n_heads=n_heads)
    attention = ours.decoder[1].cross_attention
    q, k, _ = project(attention, x, x, x)
    wanted = (q @ k.mT).softmax(-1)
    without_scale(ours)
    _, weights = attention(x, x, x, need_weights=True)
    close(weights, wanted)


@pytest.mark.parametrize("norm_first", [False, True])
def test_without_feed_forward_its_parameters_are_gone_and_no_others(norm_first):
    ours = model(norm_first)
    all_of_it = parameters(ours)
    without_feed_forward(ours)
    one = parameters(FeedForward(8, 12)) + 2 * 8  # its norm's gain and bias
    assert parameters(ours) == all_of_it - 4 * one
    assert not any(isinstance(m, FeedForward) for m in ours.modules())


def test_without_feed_forward_a_layer_is_its_attention():
    ours = model()
    without_feed_forward(ours)
    x = torch.randn(1, 4, 8, generator=torch.Generator().manual_seed(0)).double()
    layer = ours.encoder[0]
    found = layer.norm_1(x + layer.attention(x, x, x))
    close(layer(x), found)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize("name", VARIANTS)
def test_step_by_step_they_say_what_they_say_at_once(name, norm_first):
    ours = model(norm_first)
    whole = ours(src := sentences(0, (5, 3), 20), tgt := sentences(1, (4, 4), 20))
    ablate(ours, name)
    at_once = ours(src, tgt)
    assert not torch.allclose(at_once, whole)
    state = ours.start(src)
    for i in range(tgt.shape[1]):
        logits, state = ours.step(tgt[:, i], state)
        close(logits, at_once[:, i])


def test_none_changes_nothing_in_any_model():
    ours, plain = model(), model()
    ablate(ours, "none")
    ablate(nn.GRU(3, 3), "none")
    src = sentences(0, (5,), 20)
    close(ours(src, src), plain(src, src))


def test_an_unknown_variant_or_model_is_refused():
    with pytest.raises(ValueError, match=r"no variant 'no_heads'; choose none, no_pos"):
        ablate(model(), "no_heads")
    with pytest.raises(ValueError, match=r"from a Transformer, and the model is a GRU"):
        ablate(nn.GRU(3, 3), "no_scale")


def test_a_rotary_model_loses_its_scale_but_has_no_positions_to_lose():
    torch.manual_seed(0)
    rotary = randomise(RotaryTransformer(TransformerConfig(20, 20, 8, 2, 2, 12))).eval()
    src = sentences(0, (5, 3), 20)
    before = rotary.encode(src)
    with pytest.raises(ValueError, match=r"RotaryTransformer whose positions are not"):
        ablate(rotary, "no_positions")
    close(rotary.encode(src), before)
    ablate(rotary, "no_scale")
    assert not torch.allclose(rotary.encode(src), before)
