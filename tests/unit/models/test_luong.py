"""Luong's model: word by word from the paper's equations, without batch or pads."""

import pytest
import torch
from compare import close, double, numbers, same, sentences, stacked
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
    ("score", "align"), [(score, align) for score in SCORES for align in ALIGNMENTS]
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


def drawn(seed, lengths, steps, model):
    """States of a decoder, (B, T, H), and a source for them."""
    rows, max_len = len(lengths), max(lengths)
    h, states = numbers(seed, (rows, steps, H), (rows, max_len, H))
    mask = torch.arange(max_len) < torch.tensor(lengths)[:, None]
    return h, EncodedSource(states, model.score.prepare(states), mask)


def score_of(h, state, position, name, score):
    """The four scores of section 3.1 for one state and one place."""
    if name == "dot":
        return h @ state
    if name == "general":
        return h @ score.W.weight @ state
    if name == "location":
        return score.W.weight[position] @ h  # equation 8
    both = torch.cat([score.W.weight, score.U.weight], 1) @ torch.cat([h, state])
    return score.v.weight[0] @ torch.tanh(both)


def centre_of(h, t, length, name, align):
    """p_t of section 3.2; None means that the whole sentence is used."""
    if name == "local-p":
        share = torch.sigmoid(align.v.weight[0] @ torch.tanh(align.W.weight @ h))
        return min(length * share, torch.tensor(length - 1.0).double())  # equation 9
    return t if name == "local-m" else None


def align_by_loop(h, t, states, model, score, align):
    """Equations 7 to 10: the weights of step t over the places of one sentence."""
    positions = range(len(states))
    p = centre_of(h, t, len(states), align, model.align)
    inside = [s for s in positions if p is None or abs(s - p) <= D]
    e = {s: score_of(h, states[s], s, score, model.score).exp() for s in inside}
    weights = [0 * h.sum()] * len(states)
    for s in inside:
        weights[s] = e[s] / sum(e.values())
        if align == "local-p":
            weights[s] = weights[s] * torch.exp(-((s - p) ** 2) / (2 * (D / 2) ** 2))
    return torch.stack(weights)


def attend_by_loop(h, t, states, model, score, align):
    """Weights, context, equation 5."""
    weights = align_by_loop(h, t, states, model, score, align)
    c = sum(a * state for a, state in zip(weights, states, strict=True))
    return torch.tanh(model.combine.weight @ torch.cat([c, h])), weights


def translate_by_formula(model, src, tgt_in, score, align, fed):
    """h_t → a_t → c_t → h̃_t → logits, over one sentence, from step 0."""
    states, last = model.encoder(src[None])
    h = torch.tanh(model.bridge.weight @ last[0] + model.bridge.bias)
    h_tilde, logits, weights = torch.zeros_like(h), [], []
    for t, y in enumerate(model.embedding(tgt_in)):
        read = torch.cat([y, h_tilde]) if fed else y
        h = gru_step(read[None], h[None], model.gru, "_l0")[0]
        h_tilde, a = attend_by_loop(h, t, states[0], model, score, align)
        logits.append(model.out.weight @ h_tilde)  # equation 6, before the softmax
        weights.append(a)
    return torch.stack(logits), torch.stack(weights)


@forms
@given(sizes, st.integers(1, 4), st.integers(0, 3), seeds)
@settings(max_examples=15)
def test_attend_equals_equations_5_to_10(score, align, lengths, steps, first, seed):
    model = model_of(score, align, seed=seed)
    h, source = drawn(seed, lengths, steps, model)
    h_tilde, weights = model.attend(h, first, source)
    loop = [
        [
            attend_by_loop(
                h[i, t], first + t, source.states[i, :n], model, score, align
            )
            for t in range(steps)
        ]
        for i, n in enumerate(lengths)
    ]
    inputs = [h, source.states, *model.parameters()]
    same(h_tilde, stacked([[step[0] for step in row] for row in loop]), inputs)
    for i, n in enumerate(lengths):
        same(weights[i, :, :n], stacked([step[1] for step in loop[i]]), inputs)
        assert (weights[i, :, n:] == 0).all()


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
    parameters = [*model.parameters()]
    for i, n in enumerate(lengths):
        words, a = translate_by_formula(model, src[i, :n], tgt_in[i], score, align, fed)
        same(logits[i], words, parameters)
        same(weights[i, :, :n], a, parameters)


@given(sizes, st.integers(1, 4), seeds)
@settings(max_examples=10)
def test_dot_attention_equals_pytorchs_without_a_scale(lengths, steps, seed):
    model = model_of("dot", seed=seed)
    h, source = drawn(seed, lengths, steps, model)
    states, _, mask = source
    h_tilde, _ = model.attend(h, 0, source)
    c = F.scaled_dot_product_attention(
        h, states, states, attn_mask=mask[:, None], scale=1.0
    )
    theirs = torch.tanh(F.linear(torch.cat([c, h], -1), model.combine.weight))
    same(h_tilde, theirs, [h, states, model.combine.weight])


@forms
def test_the_context_comes_from_the_source_alone(score, align):
    """c_t is a mean of source states, not a state of the decoder."""
    model = model_of(score, align)
    with torch.no_grad():  # h̃ = tanh(c): what stands in W_c's left half
        model.combine.weight.copy_(torch.eye(H, 2 * H))
    h, source = drawn(0, [5], 3, model)
    h_tilde, weights = model.attend(h, 0, source)
    c = torch.atanh(h_tilde)
    close(c, weights @ source.states)
    if align != "local-p":
        close(weights.sum(-1), torch.ones(1, 3).double())
        low, high = source.states.aminmax(dim=1, keepdim=True)
        assert ((low - 1e-12 <= c) & (c <= high + 1e-12)).all()


@feeding
def test_the_output_needs_the_attentional_state_alone(fed):
    """Equation 6: softmax(W_s h̃_t); c_t is inside it already."""
    model = model_of(fed=fed)
    state = model.start(sentences(0, [5, 3], WORDS))
    logits, state = model.step(torch.tensor([4, 5]), state)
    close(logits, state.h_tilde @ model.out.weight.T)
    assert [name for name, _ in model.out.named_parameters()] == ["weight"]


@feeding
def test_only_input_feeding_lets_attention_reach_the_next_state(fed):
    """Section 3.3: h̃_t joins the input of step t + 1, so the first h is the same."""
    model, src = model_of(fed=fed), sentences(0, [5], WORDS)

    def states():
        state, found = model.start(src), []
        for token in (4, 5, 6):
            _, state = model.step(torch.tensor([token]), state)
            found.append(state.s)
        return torch.cat(found)

    before = states()
    with torch.no_grad():
        model.combine.weight += 0.3
    assert (states() != before).any(-1).tolist() == [False, fed, fed]


def test_input_feeding_the_general_score_and_no_window_are_the_defaults():
    model = Luong(WORDS, WORDS)
    assert model.input_feeding
    assert type(model.score) is GeneralScore
    assert type(model.align) is GlobalAlignment


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
def test_the_first_step_is_fed_zeros(fed):
    state = model_of(fed=fed).start(sentences(0, [5, 3], WORDS))
    assert state.h_tilde.tolist() == [[0.0] * H] * 2
    assert state.weights.tolist() == [[0.0] * 5] * 2
    assert state.t == 0


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
    h_tilde, a = attend_by_loop(h, 3, states, model, "dot", "local-m")
    close(new.s[0], h)
    close(new.h_tilde[0], h_tilde)
    close(new.weights[0], a)
    close(logits[0], model.out.weight @ h_tilde)
    assert new.t == 4


def test_local_p_has_centres_at_both_ends():
    """Else the loops above would compare only windows in the middle."""
    model = model_of("dot", "local-p")
    (h,) = numbers(0, (1, 200, H))
    p = model.align.centre(h, torch.ones(1, 5).bool())
    assert (p < 1).sum() > 9
    assert (p == 4).sum() > 9
    assert ((p > 1) & (p < 3)).sum() > 9


def test_the_state_of_the_encoder_is_as_wide_as_the_decoders():
    """So that a dot product is possible; half of it from each direction."""
    model = model_of("dot")
    states = model.start(sentences(0, [5], WORDS)).source.states
    assert states.shape == (1, 5, H)
    assert model.encoder.gru.hidden_size == H // 2


ids = torch.tensor([[4, 5]])


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: Luong(9, 9, d_hidden=5), "d_hidden is 5; it must be even"),
        (lambda: Luong(9, 9, d_hidden=0), "d_hidden is 0; .* from 1 on"),
        (lambda: Luong(9, 9, d_hidden=4.0), "d_hidden is 4.0; it must be a whole"),
        (lambda: Luong(0, 9), "vocab_size is 0"),
        (lambda: Luong(9, -1), "target_vocab_size is -1"),
        (lambda: Luong(9, 9, d_embed=0), "d_embed is 0"),
        (lambda: Luong(9, 9, score="additive"), "'additive'; choose among .*'concat'"),
        (lambda: Luong(9, 9, align="window"), "'window'; choose among .*'local-p'"),
        (lambda: Luong(9, 9, half_width=3), "'global' .* no window, .* is 3"),
        (lambda: Luong(9, 9, align="local-m"), "'local-m' .* needs a window"),
        (lambda: Luong(9, 9, align="local-p"), "'local-p' .* needs a window"),
        (lambda: Luong(9, 9, align="local-m", half_width=-1), "half_width is -1"),
        (lambda: Luong(9, 9, align="local-p", half_width=2.5), "half_width is 2.5"),
        (lambda: Luong(9, 9, align="local-p", half_width=0), "sigma is 0.0; .*posit"),
        (lambda: Luong(9, 9)(ids[0], ids), r"src has shape \(2,\)"),
        (lambda: Luong(9, 9)(ids, ids.double()), "tgt_in .* type torch.float64"),
        (lambda: Luong(9, 9)(ids, ids.repeat(3, 1)), "1 source but 3 target"),
        (lambda: Luong(9, 9)(ids * 0, ids), "sentence 0 has no word, only padding"),
        (
            lambda: Luong(9, 9, score="location")(ids.repeat(1, 33), ids),
            "66 positions, .* has 64; .*`max_len`",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
