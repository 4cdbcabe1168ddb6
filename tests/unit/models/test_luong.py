"""Luong's model: word by word from the paper's equations, without batch or pads."""

import pytest
import torch
from compare import double, same, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

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


def test_input_feeding_the_general_score_and_no_window_are_the_defaults():
    model = Luong(WORDS, WORDS)
    assert model.input_feeding
    assert type(model.score) is GeneralScore
    assert type(model.align) is GlobalAlignment
