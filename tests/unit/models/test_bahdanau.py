"""Bahdanau's model: word by word from the paper's equations, without batch or pads."""

import pytest
import torch
from compare import close, double, numbers, same, sentences, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.models.bahdanau import Bahdanau, EncodedSource
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
@settings(max_examples=15)
def test_attend_equals_equations_5_and_6(lengths, seed):
    model = model_of(seed)
    s, states = numbers(seed, (len(lengths), H), (len(lengths), max(lengths), 2 * H))
    mask = torch.arange(max(lengths)) < torch.tensor(lengths)[:, None]
    context, weights = model.attend(
        s, EncodedSource(states, model.score.prepare(states), mask)
    )
    inputs = [s, states, *model.score.parameters()]
    for i, n in enumerate(lengths):
        c, alpha = attend_by_loop(s[i], states[i, :n], model.score)
        same(context[i], c, inputs)
        same(weights[i, :n], alpha, inputs)
        assert (weights[i, n:] == 0).all()
        low, high = states[i, :n].aminmax(dim=0)  # a mean lies between
        assert ((low - 1e-12 <= context[i]) & (context[i] <= high + 1e-12)).all()


@given(sizes, seeds)
@settings(max_examples=10)
def test_the_first_state_comes_from_the_backward_state_at_word_1(lengths, seed):
    model, src = model_of(seed), sentences(seed, lengths, WORDS)
    state = model.start(src)
    parameters = [*model.encoder.parameters(), *model.bridge.parameters()]
    for i, n in enumerate(lengths):
        states, backward = read(model.encoder, src[i, :n].tolist())
        same(state.s[i], first_state(model, backward), parameters)
        same(state.source.states[i, :n], torch.stack(states), parameters)
        assert state.source.mask[i].tolist() == [j < n for j in range(max(lengths))]
    assert state.weights.shape == src.shape
    assert not state.weights.any()


@given(sizes, seeds)
@settings(max_examples=10)
def test_a_step_equals_the_formula(lengths, seed):
    model, src = model_of(seed), sentences(seed, lengths, WORDS)
    before = model.start(src)
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


def test_weights_are_computed_before_the_word_of_their_step_is_read():
    """From the state s_{i-1}, not from the current input's vector."""
    model = model_of()
    src, tgt_in = sentences(0, [5], WORDS), sentences(1, [4], WORDS - 1)
    _, before = model(src, tgt_in, need_weights=True)
    changed = tgt_in.clone()
    changed[:, 1] = 4 + (changed[:, 1] - 3) % (WORDS - 5)
    _, after = model(src, changed, need_weights=True)
    assert torch.equal(before[:, :2], after[:, :2])
    assert not torch.isclose(before[:, 2:], after[:, 2:]).any()


@pytest.mark.parametrize("position", [0, 2, 4])
def test_every_annotation_reacts_to_every_source_word(position):
    """The encoder reads from both ends; the first h_j knows the last word."""
    model, src = model_of(), sentences(0, [5], WORDS)
    before = model.start(src).source.states
    changed = src.clone()
    changed[:, position] = 4 + (changed[:, position] - 3) % (WORDS - 4)
    moved = model.start(changed).source.states != before
    assert moved[0].any(-1).all()
    forward, backward = moved[0].split(H, -1)
    assert forward.all(-1).tolist() == [j >= position for j in range(5)]
    assert backward.all(-1).tolist() == [j <= position for j in range(5)]


def test_the_score_has_no_biases():
    """Appendix A.1.2 has none: the parameters are W, U and v."""
    names = [name for name, _ in model_of().score.named_parameters()]
    assert sorted(names) == ["U.weight", "W.weight", "v.weight"]


ids = torch.tensor([[4, 5]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Bahdanau(0, 9), "vocab_size is 0"),
        (lambda: Bahdanau(9, 0), "target_vocab_size is 0; .* from 1 on"),
        (lambda: Bahdanau(9, 9, d_embed=0), "d_embed is 0"),
        (lambda: Bahdanau(9, 9, d_hidden=2.5), "d_hidden is 2.5"),
        (lambda: Bahdanau(9, 9, d_attention=-1), "d_attention is -1"),
        (lambda: Bahdanau(9, 9)(ids[0], ids), r"src has shape \(2,\)"),
        (lambda: Bahdanau(9, 9)(ids, ids.double()), "tgt_in .* type torch.float64"),
        (lambda: Bahdanau(9, 9)(ids, ids.repeat(3, 1)), "1 source but 3 target"),
        (lambda: Bahdanau(9, 9)(ids * 0, ids), "sentence 0 has no word, only padding"),
        (
            lambda: Bahdanau(9, 9).start(torch.tensor([[4], [0]])),
            "sentence 1 has no word, .* leave it out",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
