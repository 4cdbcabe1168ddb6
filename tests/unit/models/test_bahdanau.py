"""Bahdanau's model: word by word from the paper's equations, without batch or pads."""

import torch
from compare import close, double, numbers, same, sentences, stacked
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


def score_by_loop(s, h, score):
    """Appendix A.1.2, one number at a time."""
    w, u, v = score.W.weight, score.U.weight, score.v.weight[0]
    total = 0
    for a in range(len(v)):
        inside = sum(w[a, k] * s[k] for k in range(len(s)))
        inside = inside + sum(u[a, k] * h[k] for k in range(len(h)))
        total = total + v[a] * torch.tanh(inside)
    return total


def attend_by_loop(s, states, score):
    """Equations 6 and 5 for one sentence: the weights, then the context."""
    e = [score_by_loop(s, h, score) for h in states]
    total = sum(x.exp() for x in e)
    alpha = [x.exp() / total for x in e]
    context = [
        sum(a * h[k] for a, h in zip(alpha, states, strict=True))
        for k in range(len(states[0]))
    ]
    return stacked(context), stacked(alpha)


def read(encoder, ids):
    """Section 3.2: h_j = [forward; backward], and the backward state at word 1."""
    words = encoder.embedding(torch.tensor(ids))
    halves = {}
    for suffix, order in (("_l0", 1), ("_l0_reverse", -1)):
        h, found = torch.zeros(1, H).double(), []
        for x in words if order == 1 else words.flip(0):
            h = gru_step(x[None], h, encoder.gru, suffix)
            found.append(h[0])
        halves[suffix] = found[::order]
    pairs = zip(halves["_l0"], halves["_l0_reverse"], strict=True)
    return [torch.cat(pair) for pair in pairs], halves["_l0_reverse"][0]


def first_state(model, backward):
    """s_0 = tanh(W_s ←h_1), with a bias."""
    return torch.tanh(model.bridge.weight @ backward + model.bridge.bias)


def step_by_formula(model, token, s, states):
    """s_{i-1} → α_i → c_i → s_i → logits, for one sentence."""
    y = model.embedding(torch.tensor(token))
    c, alpha = attend_by_loop(s, states, model.score)
    s = gru_step(torch.cat([y, c])[None], s[None], model.cell)[0]
    hidden, out = model.readout.hidden, model.readout.out
    t = torch.tanh(hidden.weight @ torch.cat([s, y, c]) + hidden.bias)
    return out.weight @ t + out.bias, alpha, s


def translate_by_formula(model, src, tgt_in):
    """The whole model over one sentence: logits, (T, V), and weights, (T, S)."""
    states, backward = read(model.encoder, src)
    s, logits, weights = first_state(model, backward), [], []
    for token in tgt_in:
        word, alpha, s = step_by_formula(model, token, s, states)
        logits.append(word)
        weights.append(alpha)
    return torch.stack(logits), torch.stack(weights)


@given(sizes, seeds)
@settings(max_examples=10)
def test_a_step_equals_the_formula(lengths, seed):
    model, src = model_of(seed), sentences(seed, lengths, WORDS)
    before = model.start(src)
    assert before.weights.shape == src.shape
    assert not before.weights.any()
    s = numbers(seed, before.s.shape)[0]
    token = sentences(seed, [len(lengths)], WORDS - 1)[0]
    logits, after = model.step(token, before._replace(s=s))
    assert after.source is before.source
    for i, n in enumerate(lengths):
        states, _ = read(model.encoder, src[i, :n].tolist())
        word, alpha, new = step_by_formula(model, token[i].item(), s[i], states)
        same(logits[i], word, [s, *model.parameters()])
        close(after.weights[i, :n], alpha)
        same(after.s[i], new, [s, *model.parameters()])


@given(sizes, small, seeds)
@settings(max_examples=10)
def test_the_model_equals_the_formulas_word_by_word(lengths, steps, seed):
    model = model_of(seed)
    src = sentences(seed, lengths, WORDS)
    tgt_in = sentences(seed + 1, [steps] * len(lengths), WORDS - 1)
    logits, weights = model(src, tgt_in, need_weights=True)
    assert logits.shape == (*tgt_in.shape, WORDS - 1)
    assert weights.shape == (*tgt_in.shape, src.shape[1])
    parameters = [*model.parameters()]
    for i, n in enumerate(lengths):
        words, alpha = translate_by_formula(
            model, src[i, :n].tolist(), tgt_in[i].tolist()
        )
        same(logits[i], words, parameters)
        same(weights[i, :, :n], alpha, parameters)
        assert not weights[i, :, n:].any()
