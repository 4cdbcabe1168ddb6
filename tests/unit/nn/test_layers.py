"""Layers: equal to the paper's formulas and to PyTorch's, values and gradients."""

import pytest
import torch
from compare import (
    agree,
    close,
    double,
    make_layer,
    numbers,
    randomise,
    some_allowed,
    stacked,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import by_formula
from attnbook.nn.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    ScaledEmbedding,
)
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.norms import layer_norm
from attnbook.nn.rotary import Rotary

small = st.integers(1, 4)
seeds = st.integers(0, 999)
switch = st.booleans()
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def layer_of(make, d=8, h=2, d_ff=12, seed=0, **kwargs):
    return randomise(double(make_layer, make, d, h, d_ff, seed=seed, **kwargs)).eval()


def plain(seed, *shape):
    return numbers(seed, shape)[0].detach()


# LayerNorm


@pytest.mark.parametrize("eps", [1e-5, 1e-3, 1.0])
@given(small, small, small, seeds)
@settings(max_examples=8)
def test_layer_norm_equals_the_formula_and_pytorchs(eps, b, t, d, seed):
    x, gain, bias = numbers(seed, (b, t, d), (d,), (d,))
    norm = nn.LayerNorm(d, eps).double()
    norm.weight, norm.bias = nn.Parameter(gain), nn.Parameter(bias)
    loop = by_formula.layer_norm(x, norm)
    parts = [norm.weight, norm.bias]
    ours = layer_norm(x, norm.weight, norm.bias, eps)
    if eps == 1e-5:
        assert torch.equal(layer_norm(x, norm.weight, norm.bias), ours)
    # A place of one number, or of equal ones, is divided by √ε: errors grow with it.
    agree(ours, loop, [x, *parts], 1e-10)
    agree(ours, norm(x), [x, *parts], 1e-10)


def test_equal_numbers_give_the_bias_and_no_nan():
    """Without ε it is 0/0."""
    x = torch.full((2, 4), 7.0, dtype=torch.float64, requires_grad=True)
    gain, bias = numbers(0, (4,), (4,))
    out = layer_norm(x, gain, bias)
    close(out, bias.expand(2, 4))
    out.square().sum().backward()
    assert x.grad.isfinite().all()


# Feed-forward


@given(small, small, small, st.integers(1, 9), seeds)
@settings(max_examples=15)
def test_feed_forward_equals_the_formula(b, t, d, d_ff, seed):
    network = randomise(double(FeedForward, d, d_ff, seed=seed))
    (x,) = numbers(seed, (b, t, d))
    loop = by_formula.feed_forward(x, network)
    agree(network(x), loop, [x, *network.parameters()])


def test_feed_forward_starts_as_xavier_says():
    torch.manual_seed(0)
    network = FeedForward(64, 256)
    for linear in (network.W_1, network.W_2):
        assert not linear.bias.any()
        bound = (6 / (64 + 256)) ** 0.5
        assert 0.95 * bound < linear.weight.abs().max() <= bound
        assert linear.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)


# Embedding


@given(small, small, st.integers(1, 5), seeds)
@settings(max_examples=10)
def test_the_embedding_looks_up_and_scales(b, t, d, seed):
    table = randomise(double(ScaledEmbedding, 9, d, seed=seed))
    ids = torch.randint(1, 9, (b, t), generator=torch.Generator().manual_seed(seed))
    loop = stacked([[table.weight[i] * d**0.5 for i in row] for row in ids.tolist()])
    agree(table(ids), loop, [table.weight])


@pytest.mark.parametrize("d", [16, 64, 512])
def test_vectors_start_as_large_as_positions(d):
    """A root mean square of 1 beside the sinusoids' √½; logits of about 1."""
    torch.manual_seed(0)
    table, ids = ScaledEmbedding(500, d), torch.arange(1, 500)[None]
    rms = table(ids).square().mean().sqrt()
    assert 0.9 < rms < 1.1
    assert 0.9 < (table.weight[1:] * d**0.5).std() < 1.1
    assert table.weight[1:].mean().abs() < 0.1 * d**-0.5
    logits = F.layer_norm(torch.randn(50, d), (d,)) @ table.weight.T
    assert 0.8 < logits[:, 1:].std() < 1.2


def test_no_look_up_changes_the_vector_of_pads():
    table = double(ScaledEmbedding, 9, 4)
    assert not table.weight[PAD].any()
    assert table.weight[PAD + 1 :].all()
    table(torch.tensor([[4, 5, PAD, PAD]])).sum().backward()
    assert not table.weight.grad[PAD].any()
    assert table.weight.grad[4].any()
    before = table.weight.detach().clone()
    table.reset_parameters()
    assert not torch.equal(table.weight, before)
    assert not table.weight[PAD].any()
    assert table.weight.requires_grad


# Layers


@FORMS
@given(small, small, small, st.integers(1, 6), seeds)
@settings(max_examples=8)
def test_an_encoder_layer_equals_the_formula(norm_first, s, h, d_k, d_ff, seed):
    layer = layer_of(EncoderLayer, h * d_k, h, d_ff, seed, norm_first=norm_first)
    (x,) = numbers(seed, (2, s, h * d_k))
    mask = some_allowed(seed, 2, 1, s, s)
    wanted = by_formula.encoder_layer(x, layer, norm_first, mask)
    agree(layer(x, mask), wanted, [x, *layer.parameters()], 1e-10)


@FORMS
@given(small, small, small, small, st.integers(1, 6), seeds)
@settings(max_examples=8)
def test_a_decoder_layer_equals_the_formula(norm_first, t, s, h, d_k, d_ff, seed):
    layer = layer_of(DecoderLayer, h * d_k, h, d_ff, seed, norm_first=norm_first)
    x, memory = numbers(seed, (2, t, h * d_k), (2, s, h * d_k))
    mask = some_allowed(seed, 2, 1, 1, s)
    masks = causal_mask(t), mask
    wanted = by_formula.decoder_layer(x, memory, layer, norm_first, *masks)
    agree(layer(x, memory, *masks), wanted, [x, memory, *layer.parameters()], 1e-10)


def test_dropout_stands_after_each_sublayer():
    """Section 5.4; not inside the feed-forward network, where PyTorch has one."""
    x, memory = plain(0, 2, 5, 8), plain(1, 2, 6, 8)
    for make, inputs, n in ((EncoderLayer, [x], 2), (DecoderLayer, [x, memory], 3)):
        layer, shapes = layer_of(make, dropout=0.5).train(), []
        drops = [m for m in layer.modules() if isinstance(m, nn.Dropout)]
        for module in drops:
            module.register_forward_hook(lambda _, a, o, s=shapes: s.append(o.shape))
        one = layer(*inputs)
        assert shapes == [(2, 5, 8)] * n
        assert {m.p for m in drops} == {0.5}
        assert not torch.equal(layer(*inputs), one)
        layer.eval()
        assert torch.equal(layer(*inputs), layer(*inputs))


@pytest.mark.parametrize("make", [EncoderLayer, DecoderLayer])
def test_weights_are_dropped_only_if_asked_for(make):
    inputs = [plain(0, 2, 5, 8), plain(1, 2, 6, 8)][: 1 if make is EncoderLayer else 2]
    layer = layer_of(make).train()
    assert torch.equal(layer(*inputs), layer(*inputs))
    layer = layer_of(make, attention_dropout=0.5).train()
    assert not torch.equal(layer(*inputs), layer(*inputs))
    shares = [m.dropout for m in layer.modules() if hasattr(m, "W_O")]
    assert shares == [0.5] * len(inputs)
    layer.eval()
    assert torch.equal(layer(*inputs), layer(*inputs))


# Step by step


@FORMS
@given(
    st.lists(small, min_size=1, max_size=4), small, small, small, small, switch, seeds
)
@settings(max_examples=15)
def test_several_places_in_a_step_equal_all_at_once(
    norm_first, parts, b, s, h, d_k, rotary, seed
):
    """However the target is cut into parts."""
    d, t = 2 * h * d_k, sum(parts)
    layer = layer_of(DecoderLayer, d, h, 5, seed, norm_first=norm_first)
    if rotary:
        layer.self_attention = randomise(
            MultiHeadAttention(d, h, n_groups=1, turn=Rotary()).double()
        )
    x, memory = numbers(seed, (b, t, d), (b, s, d))
    mask = some_allowed(seed, b, 1, 1, s)
    together = layer(x, memory, causal_mask(t), mask)
    cache, out = layer.start(memory), []
    for part in x.split(parts, dim=1):
        found, cache = layer.step(part, cache, mask)
        out.append(found)
    inputs = [x, memory, *layer.parameters()]
    agree(torch.cat(out, 1), together, inputs, 1e-10)
