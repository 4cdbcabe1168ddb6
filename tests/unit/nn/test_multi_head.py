"""Multi-head attention: equal to its formula and to PyTorch's, head by head."""

import pytest
import torch
from compare import (
    DEVICES,
    agree,
    close,
    double,
    numbers,
    project,
    randomise,
    sentences,
    some_allowed,
)
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import PAD
from attnbook.models.from_torch import attention_from_torch
from attnbook.nn.masks import causal_mask, key_mask, prepare_mask, target_mask
from attnbook.nn.multi_head import MultiHeadAttention, merge_heads, split_heads
from attnbook.nn.scaled_dot_product import attention

small = st.integers(1, 4)
seeds = st.integers(0, 999)
switch = st.booleans()


def self_attention(d=8, h=2, **kwargs):
    return randomise(double(MultiHeadAttention, d, h, **kwargs)).eval()


def pytorchs(d, h, seed=0, **kwargs):
    theirs = double(nn.MultiheadAttention, d, h, batch_first=True, seed=seed, **kwargs)
    return randomise(theirs).eval()


def lengths(draw, b, s):
    """Ids of sentences of 1 to s words, the first as long as the batch."""
    others = [draw(st.integers(1, s)) for _ in range(b - 1)]
    return sentences(0, [s, *others], 20)


def by_heads(mha, query, key, value, mask):
    """Section 3.2.2 as it stands: head after head, with matrices of its own."""
    heads, d_k = [], mha.d_model // mha.n_heads
    for h in range(mha.n_heads):
        rows = slice(h * d_k, (h + 1) * d_k)
        q, k, v = (
            x @ linear.weight[rows].T + linear.bias[rows]
            for x, linear in (
                (query, mha.W_Q),
                (key, mha.W_K),
                (value, mha.W_V),
            )
        )
        head_mask = mask.expand(len(q), mha.n_heads, q.shape[1], k.shape[1])[:, h]
        heads.append(attention(q, k, v, head_mask))
    return torch.cat(heads, -1) @ mha.W_O.weight.T + mha.W_O.bias


@given(small, small, small, small, small, seeds)
@settings(max_examples=25)
def test_it_equals_the_formula_head_by_head(b, t, s, h, d_k, seed):
    mha = self_attention(h * d_k, h, seed=seed)
    d = h * d_k
    query, key, value = numbers(seed, (b, t, d), (b, s, d), (b, s, d))
    g = torch.Generator().manual_seed(seed)
    mask = torch.rand(b, h, t, s, generator=g) < 0.6  # rows of False among them
    loop = by_heads(mha, query, key, value, mask)
    parts = [query, key, value, *mha.parameters()]
    agree(mha(query, key, value, mask), loop, parts)
    agree(mha(query, key, value, mask, need_weights=True)[0], loop, parts)


@given(small, small, small, small, small, switch, switch, st.data())
@settings(max_examples=25)
def test_it_equals_pytorchs(b, t, s, h, d_k, bias, causal, data):
    """Output, gradients and the weights of each head, with each kind of mask."""
    d = h * d_k
    theirs = pytorchs(d, h, bias=bias, seed=t)
    ours = attention_from_torch(theirs)
    query, key, value = numbers(s, (b, t, d), (b, s, d), (b, s, d))
    ids = lengths(data.draw, b, s)
    mask, reading = key_mask(ids), {"key_padding_mask": ids == PAD}
    if causal:
        mask = mask & causal_mask(t, s)
        reading["attn_mask"] = ~causal_mask(t, s)  # True hides, there
    expected, shares = theirs(query, key, value, average_attn_weights=False, **reading)
    parts = [query, key, value]
    agree(ours(query, key, value, mask), expected, parts)
    out, weights = ours(query, key, value, mask, need_weights=True)
    agree(out, expected, parts)
    agree(weights, shares, parts[:2])


def test_the_gradients_of_the_weights_equal_pytorchs():
    theirs = pytorchs(8, 2)
    ours = attention_from_torch(theirs)
    x, memory = numbers(0, (2, 5, 8), (2, 6, 8))
    factors = torch.linspace(-1, 1, 80).double().view(2, 5, 8)
    (ours(x, memory, memory) * factors).sum().backward()
    (theirs(x, memory, memory, need_weights=False)[0] * factors).sum().backward()
    for name in ("weight", "bias"):
        packed = getattr(theirs, f"in_proj_{name}").grad
        rows = [getattr(linear, name).grad for linear in (ours.W_Q, ours.W_K, ours.W_V)]
        close(torch.cat(rows), packed)
        close(getattr(ours.W_O, name).grad, getattr(theirs.out_proj, name).grad)


def test_pytorchs_fast_path_gives_the_same():
    """Without gradients and in eval mode PyTorch takes another way."""
    theirs = pytorchs(8, 2)
    ours = attention_from_torch(theirs)
    x = torch.randn(2, 5, 8, generator=torch.Generator().manual_seed(0)).double()
    with torch.no_grad():
        expected, shares = theirs(x, x, x, average_attn_weights=False)
        out, weights = ours(x, x, x, need_weights=True)
    close(out, expected)
    close(weights, shares)


@pytest.mark.parametrize("bias", [True, False])
def test_a_copy_is_of_the_same_type_device_dropout_and_mode(bias):
    theirs = nn.MultiheadAttention(8, 2, dropout=0.3, bias=bias, dtype=torch.bfloat16)
    for copy in (theirs.train(), theirs.eval()):
        ours = attention_from_torch(copy)
        assert ours.training == copy.training
        assert ours.dropout == 0.3
        assert (ours.W_Q.bias is not None) == bias
        assert {p.dtype for p in ours.parameters()} == {torch.bfloat16}
    assert sum(p.numel() for p in ours.parameters()) == sum(
        p.numel() for p in theirs.parameters()
    )
    ours = attention_from_torch(theirs.to("meta"))
    assert {p.device.type for p in ours.parameters()} == {"meta"}


def test_a_copy_shares_no_memory():
    theirs = pytorchs(8, 2)
    ours = attention_from_torch(theirs)
    before = theirs.in_proj_weight.clone()
    nn.init.zeros_(ours.W_Q.weight)
    assert torch.equal(theirs.in_proj_weight, before)


@pytest.mark.parametrize(
    "kind", [{"kdim": 4}, {"vdim": 4}, {"add_bias_kv": True}, {"add_zero_attn": True}]
)
def test_what_the_paper_does_not_know_is_not_copied(kind):
    with pytest.raises(ValueError, match="kdim, vdim, add_bias_kv or add_zero_attn"):
        attention_from_torch(nn.MultiheadAttention(8, 2, **kind))


@given(small, small, small, small, seeds)
@settings(max_examples=15)
def test_splitting_cuts_numbers_and_not_places(b, t, h, d_k, seed):
    """Head h has numbers h·d_k … of each place, and of no other place."""
    (x,) = numbers(seed, (b, t, h * d_k))
    heads = split_heads(x, h)
    assert heads.shape == (b, h, t, d_k)
    for i in range(h):
        assert torch.equal(heads[:, i], x[:, :, i * d_k : (i + 1) * d_k])
    assert torch.equal(merge_heads(heads), x)


def test_the_batched_product_equals_the_sum_over_the_width():
    """For each sentence and head a matrix (T, S): d is summed away."""
    q, k = numbers(0, (2, 3, 8), (2, 5, 8))
    q4, k4 = q.view(2, 3, 4, 2), k.view(2, 5, 4, 2)
    summed = torch.einsum("bthd,bshd->bhts", q4, k4)
    close(split_heads(q, 4) @ split_heads(k, 4).mT, summed)


@pytest.mark.parametrize(("h", "n"), [(8, 8), (8, 16), (8, 12), (2, 6)])
def test_every_place_reacts_to_every_place(h, n):
    """A wrong split keeps it within small blocks of neighbours."""
    mha = self_attention(16, h)
    (x,) = numbers(0, (2, n, 16))
    assert (influence(lambda x: mha(x, x, x), x.detach()) > 1e-6).all()


@pytest.mark.parametrize(("h", "n", "seen"), [(8, 8, 1), (8, 16, 2), (2, 6, 3)])
def test_the_wrong_split_keeps_to_small_blocks(h, n, seen):
    """The wrong way: blocks of n/h neighbours, and not PyTorch's result."""
    right = self_attention(16, h)
    wrong = double(WrongSplit, 16, h)
    wrong.load_state_dict(right.state_dict())
    (x,) = numbers(0, (2, n, 16))
    found = influence(lambda x: wrong(x, x, x), x.detach()) > 1e-6
    blocks = torch.arange(n) // seen
    assert torch.equal(found, blocks == blocks[:, None])
    assert (wrong(x, x, x) - right(x, x, x)).abs().max() > 0.1


def test_a_mask_repeated_over_the_heads_falls_on_other_sentences():
    """The wrong way: heads and sentences as one axis, but in the other order."""
    mha, ids = self_attention(16, 8), sentences(0, [5, 2], 20)
    x = vectors(ids, 0, width=16)
    q, k, v = (y.flatten(0, 1) for y in project(mha, x, x, x))  # (B·H, T, d_k)
    mask = key_mask(ids)[:, 0]  # (B, 1, S)
    _, right = mha(x, x, x, key_mask(ids), need_weights=True)
    for repeated, same in (
        (mask.repeat_interleave(8, 0), 16),
        (mask.repeat(8, 1, 1), 8),
    ):
        _, weights = attention(q, k, v, repeated, need_weights=True)
        equal = [
            torch.allclose(*pair)
            for pair in zip(weights, right.flatten(0, 1), strict=True)
        ]
        assert sum(equal) == same


def test_heads_that_share_one_projection_do_not_see_all_numbers():
    """The wrong way: split first, then d_k × d_k. Head 0 has its own part only."""
    (x,) = numbers(0, (1, 5, 8))
    linear = double(nn.Linear, 2, 2)
    changed = x.detach().clone()
    changed[..., -1] += 1
    before, after = (linear(split_heads(y, 4)) for y in (x, changed))
    assert torch.equal(before[:, :3], after[:, :3])
    same = x.detach()[..., :2].repeat(1, 1, 4)
    assert torch.equal(*linear(split_heads(same, 4))[:, :2].unbind(1))


def test_without_projections_the_heads_of_equal_parts_are_equal():
    """W^Q, W^K and W^V are what makes heads differ."""
    part = numbers(0, (1, 5, 2))[0].detach()
    heads = split_heads(part.repeat(1, 1, 4), 4)
    _, weights = attention(heads, heads, heads, need_weights=True)
    for head in weights[0, 1:]:
        assert torch.equal(head, weights[0, 0])


def test_each_head_reacts_to_every_number_of_a_place():
    """The projections come before the split: W^Q is D × D."""
    mha = self_attention(8, 4)
    assert mha.W_Q.weight.shape == (8, 8)
    (x,) = numbers(0, (1, 5, 8))
    before = project(mha, x, x, x)
    for i in range(8):
        changed = x.detach().clone()
        changed[..., i] += 1
        for one, other in zip(
            before, project(mha, changed, changed, changed), strict=True
        ):
            assert ((one - other).abs().amax((0, 2, 3)) > 1e-6).all()


def test_heads_differ():
    """Also where all numbers of a place are equal, thanks to W^Q and W^K."""
    torch.manual_seed(0)
    mha = MultiHeadAttention(8, 4)
    x = torch.randn(1, 5, 1).expand(1, 5, 8)
    _, weights = mha(x, x, x, need_weights=True)
    for i in range(4):
        for j in range(i):
            assert (weights[0, i] - weights[0, j]).abs().max() > 1e-3


def test_self_attention_is_not_symmetric():
    """One source, but three projections: not Q = K = V."""
    torch.manual_seed(0)
    mha = MultiHeadAttention(32, 2)
    x = torch.randn(1, 20, 32)
    q, k, v = project(mha, x, x, x)
    assert not torch.allclose(q, k, atol=0.1)
    assert not torch.allclose(k, v, atol=0.1)
    scores = q @ k.mT
    assert not torch.allclose(scores, scores.mT, atol=0.1)
    wins = scores.argmax(-1) == torch.arange(20)
    assert wins.float().mean() < 0.5
    same = x @ x.mT  # literally equal queries and keys
    assert torch.equal(same.argmax(-1)[0], torch.arange(20))
    torch.testing.assert_close(same, same.mT)


@pytest.mark.parametrize(("bias", "number"), [(True, 1_050_624), (False, 1_048_576)])
@pytest.mark.parametrize("h", [1, 8, 64])
def test_the_number_of_parameters_does_not_depend_on_the_heads(h, bias, number):
    with torch.device("meta"):
        mha = MultiHeadAttention(512, h, bias=bias)
    assert sum(p.numel() for p in mha.parameters()) == number


def test_at_the_start_the_scores_have_variance_one():
    """What the scale reckons with: neither 8 nor 1/8 of it."""
    torch.manual_seed(0)
    mha = MultiHeadAttention(256, 8)
    x = torch.randn(4, 64, 256)
    q, k, _ = project(mha, x, x, x)
    assert (q @ k.mT / 32**0.5).std().item() == pytest.approx(1, abs=0.1)
    assert all(not linear.bias.any() for linear in (mha.W_Q, mha.W_K, mha.W_V, mha.W_O))


def test_heads_of_width_four_work():
    """Where one division by the number of heads too many would give 0."""
    x = torch.zeros(1, 3, 32)
    assert MultiHeadAttention(32, 8)(x, x, x).shape == (1, 3, 32)


def test_a_bias_of_the_keys_changes_nothing_one_of_the_queries_does():
    mha = self_attention(8, 2)
    (x,) = numbers(0, (2, 5, 8))
    before = mha(x, x, x)
    nn.init.normal_(mha.W_K.bias, std=3.0)
    close(mha(x, x, x), before)
    nn.init.normal_(mha.W_Q.bias, std=3.0)
    assert (mha(x, x, x) - before).abs().max() > 1e-3


def vectors(ids, seed, pads=0.0, width=8):
    """A vector for each word of a table of 20, and any for the pads."""
    (table,) = numbers(seed, (20, width))
    table = table.detach()
    table[PAD] = pads
    return table[ids]


@pytest.mark.parametrize("h", [1, 2, 8])
@pytest.mark.parametrize("left", [False, True], ids=["right", "left"])
@pytest.mark.parametrize("make_mask", [key_mask, target_mask])
def test_padding_changes_no_real_output(h, left, make_mask):
    """Lengths differ, B·H > B; pads on the left leak without key mask."""
    mha = self_attention(8, h)
    ids = sentences(0, [5, 2, 3], 20)
    if left:
        ids = ids.flip(1)
    mask, real = make_mask(ids), ids != PAD
    x = vectors(ids, 0)
    out = mha(x, x, x, mask)
    y = vectors(ids, 0, pads=50.0)
    assert torch.equal(mha(y, y, y, mask)[real], out[real])
    assert out.isfinite().all()  # rows of a pad that sees nothing are among them
    for row, words, is_real in zip(out, ids, real, strict=True):
        alone = vectors(words[is_real][None], 0)
        own = make_mask(words[is_real][None])
        close(row[is_real], mha(alone, alone, alone, own)[0])


def test_a_left_padded_row_without_any_key_is_what_nothing_gives():
    """Zeros from every head; W^O adds its bias."""
    mha = self_attention(8, 2)
    ids = torch.tensor([[PAD, PAD, 5, 6]])
    x = vectors(ids, 0)
    out, weights = mha(x, x, x, target_mask(ids), need_weights=True)
    assert (weights[0, :, :2] == 0).all()
    close(out[0, :2], mha.W_O.bias.expand(2, -1))


@pytest.mark.parametrize("need_weights", [False, True])
@pytest.mark.parametrize(
    "dtype", [torch.float64, torch.float32, torch.bfloat16, torch.float16]
)
def test_a_row_without_any_key_in_every_type(need_weights, dtype):
    """No NaN, not in a gradient either; a whole sentence of pads too."""
    mha = self_attention(8, 2).to(dtype)
    ids = torch.tensor([[PAD, PAD, 5, 6], [PAD] * 4])
    x = vectors(ids, 0).to(dtype).requires_grad_()
    with torch.autograd.set_detect_anomaly(True):
        out = mha(x, x, x, target_mask(ids), need_weights=need_weights)
        out = out[0] if need_weights else out
        out.square().sum().backward()
    empty = torch.tensor([[True, True, False, False], [True] * 4])
    assert torch.equal(out[empty], mha.W_O.bias.expand(6, -1))
    assert x.grad.isfinite().all()
    assert (x.grad[empty] == 0).all()
    assert x.grad[~empty].any()
    assert all(p.grad.isfinite().all() for p in mha.parameters())


def test_without_a_key_mask_pads_on_the_left_leak():
    """The wrong way: pads on the right are later, those on the left are not."""
    mha, ids = self_attention(8, 2), sentences(0, [5, 2, 3], 20)
    for row, leaks in ((ids, False), (ids.flip(1), True)):
        x, y = vectors(row, 0), vectors(row, 0, pads=50.0)
        before, after = (mha(z, z, z, causal_mask(5))[row != PAD] for z in (x, y))
        assert torch.equal(before, after) != leaks


def test_a_mask_of_the_queries_leaves_weight_on_pads_of_the_source():
    """The wrong way: with T = S it does not crash, and is wrong."""
    mha = self_attention(8, 2)
    src, tgt = sentences(0, [6, 2], 20), sentences(1, [6, 4], 20)
    memory, x = vectors(src, 0), vectors(tgt, 1)
    _, weights = mha(x, memory, memory, key_mask(tgt), need_weights=True)
    assert (weights[1, :, :, 2:4] > 0).all()  # two pads of the source


@pytest.mark.parametrize("t", [4, 6])
def test_no_weight_lies_on_pads_of_the_source(t):
    """With T ≠ S, and with T = S, where a mixed-up mask would not crash."""
    mha = self_attention(8, 2)
    src, tgt = sentences(0, [6, 4], 20), sentences(1, [t, 2], 20)
    memory, x = vectors(src, 0), vectors(tgt, 1)
    _, weights = mha(x, memory, memory, key_mask(src), need_weights=True)
    assert weights.shape == (2, 2, t, 6)
    assert (weights[1, :, :, 4:] == 0).all()
    assert (weights[1, :, :, :4] > 0).all()
    assert (weights[0] > 0).all()
    close(weights.sum(-1), torch.ones(2, 2, t).double())


def test_no_place_reacts_to_a_later_one_in_any_mode():
    """The mask does not depend on the mode."""
    mha = self_attention(8, 2)
    (x,) = numbers(0, (2, 6, 8))
    for mode in (True, False):
        mha.train(mode)
        moved = influence(lambda x: mha(x, x, x, causal_mask(6)), x.detach()) > 0
        assert torch.equal(moved, causal_mask(6))


def test_word_by_word_equals_all_at_once():
    mha = self_attention(8, 2)
    (x,) = numbers(0, (2, 6, 8))
    together = mha(x, x, x, causal_mask(6))
    for i in range(6):
        mask = causal_mask(1, offset=i)
        one = mha(x[:, i : i + 1], x[:, : i + 1], x[:, : i + 1], mask)
        close(one, together[:, i : i + 1])


def test_without_positions_it_is_blind_to_order_unless_causal():
    mha = self_attention(8, 2)
    (x,) = numbers(0, (2, 6, 8))
    order = torch.tensor([3, 1, 0, 5, 2, 4])
    y = x[:, order]
    close(mha(y, y, y), mha(x, x, x)[:, order])
    blind = mha(y, y, y, causal_mask(6)) - mha(x, x, x, causal_mask(6))[:, order]
    assert blind.abs().max() > 0.1


def test_weights_are_those_before_dropout_and_only_dropout_knows_the_mode():
    mha = self_attention(8, 2, dropout=0.5)
    (x,) = numbers(0, (2, 6, 8))
    out, weights = mha(x, x, x, need_weights=True)
    close(mha(x, x, x), out)
    mha.train()
    for _ in range(2):
        dropped, found = mha(x, x, x, need_weights=True)
        close(found, weights)
        assert not torch.allclose(dropped, out)
        assert not torch.allclose(mha(x, x, x), out)
    mha.dropout = 0.0
    close(mha(x, x, x), out)


def test_the_bias_of_scores_is_passed_on():
    mha = self_attention(8, 2)
    x, bias = numbers(0, (2, 6, 8), (1, 2, 6, 6))
    q, k, v = project(mha, x, x, x)
    wanted = mha.W_O(merge_heads(attention(q, k, v, score_bias=bias)))
    agree(mha(x, x, x, score_bias=bias), wanted, [x, bias])
    out, _ = mha(x, x, x, score_bias=bias, need_weights=True)
    agree(out, wanted, [x, bias])


def test_kept_keys_and_values_are_as_good_as_fresh_ones():
    """For whoever keeps keys and values: first make them, then attend."""
    mha = self_attention(8, 2)
    x, key, value = numbers(0, (2, 3, 8), (2, 5, 8), (2, 5, 8))
    mask, (bias,) = some_allowed(0, 2, 2, 3, 5), numbers(1, (2, 2, 3, 5))
    kept = mha.keys_values(key, value)
    assert kept.k.shape == kept.v.shape == (2, 2, 5, 4)
    close(kept.k, split_heads(key @ mha.W_K.weight.T + mha.W_K.bias, 2))
    close(kept.v, split_heads(value @ mha.W_V.weight.T + mha.W_V.bias, 2))
    kinds = {"score_bias": bias, "need_weights": True}
    out, weights = mha(x, kept=kept, mask=mask, **kinds)
    wanted, shares = mha(x, key, value, mask, **kinds)
    assert torch.equal(out, wanted)
    assert torch.equal(weights, shares)
    close(mha(x, kept=kept, mask=mask, score_bias=bias), wanted)
    halves = [mha.keys_values(key[:, :2], value[:, :2])]
    halves.append(mha.keys_values(key[:, 2:], value[:, 2:]))
    for one, other in zip(halves[0].extend(halves[1]), kept, strict=True):
        close(one, other)


def test_attending_with_kept_keys_drops_weights_in_training_alone():
    mha = self_attention(8, 2, dropout=0.5)
    (x,) = numbers(0, (2, 6, 8))
    kept = mha.keys_values(x, x)
    assert torch.equal(mha(x, kept=kept), mha(x, kept=kept))
    mha.train()
    assert not torch.equal(mha(x, kept=kept), mha(x, kept=kept))


@pytest.mark.parametrize("given", [{}, {"key": torch.zeros(2, 3, 8)}])
def test_without_keys_or_values_it_asks_for_them(given):
    with pytest.raises(ValueError, match="no key or no value; give both"):
        self_attention(8, 2)(torch.zeros(2, 3, 8).double(), **given)


@pytest.mark.parametrize("need_weights", [False, True])
@given(seeds=st.integers(0, 999))
@settings(max_examples=10)
def test_a_prepared_mask_is_as_good_as_the_mask(need_weights, seeds):
    """Fully masked rows among them: zeros in both."""
    g = torch.Generator().manual_seed(seeds)
    mask = torch.rand(2, 1, 4, 5, generator=g) < 0.4
    mask[0, 0, 1] = False
    q, k, v = numbers(seeds, (2, 2, 4, 3), (2, 2, 5, 3), (2, 2, 5, 3))
    one = attention(q, k, v, mask, need_weights=need_weights)
    other = attention(q, k, v, prepare_mask(mask), need_weights=need_weights)
    one, other = (x if need_weights else (x,) for x in (one, other))
    for a, b in zip(one, other, strict=True):
        assert torch.equal(a, b)
    assert not one[0][0, :, 1].any()
    assert prepare_mask(prepared := prepare_mask(mask)) is prepared


def test_its_weights_can_be_stored_and_read():
    one, other = self_attention(8, 2, seed=0), self_attention(8, 2, seed=1)
    other.load_state_dict(one.state_dict())
    (x,) = numbers(0, (2, 6, 8))
    assert torch.equal(other(x, x, x), one(x, x, x))


@pytest.mark.parametrize("device", DEVICES)
def test_works_on_every_device(device):
    """Nothing is moved by hand; 'meta' knows shapes and no numbers."""
    mha = MultiHeadAttention(8, 2).to(device)
    x, memory = torch.ones(2, 3, 8, device=device), torch.ones(2, 5, 8, device=device)
    ids = torch.ones(2, 5, device=device, dtype=torch.int64)
    out, weights = mha(x, memory, memory, key_mask(ids), need_weights=True)
    assert mha(x, memory, memory, key_mask(ids)).device.type == device
    assert out.device.type == weights.device.type == device
    assert out.shape == (2, 3, 8)
    assert weights.shape == (2, 2, 3, 5)


@pytest.mark.parametrize("need_weights", [False, True])
def test_works_in_less_precise_types_and_under_autocast(need_weights):
    mha = self_attention(32, 4)
    (x,) = numbers(0, (2, 6, 32))
    mask = target_mask(sentences(0, [6, 3], 20))
    exact = mha(x, x, x, mask)
    half, plain = MultiHeadAttention(32, 4).bfloat16(), MultiHeadAttention(32, 4)
    for model in (half, plain):
        model.load_state_dict(mha.state_dict())
    y = x.detach().float()
    with torch.autocast("cpu", torch.bfloat16):
        found = [plain(y, y, y, mask, need_weights=need_weights)]
    y = y.bfloat16()
    found.append(half(y, y, y, mask, need_weights=need_weights))
    for out in found:
        out = out[0] if need_weights else out
        assert out.dtype == torch.bfloat16
        close(out.double(), exact, 0.04 * exact.abs().max().item())


def test_compiles_without_a_graph_break():
    torch._dynamo.reset()
    mha = self_attention(8, 2)

    def call(x, ids, need_weights):
        return mha(x, x, x, target_mask(ids), need_weights=need_weights)

    fast = torch.compile(call, fullgraph=True, backend="eager")
    for n in (4, 6):
        (x,) = numbers(0, (2, n, 8))
        ids = sentences(0, [n, 2], 20)
        for need in (False, True):
            torch.testing.assert_close(fast(x, ids, need), call(x, ids, need))


mha = MultiHeadAttention(8, 2)
x = torch.zeros(2, 3, 8)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: MultiHeadAttention(100, 8), "100 .* 8 heads; .* such as 104"),
        (lambda: MultiHeadAttention(256, 6), "256 cannot be divided among 6 heads"),
        (lambda: MultiHeadAttention(4, 8), "4 cannot be divided among 8 .* as 8"),
        (lambda: MultiHeadAttention(8, 0), "n_heads is 0; .* from 1 on"),
        (lambda: MultiHeadAttention(-8, 2), "d_model is -8"),
        (lambda: MultiHeadAttention(8, 2, dropout=1.5), "dropout is 1.5"),
        (lambda: mha(x[0], x, x), r"query has shape \(3, 8\); .*\(B, T, 8\), batch"),
        (lambda: mha(x, x[..., :4], x), r"key has shape \(2, 3, 4\).*\(B, S, 8\)"),
        (lambda: mha(x, x, x[None]), r"value has shape \(1, 2, 3, 8\).*\(B, S, 8\)"),
        (lambda: mha(x, x[:1], x[:1]), "have 2, 1 and 1 sentences"),
        (lambda: mha(x, x, x[:, :2]), "3 keys, but 2 values"),
        (lambda: mha(x, x[:, :0], x[:, :0]), r"no key \(S = 0\)"),
        (
            lambda: mha(x, x, x, torch.ones(3, 3)),
            "torch.float32; it must be torch.bool",
        ),
        (
            lambda: mha(x, x, x, torch.ones(2, 3, 3).bool()),
            r"\(2, 3, 3\): is its first axis B or H\? mask\[:, None\]",
        ),
        (
            lambda: mha(x, x, x, torch.ones(3, 4).bool()),
            r"shape \(3, 4\), the scores \(2, 2, 3, 3\)",
        ),
        (
            lambda: mha(x, x, x, score_bias=torch.ones(1, 3, 3, 3)),
            r"score_bias has shape \(1, 3, 3, 3\), the scores \(2, 2, 3, 3\)",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_bias_of_three_axes_is_refused_like_a_mask():
    mha, x = MultiHeadAttention(8, 2), torch.randn(2, 5, 8)
    with pytest.raises(ValueError, match=r"score_bias has shape .*B or H"):
        mha(x, x, x, score_bias=torch.zeros(2, 5, 5))


def test_a_copy_takes_the_batch_first_whatever_the_original_does():
    torch.manual_seed(0)
    theirs, x = torch.nn.MultiheadAttention(8, 2), torch.randn(4, 3, 8)
    ours = attention_from_torch(theirs)
    turned = x.transpose(0, 1)
    close(ours(x, x, x), theirs(turned, turned, turned)[0].transpose(0, 1), atol=1e-6)
