"""Luong's model: word by word from the paper's equations, without batch or pads."""

import pytest
import torch
from compare import close, double, numbers, same, sentences
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.models.bahdanau import EncodedSource
from attnbook.models.luong import Luong
from attnbook.nn.gru import gru_step
from attnbook.nn.local_attention import ALIGNMENTS, GlobalAlignment
from attnbook.nn.scores import SCORES, GeneralScore

seeds = st.integers(0, 999)
small = st.integers(1, 5)
sizes = st.lists(small, min_size=1, max_size=3)
forms = pytest.mark.parametrize(
    ("score", "align"),
    [*((x, "global") for x in SCORES), *(("general", x) for x in ALIGNMENTS[1:])],
)
feeding = pytest.mark.parametrize("fed", [True, False])
WORDS, E, H, D = 12, 3, 4, 1


def model_of(score="general", align="global", fed=True, seed=0):
    half_width = None if align == "global" else D
    sizes = (WORDS, WORDS - 1, E, H)
    model = double(Luong, *sizes, score, align, half_width, fed, seed=seed)
    if align == "local-p":
        with torch.no_grad():  # else all centres would lie in the middle
            for weight in model.align.parameters():
                weight *= 9
    return model


def attend_by_formula(h, t, states, model):
    """Step t over one sentence without pads: weights, context, equation 5."""
    mask = torch.ones(1, len(states)).bool()
    e = model.score(h[None, None], model.score.prepare(states[None]))
    weights = model.align(e, h[None, None], t, mask)[0, 0]
    c = sum(a * state for a, state in zip(weights, states, strict=True))
    return torch.tanh(model.combine.weight @ torch.cat([c, h])), weights


def translate_by_formula(model, src, tgt_in, fed):
    """h_t → a_t → c_t → h̃_t → logits, over one sentence, from step 0."""
    states, last = model.encoder(src[None])
    h = torch.tanh(model.bridge.weight @ last[0] + model.bridge.bias)
    h_tilde, logits, weights = torch.zeros_like(h), [], []
    for t, y in enumerate(model.embedding(tgt_in)):
        read = torch.cat([y, h_tilde]) if fed else y
        h = gru_step(read[None], h[None], model.gru, "_l0")[0]
        h_tilde, a = attend_by_formula(h, t, states[0], model)
        logits.append(model.out.weight @ h_tilde)  # equation 6, before the softmax
        weights.append(a)
    return torch.stack(logits), torch.stack(weights)


@forms
@feeding
@given(sizes, st.integers(1, 5), seeds)
@settings(max_examples=12)
def test_the_model_equals_the_formulas_word_by_word(
    score, align, fed, lengths, steps, seed
):
    model = model_of(score, align, fed, seed)
    src = sentences(seed, lengths, WORDS)
    tgt_in = sentences(seed + 1, [steps] * len(lengths), WORDS - 1)
    logits, weights = model(src, tgt_in, need_weights=True)
    assert logits.shape == (*tgt_in.shape, WORDS - 1)
    assert weights.shape == (*tgt_in.shape, src.shape[1])
    parameters, state, steps = [*model.parameters()], model.start(src), []
    for token in tgt_in.unbind(1):
        step, state = model.step(token, state)
        steps.append((step, state.weights))
    for ours, step in zip((logits, weights), zip(*steps, strict=True), strict=True):
        same(ours, torch.stack(step, 1), parameters)
    for i, n in enumerate(lengths):
        words, a = translate_by_formula(model, src[i, :n], tgt_in[i], fed)
        same(logits[i], words, parameters)
        same(weights[i, :, :n], a, parameters)
        assert not weights[i, :, n:].any()


def test_dot_attention_equals_pytorchs_without_a_scale():
    model, lengths = model_of("dot"), torch.tensor([5, 2, 1])
    h, states = numbers(0, (3, 4, H), (3, 5, H))
    mask = torch.arange(5) < lengths[:, None]
    h_tilde, _ = model.attend(h, 0, EncodedSource(states, states, mask))
    c = F.scaled_dot_product_attention(
        h, states, states, attn_mask=mask[:, None], scale=1.0
    )
    theirs = torch.tanh(F.linear(torch.cat([c, h], -1), model.combine.weight))
    same(h_tilde, theirs, [h, states, model.combine.weight])


@feeding
def test_without_input_feeding_all_looks_are_taken_at_once(fed, monkeypatch):
    """No state waits for the attention: one call for four steps."""
    model, calls = model_of(fed=fed), []
    attend = model.attend

    def counted(h, *rest):
        calls.append(h.shape[1])
        return attend(h, *rest)

    monkeypatch.setattr(model, "attend", counted)
    model(sentences(0, [5, 3], WORDS), sentences(1, [4, 4], WORDS - 1))
    assert calls == ([1, 1, 1, 1] if fed else [4])


@feeding
def test_a_step_of_decoding_equals_the_formula(fed):
    """From any state: what is fed is the h̃ handed in, and t says where local-m is."""
    model = model_of("dot", "local-m", fed)
    start = model.start(sentences(0, [5], WORDS))
    h, fed_back = numbers(0, (1, H), (1, H))
    state = start._replace(s=h, h_tilde=fed_back, t=3)
    logits, new = model.step(torch.tensor([7]), state)
    y = model.embedding(torch.tensor(7))
    read = torch.cat([y, fed_back[0]]) if fed else y
    h = gru_step(read[None], h, model.gru, "_l0")[0]
    states = start.source.states[0]
    h_tilde, a = attend_by_formula(h, 3, states, model)
    close(new.s[0], h)
    close(new.h_tilde[0], h_tilde)
    close(new.weights[0], a)
    close(logits[0], model.out.weight @ h_tilde)
    assert new.t == 4


def test_input_feeding_the_general_score_and_no_window_are_the_defaults():
    model = Luong(WORDS, WORDS)
    assert model.input_feeding
    assert type(model.score) is GeneralScore
    assert type(model.align) is GlobalAlignment
