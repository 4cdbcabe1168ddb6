"""GRU, encoder, decoders: equal to the formula and to nn.GRU, blind to padding."""

import pytest
import torch
from compare import double, same, step_by_step
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.core.vocabulary import PAD
from attnbook.data.batching import pad
from attnbook.models.seq2seq import Encoder, InitialState, StaticContext
from attnbook.nn.gru import gru_step
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch

small = st.integers(1, 7)
MODELS = {
    "initial state": InitialState,
    "static, last": StaticContext,
    "static, mean": lambda *sizes: StaticContext(*sizes, summary="mean"),
}


def model_of(name, seed=0):
    return double(MODELS[name], len(SOURCE), len(TARGET), seed=seed)


@pytest.fixture(params=MODELS)
def model(request):
    return model_of(request.param)


@pytest.fixture
def batch():
    pairs = [held_out_pairs(n, 2)[i] for n in (1, 2, 3) for i in (0, 1)]
    return make_batch(pairs)


def gru_by_loop(x, h, w, u, b, c):
    """One number at a time, straight from the formula."""
    rows, width = h.shape
    new = torch.empty_like(h)

    def term(matrix, vector, bias, row):
        total = bias[row]
        for k in range(len(vector)):
            total = total + matrix[row, k] * vector[k]
        return total

    for i in range(rows):
        for j in range(width):
            r = torch.sigmoid(term(w, x[i], b, j) + term(u, h[i], c, j))
            z_row, n_row = width + j, 2 * width + j
            z = torch.sigmoid(term(w, x[i], b, z_row) + term(u, h[i], c, z_row))
            n = torch.tanh(term(w, x[i], b, n_row) + r * term(u, h[i], c, n_row))
            new[i, j] = (1 - z) * n + z * h[i, j]
    return new


@given(small, small, small, st.integers(0, 99))
@settings(max_examples=20)
def test_gru_step_equals_the_loop_and_grucell(rows, d_in, d_hidden, seed):
    cell = double(nn.GRUCell, d_in, d_hidden, seed=seed)
    x = torch.randn(rows, d_in).double()
    h = torch.randn(rows, d_hidden).double()
    weights = (cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh)
    ours = gru_step(x, h, cell)
    assert torch.allclose(ours, gru_by_loop(x, h, *weights), atol=1e-12)
    same(ours, cell(x, h), weights)


@given(st.lists(small, min_size=1, max_size=5), st.booleans(), st.integers(0, 99))
@settings(max_examples=20, deadline=None)
def test_encoder_equals_gru_steps_on_each_sentence(lengths, both_ways, seed):
    encoder = double(Encoder, 20, 3, 4, both_ways, seed=seed)
    g = torch.Generator().manual_seed(seed)
    rows = [torch.randint(3, 20, (n,), generator=g).tolist() for n in lengths]
    states, last = encoder(pad(rows))
    ours, ours_last = [], []
    for row in rows:
        x = encoder.embedding(torch.tensor(row))
        ways = [("_l0", range(len(row)))]
        if both_ways:
            ways.append(("_l0_reverse", reversed(range(len(row)))))
        halves, ends = [], []
        for suffix, order in ways:
            h, found = torch.zeros(1, 4).double(), {}
            for j in order:
                found[j] = h = gru_step(x[j : j + 1], h, encoder.gru, suffix)
            halves.append(torch.cat([found[j] for j in range(len(row))]))
            ends.append(h)
        ours.append(torch.cat(halves, -1))
        ours_last.append(torch.cat(ends, -1))
    wanted = torch.nn.utils.rnn.pad_sequence(ours, batch_first=True)  # with zeros
    for found, right in ((states, wanted), (last, torch.cat(ours_last))):
        same(found, right, encoder.parameters())


def test_step_by_step_equals_all_at_once(model, batch):
    logits = model(batch.src, batch.tgt_in)
    assert logits.shape == (*batch.tgt_in.shape, len(TARGET))
    same(logits, step_by_step(model, batch.src, batch.tgt_in), model.parameters())


@pytest.mark.parametrize("name", MODELS)
def test_decoder_equals_gru_steps_from_the_formula(name, batch):
    model = model_of(name)
    states, c = model.encoder(batch.src)
    if name == "static, mean":
        pairs = zip(states, batch.src, strict=True)
        c = torch.stack([row[ids != PAD].mean(0) for row, ids in pairs])
    s = torch.tanh(c @ model.bridge.weight.T + model.bridge.bias)
    logits = model(batch.src, batch.tgt_in)
    for i, token in enumerate(batch.tgt_in.unbind(1)):
        y = model.embedding(token)
        seen = [y] if name == "initial state" else [y, c]
        s = gru_step(torch.cat(seen, -1), s, model.gru, "_l0")
        hidden = torch.tanh(model.readout.hidden(torch.cat([s, *seen], -1)))
        assert torch.allclose(logits[:, i], model.readout.out(hidden), atol=1e-12)
