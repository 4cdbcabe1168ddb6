"""Bahdanau's model: word by word from the paper's equations, without batch or pads."""

import torch
from compare import close, double, same, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.models.bahdanau import Bahdanau
from attnbook.nn.gru import gru_step

seeds = st.integers(0, 999)
small = st.integers(1, 5)
sizes = st.lists(small, min_size=1, max_size=3)
WORDS, E, H, A = 12, 3, 4, 5


def model_of(seed=0):
    """Widths that all differ, so that no two matrices can be mistaken."""
    return double(Bahdanau, WORDS, WORDS - 1, E, H, A, seed=seed)


def translate_by_formula(model, src, tgt_in):
    """s_{i-1} → α_i → c_i → s_i → logits, over one sentence: logits and weights.

    The score and the encoder have tests of their own.
    """
    states, last = model.encoder(src[None])
    backward = last[0, H:]  # ←h_1
    s, logits, weights = torch.tanh(model.bridge(backward)), [], []
    hidden, out = model.readout.hidden, model.readout.out
    for y in model.embedding(tgt_in):
        e = model.score(s[None, None], model.score.prepare(states))[0, 0]
        alpha = e.exp() / e.exp().sum()
        c = sum(a * h for a, h in zip(alpha, states[0], strict=True))
        s = gru_step(torch.cat([y, c])[None], s[None], model.cell)[0]
        t = torch.tanh(hidden.weight @ torch.cat([s, y, c]) + hidden.bias)
        logits.append(out.weight @ t + out.bias)
        weights.append(alpha)
    return torch.stack(logits), torch.stack(weights)


@given(sizes, small, seeds)
@settings(max_examples=10)
def test_the_model_equals_the_formulas_word_by_word(lengths, steps, seed):
    model = model_of(seed)
    src = sentences(seed, lengths, WORDS)
    tgt_in = sentences(seed + 1, [steps] * len(lengths), WORDS - 1)
    logits, weights = model(src, tgt_in, need_weights=True)
    assert logits.shape == (*tgt_in.shape, WORDS - 1)
    assert weights.shape == (*tgt_in.shape, src.shape[1])
    parameters, state = [*model.parameters()], model.start(src)
    for t, token in enumerate(tgt_in.unbind(1)):
        step, state = model.step(token, state)
        close(step, logits[:, t])
        close(state.weights, weights[:, t])
    for i, n in enumerate(lengths):
        words, alpha = translate_by_formula(model, src[i, :n], tgt_in[i])
        same(logits[i], words, parameters)
        same(weights[i, :, :n], alpha, parameters)
        assert not weights[i, :, n:].any()
