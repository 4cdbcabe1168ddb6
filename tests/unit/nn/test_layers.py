"""Layers: equal to the paper's formulas and to PyTorch's, values and gradients."""

import pytest
import torch
from compare import (
    agree,
    close,
    double,
    make_layer,
    numbers,
    plain,
    randomise,
    some_allowed,
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
    EncoderStack,
    FeedForward,
    ScaledEmbedding,
    TransformerConfig,
)
from attnbook.nn.masks import causal_mask
from attnbook.nn.norms import layer_norm

small = st.integers(1, 4)
seeds = st.integers(0, 999)
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def layer_of(make, d=8, h=2, d_ff=12, seed=0, **kwargs):
    return randomise(double(make_layer, make, d, h, d_ff, seed=seed, **kwargs)).eval()


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


def test_feed_forward_starts_as_xavier_says():
    torch.manual_seed(0)
    network = FeedForward(64, 256)
    for linear in (network.W_1, network.W_2):
        assert not linear.bias.any()
        bound = (6 / (64 + 256)) ** 0.5
        assert 0.95 * bound < linear.weight.abs().max() <= bound
        assert linear.weight.std().item() == pytest.approx(bound / 3**0.5, rel=0.05)


# Embedding


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


@FORMS
def test_the_cache_of_a_stack_has_the_type_of_its_layers_under_autocast(norm_first):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 3, "d_ff": 12}
    stack = EncoderStack(TransformerConfig(norm_first=norm_first, **sizes)).eval()
    x = torch.randn(2, 3, 8)
    with torch.autocast("cpu", torch.bfloat16):
        cache = stack.start(x)
        for position in x.split(1, dim=1):
            _, cache = stack.step(position, cache)
    assert {layer.k.dtype for layer in cache} == {torch.bfloat16}
