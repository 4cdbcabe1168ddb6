"""Layers: equal to the paper's formulas and to PyTorch's, values and gradients."""

import by_formula
import pytest
import torch
from compare import (
    DEVICES,
    agree,
    close,
    double,
    make_layer,
    numbers,
    randomise,
    sentences,
    some_allowed,
    stacked,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.func import functional_call
from torch.nn import functional as F

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import PAD
from attnbook.nn.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    ScaledEmbedding,
    TransformerConfig,
)
from attnbook.nn.masks import causal_mask, key_mask, target_mask
from attnbook.nn.norms import layer_norm
from attnbook.nn.residual import Residual

small = st.integers(1, 4)
seeds = st.integers(0, 999)
switch = st.booleans()
FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def layer_of(make, d=8, h=2, d_ff=12, seed=0, **kwargs):
    return randomise(double(make_layer, make, d, h, d_ff, seed=seed, **kwargs)).eval()


def plain(seed, *shape):
    return numbers(seed, shape)[0].detach()


def count(module):
    return sum(p.numel() for p in module.parameters())


# LayerNorm


@given(small, small, small, seeds)
@settings(max_examples=15)
def test_layer_norm_equals_the_formula_and_pytorchs(b, t, d, seed):
    x, gain, bias = numbers(seed, (b, t, d), (d,), (d,))
    norm = nn.LayerNorm(d).double()
    norm.weight, norm.bias = nn.Parameter(gain), nn.Parameter(bias)
    loop = torch.stack([by_formula.layer_norm(row, norm) for row in x])
    parts = [norm.weight, norm.bias]
    ours = layer_norm(x, norm.weight, norm.bias)
    # A place of one number, or of equal ones, is divided by √ε: errors grow with it.
    agree(ours, loop, [x, *parts], 1e-10)
    agree(ours, norm(x), [x, *parts], 1e-10)


@pytest.mark.parametrize("eps", [1e-5, 1e-3, 1.0])
def test_layer_norm_takes_another_epsilon(eps):
    x, gain, bias = numbers(0, (3, 4), (4,), (4,))
    theirs = F.layer_norm(x, (4,), gain, bias, eps)
    agree(layer_norm(x, gain, bias, eps), theirs, [x, gain, bias])


def test_layer_norm_takes_any_number_of_axes():
    x, gain, bias = numbers(0, (2, 3, 4, 5), (5,), (5,))
    assert torch.equal(
        layer_norm(x, gain, bias)[1, 2, 3], layer_norm(x[1, 2, 3], gain, bias)
    )


def test_the_variance_divides_by_d():
    """The right way: mean 0, and mean of squares 1, also at a width of 4."""
    x, ones, zeros = plain(0, 6, 4) * 100, torch.ones(4), torch.zeros(4)
    out = layer_norm(x, ones, zeros)
    close(out.mean(-1), torch.zeros(6).double(), 1e-9)
    close(out.square().mean(-1), torch.ones(6).double(), 1e-6)


@pytest.mark.parametrize("d", [4, 8, 64, 512])
def test_the_unbiased_deviation_is_too_large(d):
    """The wrong way: outputs smaller by √((d - 1)/d), and an ε beside the root."""
    x = plain(0, 5, d)
    wrong = (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-5)
    right = layer_norm(x, torch.ones(d), torch.zeros(d))
    close(wrong / right, torch.full_like(x, ((d - 1) / d) ** 0.5), 1e-3)
    assert (wrong - right).abs().max() > 0.5 / d
    almost_equal = torch.zeros(1, 4).double()
    almost_equal[0, 0] = 1e-4
    centred = almost_equal - almost_equal.mean()
    beside = centred / (centred.square().mean().sqrt() + 1e-5)
    inside = layer_norm(almost_equal, torch.ones(4), torch.zeros(4))
    assert inside.max() < 0.1 < 1 < beside.max()


def test_equal_numbers_give_the_bias_and_no_nan():
    """Without ε it is 0/0."""
    x = torch.full((2, 4), 7.0, dtype=torch.float64, requires_grad=True)
    gain, bias = numbers(0, (4,), (4,))
    out = layer_norm(x, gain, bias)
    close(out, bias.expand(2, 4))
    out.square().sum().backward()
    assert x.grad.isfinite().all()
    without = (x - x.mean(-1, keepdim=True)) / x.std(-1, correction=0, keepdim=True)
    assert without.isnan().all()


def test_layer_norm_knows_neither_batch_nor_neighbours():
    """A batch norm does."""
    x = plain(0, 3, 5, 4)
    gain, bias = torch.ones(4).double(), torch.zeros(4).double()
    alone = layer_norm(x[:1], gain, bias)
    assert torch.equal(layer_norm(x, gain, bias)[:1], alone)
    batch_norm = nn.BatchNorm1d(4).double()
    together = batch_norm(x.transpose(1, 2))[:1]
    assert (together - batch_norm(x[:1].transpose(1, 2))).abs().max() > 0.1
    found = influence(lambda x: layer_norm(x, gain, bias), x)
    assert torch.equal(found > 0, torch.eye(5).bool())


# Feed-forward


@given(small, small, small, st.integers(1, 9), seeds)
@settings(max_examples=15)
def test_feed_forward_equals_the_formula(b, t, d, d_ff, seed):
    network = randomise(double(FeedForward, d, d_ff, seed=seed))
    (x,) = numbers(seed, (b, t, d))
    w_1, b_1 = network.W_1.weight, network.W_1.bias
    w_2, b_2 = network.W_2.weight, network.W_2.bias

    def number(row, j):
        inner = [w_1[k] @ row + b_1[k] for k in range(d_ff)]
        return sum(w_2[j, k] * inner[k].clamp(min=0) for k in range(d_ff)) + b_2[j]

    loop = stacked([[[number(row, j) for j in range(d)] for row in s] for s in x])
    agree(network(x), loop, [x, *network.parameters()])


def test_feed_forward_is_two_convolutions_of_width_one():
    """The second one leads back to D."""
    network = randomise(double(FeedForward, 6, 10))
    (x,) = numbers(0, (2, 5, 6))
    w_1, w_2 = network.W_1.weight[..., None], network.W_2.weight[..., None]
    inner = F.conv1d(x.transpose(1, 2), w_1, network.W_1.bias).relu()
    out = F.conv1d(inner, w_2, network.W_2.bias).transpose(1, 2)
    agree(network(x), out, [x, *network.parameters()])
    assert network(x).shape == x.shape
    with pytest.raises(RuntimeError, match="to have 6 channels, but got 10"):
        F.conv1d(inner, w_1, network.W_1.bias)  # the wrong way


def test_feed_forward_mixes_no_places():
    network, x = randomise(double(FeedForward, 6, 10)), plain(0, 2, 5, 6)
    assert torch.equal(influence(network, x) > 0, torch.eye(5).bool())
    order = torch.tensor([3, 1, 0, 4, 2])
    close(network(x[:, order]), network(x)[:, order])


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
    """A root mean square of 1 beside the sinusoids' √½; both wrong ways."""
    torch.manual_seed(0)
    table, ids = ScaledEmbedding(500, d), torch.arange(1, 500)[None]
    rms = table(ids).square().mean().sqrt()
    assert 0.9 < rms < 1.1
    assert 0.9 < (table.weight[1:] * d**0.5).std() < 1.1
    assert table.weight[1:].mean().abs() < 0.1 * d**-0.5
    unscaled = F.embedding(ids, table.weight).square().mean().sqrt()
    assert unscaled < 0.3
    large = nn.Embedding(500, d)(ids).mul(d**0.5).square().mean().sqrt()
    assert large > 3.5
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
    loop = [
        by_formula.encoder_layer(row, layer, norm_first, allowed[0])
        for row, allowed in zip(x, mask, strict=True)
    ]
    agree(layer(x, mask), torch.stack(loop), [x, *layer.parameters()], 1e-10)


@FORMS
@given(small, small, small, small, st.integers(1, 6), seeds)
@settings(max_examples=8)
def test_a_decoder_layer_equals_the_formula(norm_first, t, s, h, d_k, d_ff, seed):
    layer = layer_of(DecoderLayer, h * d_k, h, d_ff, seed, norm_first=norm_first)
    x, memory = numbers(seed, (2, t, h * d_k), (2, s, h * d_k))
    mask = some_allowed(seed, 2, 1, 1, s)
    loop = [
        by_formula.decoder_layer(row, source, layer, norm_first, allowed[0])
        for row, source, allowed in zip(x, memory, mask, strict=True)
    ]
    ours = layer(x, memory, causal_mask(t), mask)
    agree(ours, torch.stack(loop), [x, memory, *layer.parameters()], 1e-10)


@FORMS
@given(small, small, small, small, st.integers(1, 9), switch, st.data())
@settings(max_examples=12)
def test_an_encoder_layer_equals_pytorchs(norm_first, b, s, h, d_k, d_ff, causal, data):
    d = h * d_k
    layer = layer_of(EncoderLayer, d, h, d_ff, s, norm_first=norm_first)
    theirs = nn.TransformerEncoderLayer(
        d, h, d_ff, 0.0, batch_first=True, norm_first=norm_first
    ).double()
    ids = sentences(0, [s, *(data.draw(st.integers(1, s)) for _ in range(b - 1))], 20)
    mask, reading = key_mask(ids), {"src_key_padding_mask": ids == PAD}
    if causal:
        mask = mask & causal_mask(s)
        reading["src_mask"] = ~causal_mask(s)
    (x,) = numbers(d_ff, (b, s, d))
    weights = by_formula.named_as_pytorchs(layer)
    expected = functional_call(theirs, weights, (x,), reading)
    agree(layer(x, mask), expected, [x, *layer.parameters()], 1e-10)


@FORMS
@given(small, small, small, small, small, st.integers(1, 9), st.data())
@settings(max_examples=12)
def test_a_decoder_layer_equals_pytorchs(norm_first, b, t, s, h, d_k, d_ff, data):
    d = h * d_k
    layer = layer_of(DecoderLayer, d, h, d_ff, s, norm_first=norm_first)
    theirs = nn.TransformerDecoderLayer(
        d, h, d_ff, 0.0, batch_first=True, norm_first=norm_first
    ).double()
    src, tgt = (
        sentences(0, [n, *(data.draw(st.integers(1, n)) for _ in range(b - 1))], 20)
        for n in (s, t)
    )
    x, memory = numbers(d_ff, (b, t, d), (b, s, d))
    reading = {
        "tgt_mask": ~causal_mask(t),
        "tgt_key_padding_mask": tgt == PAD,
        "memory_key_padding_mask": src == PAD,
    }
    weights = by_formula.named_as_pytorchs(layer)
    expected = functional_call(theirs, weights, (x, memory), reading)
    ours = layer(x, memory, target_mask(tgt), key_mask(src))
    agree(ours, expected, [x, memory, *layer.parameters()], 1e-10)


def test_the_encoder_layer_uses_the_mask_it_is_given():
    layer, x = layer_of(EncoderLayer), plain(0, 2, 5, 8)
    mask = key_mask(sentences(0, [5, 3], 20))
    assert torch.equal(layer(x, mask)[0], layer(x)[0])
    assert (layer(x, mask)[1] - layer(x)[1]).abs().max() > 1e-3
    found = influence(lambda x: layer(x[1:], mask[1:]), x)
    assert (found[:3, 3:] == 0).all()
    assert (found[:, :3] > 0).all()


def test_the_decoder_layer_uses_each_mask_in_its_place():
    """With T = S, where mixed-up masks would not crash."""
    layer, x, memory = layer_of(DecoderLayer), plain(0, 2, 5, 8), plain(1, 2, 5, 8)
    mask, other = causal_mask(5), key_mask(sentences(0, [5, 3], 20))
    own = influence(lambda x: layer(x, memory, mask, other), x)
    assert torch.equal(own > 0, mask)
    cross = influence(lambda y: layer(x, y, mask, other)[1:], memory)
    assert (cross[:, 3:] == 0).all()
    assert (cross[:, :3] > 0).all()
    free = influence(lambda x: layer(x, memory), x)
    assert (free > 0).all()


@pytest.mark.parametrize(
    ("make", "theirs", "number"),
    [
        (EncoderLayer, nn.TransformerEncoderLayer, 3_152_384),
        (DecoderLayer, nn.TransformerDecoderLayer, 4_204_032),
    ],
)
def test_layers_have_as_many_parameters_as_pytorchs(make, theirs, number):
    """Neither 2018 for 2048, nor one attention with two uses."""
    with torch.device("meta"):
        ours = make(TransformerConfig())
        assert count(ours) == count(theirs(512, 8, 2048)) == number
        assert count(make(TransformerConfig(norm_first=True))) == number
        assert number - count(make(TransformerConfig(d_ff=2018))) == 30_750


def test_both_attentions_of_a_decoder_layer_have_weights_of_their_own():
    """Without the one, the other still speaks; and each norm is its own."""
    x, memory = plain(0, 2, 5, 8), plain(1, 2, 6, 8)
    for silent, heard in (
        ("cross_attention", "self_attention"),
        ("self_attention", "cross_attention"),
    ):
        layer = layer_of(DecoderLayer)
        for name in (silent, heard):
            before = layer(x, memory)
            for parameter in getattr(layer, name).W_O.parameters():
                nn.init.zeros_(parameter)
            assert (layer(x, memory) - before).abs().max() > 1e-3
    norms = {id(m) for m in layer_of(DecoderLayer).modules() if type(m) is nn.LayerNorm}
    assert len(norms) == 3


def silenced(layer):
    """Every sub-layer finds zeros."""
    for name, parameter in layer.named_parameters():
        if "W_O" in name or "W_2" in name:
            nn.init.zeros_(parameter)
    return layer


def test_there_is_a_residual_around_each_sublayer():
    """Silent sub-layers give back what came in, or its norm."""
    x, memory = plain(0, 2, 5, 8), plain(1, 2, 6, 8)
    for make, inputs in ((EncoderLayer, [x]), (DecoderLayer, [x, memory])):
        assert torch.equal(silenced(layer_of(make, norm_first=True))(*inputs), x)
        layer, normed = silenced(layer_of(make)), x
        for norm in (m for m in layer.modules() if type(m) is nn.LayerNorm):
            normed = norm(normed)
        close(layer(*inputs), normed)


def test_queries_are_the_decoders_keys_and_values_the_encoders():
    layer, x, memory = layer_of(DecoderLayer), plain(0, 2, 5, 8), plain(1, 2, 7, 8)
    read = {}
    for name in ("W_Q", "W_K", "W_V"):
        getattr(layer.cross_attention, name).register_forward_hook(
            lambda _, args, out, name=name: read.update({name: args[0]})
        )
    layer(x, memory)
    assert read["W_Q"].shape == (2, 5, 8)
    assert torch.equal(read["W_K"], memory)
    assert torch.equal(read["W_V"], memory)


def dropped(model, *inputs):
    """The shapes that pass an active dropout, in order; and if attention drops."""
    shapes, hooks = [], []
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            hooks.append(
                module.register_forward_hook(lambda _, a, o: shapes.append(o.shape))
            )
    model(*inputs)
    for hook in hooks:
        hook.remove()
    return shapes


def test_dropout_stands_after_each_sublayer():
    """Section 5.4; not inside the feed-forward network, where PyTorch has one."""
    x, memory = plain(0, 2, 5, 8), plain(1, 2, 6, 8)
    for make, inputs, n in ((EncoderLayer, [x], 2), (DecoderLayer, [x, memory], 3)):
        layer = layer_of(make, dropout=0.5).train()
        assert dropped(layer, *inputs) == [(2, 5, 8)] * n
        assert {m.p for m in layer.modules() if isinstance(m, nn.Dropout)} == {0.5}
        assert not torch.equal(layer(*inputs), layer(*inputs))
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


def steps(layer, x, memory, mask):
    """Each place in turn; all caches, so that they can be looked at."""
    caches, out = [layer.start(memory)], []
    for i in range(x.shape[1]):
        place, cache = layer.step(x[:, i : i + 1], caches[-1], mask)
        caches.append(cache)
        out.append(place)
    return torch.cat(out, 1), caches


@FORMS
@given(small, small, small, small, small, seeds)
@settings(max_examples=10)
def test_step_by_step_equals_all_at_once(norm_first, b, t, s, h, d_k, seed):
    d = h * d_k
    layer = layer_of(DecoderLayer, d, h, 5, seed, norm_first=norm_first)
    x, memory = numbers(seed, (b, t, d), (b, s, d))
    mask = some_allowed(seed, b, 1, 1, s)
    together = layer(x, memory, causal_mask(t), mask)
    one_by_one, _ = steps(layer, x, memory, mask)
    agree(one_by_one, together, [x, memory, *layer.parameters()], 1e-10)


def test_a_cache_grows_by_one_place_and_the_old_one_stays():
    """Nothing is changed in place; and the source is projected once."""
    layer, x, memory = layer_of(DecoderLayer), plain(0, 2, 4, 8), plain(1, 2, 6, 8)
    with torch.no_grad():
        out, caches = steps(layer, x, memory, None)
        copies = [c.target.k.clone() for c in caches]
        for i, cache in enumerate(caches):
            assert cache.target.k.shape == cache.target.v.shape == (2, 2, i, 4)
            assert cache.source.k is caches[0].source.k
            assert cache.source.v is caches[0].source.v
        again = layer.step(x[:, 2:3], caches[2])[0]
        layer.step(x[:, :1], caches[2])
    assert torch.equal(again, out[:, 2:3])
    for cache, copy in zip(caches, copies, strict=True):
        assert torch.equal(cache.target.k, copy)
        assert torch.equal(cache.target.k, caches[-1].target.k[:, :, : copy.shape[2]])


def test_keys_and_values_are_not_mixed_up():
    layer, x, memory = layer_of(DecoderLayer), plain(0, 2, 1, 8), plain(1, 2, 6, 8)
    cache = layer.start(memory)
    k, v = layer.cross_attention.keys_values(memory, memory)
    assert torch.equal(cache.source.k, k)
    assert torch.equal(cache.source.v, v)
    _, cache = layer.step(x, cache)
    k, v = layer.self_attention.keys_values(x, x)
    assert torch.equal(cache.target.k, k)
    assert torch.equal(cache.target.v, v)


# Where and how they run


@pytest.mark.parametrize("device", DEVICES)
def test_works_on_every_device(device):
    """Nothing is moved by hand; 'meta' knows shapes and no numbers."""
    with torch.device(device):
        encoder, decoder = (
            make_layer(EncoderLayer, 8, 2, 12),
            make_layer(DecoderLayer, 8, 2, 12),
        )
        embedding = ScaledEmbedding(9, 8)
        ids = torch.ones(2, 5, dtype=torch.int64)
    memory = encoder(embedding(ids), key_mask(ids))
    out = decoder(embedding(ids[:, :3]), memory, target_mask(ids[:, :3]), key_mask(ids))
    assert out.device.type == device
    assert out.shape == (2, 3, 8)
    one, _ = decoder.step(embedding(ids[:, :1]), decoder.start(memory), key_mask(ids))
    assert one.device.type == device
    assert one.shape == (2, 1, 8)


@FORMS
def test_works_in_less_precise_types(norm_first):
    layer, x = (
        layer_of(EncoderLayer, 32, 4, 64, norm_first=norm_first),
        plain(0, 2, 6, 32),
    )
    half = make_layer(EncoderLayer, 32, 4, 64, norm_first=norm_first).bfloat16()
    half.load_state_dict(layer.state_dict())
    exact, out = layer(x), half(x.bfloat16())
    assert out.dtype == torch.bfloat16
    close(out.double(), exact, 0.05 * exact.abs().max().item())


@FORMS
def test_compiles_without_a_graph_break(norm_first):
    torch._dynamo.reset()
    layer = layer_of(DecoderLayer, norm_first=norm_first)
    fast = torch.compile(layer, fullgraph=True, backend="eager")
    for t, s in ((4, 6), (5, 3)):
        x, memory = plain(0, 2, t, 8), plain(1, 2, s, 8)
        mask = key_mask(sentences(0, [s, 2], 20))
        close(
            fast(x, memory, causal_mask(t), mask),
            layer(x, memory, causal_mask(t), mask),
        )


x = torch.zeros(2, 3, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Residual(0), "d_model is 0; .* from 1 on"),
        (lambda: Residual(8, 1.5), "dropout is 1.5"),
        (lambda: Residual(8, -0.1), "dropout is -0.1"),
        (lambda: FeedForward(0, 4), "d_model is 0"),
        (lambda: FeedForward(8, 0), "d_ff is 0; .* from 1 on"),
        (lambda: FeedForward(8, 4.0), "d_ff is 4.0; .* whole number"),
        (lambda: ScaledEmbedding(0, 8), "vocab_size is 0"),
        (lambda: ScaledEmbedding(9, -1), "d_model is -1"),
        (
            lambda: make_layer(EncoderLayer, 8, 3, 4),
            "8 cannot be divided among 3 heads",
        ),
        (lambda: make_layer(EncoderLayer, 8, 2, 0), "d_ff is 0"),
        (lambda: make_layer(EncoderLayer, 8, 2, 4, dropout=1.0), "dropout is 1.0"),
        (
            lambda: make_layer(EncoderLayer, 8, 2, 4, attention_dropout=-1),
            "dropout is -1",
        ),
        (lambda: make_layer(DecoderLayer, 0, 2, 4), "d_model is 0"),
        (lambda: make_layer(DecoderLayer, 8, 0, 4), "n_heads is 0"),
        (
            lambda: make_layer(EncoderLayer, 8, 2, 4)(x[0]),
            r"shape \(3, 8\); .*\(B, T, 8\)",
        ),
        (
            lambda: make_layer(DecoderLayer, 8, 2, 4)(x, x[:1]),
            "have 2, 1 and 1 sentences",
        ),
        (lambda: make_layer(DecoderLayer, 8, 2, 4)(x, x[:, :0]), r"no key \(S = 0\)"),
        (
            lambda: make_layer(EncoderLayer, 8, 2, 4)(x, torch.ones(3, 3)),
            "torch.float32; it must be torch.bool",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
