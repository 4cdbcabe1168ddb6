"""What must hold for every decoder that looks back at its source."""

import pytest
import torch
from compare import close, double, same, sentences

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.batching import pad
from attnbook.decoding.greedy_search import greedy
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import InitialState, StaticContext
from attnbook.nn.local_attention import ALIGNMENTS
from attnbook.nn.scores import SCORES, AdditiveScore

WORDS, E, H, D = 12, 3, 4, 1
LENGTHS, STEPS = (6, 4, 1, 3), (5, 3, 2, 5)
FORMS = [
    (score, align, fed)
    for score in SCORES
    for align in ALIGNMENTS
    for fed in (True, False)
]


def name_of(form):
    score, align, fed = form
    return f"{score}, {align}, {'fed' if fed else 'not fed'}"


def luong(score, align, fed, half_width=D):
    half_width = None if align == "global" else half_width
    model = double(Luong, WORDS, WORDS, E, H, score, align, half_width, fed)
    if align == "local-p":
        with torch.no_grad():  # else all centres would lie in the middle
            for weight in model.align.parameters():
                weight *= 9
    return model


def bahdanau():
    return double(Bahdanau, WORDS, WORDS, E, H, 5)


@pytest.fixture(params=["bahdanau", *map(name_of, FORMS)])
def model(request):
    if request.param == "bahdanau":
        return bahdanau()
    return luong(*next(form for form in FORMS if name_of(form) == request.param))


@pytest.fixture
def src():
    return sentences(0, LENGTHS, WORDS)


@pytest.fixture
def tgt_in():
    words = sentences(1, [n - 1 for n in STEPS], WORDS).tolist()
    return pad([[BOS, *row[: n - 1]] for row, n in zip(words, STEPS, strict=True)])


def real(tensor):
    """Sentence by sentence, without the steps at its pads."""
    return [tensor[i, :n] for i, n in enumerate(STEPS)]


def other_word(ids):
    return 4 + (ids - 3) % (WORDS - 4)


def step_by_step(model, src, tgt_in):
    state, logits, weights = model.start(src), [], []
    for token in tgt_in.unbind(1):
        step, state = model.step(token, state)
        logits.append(step)
        weights.append(state.weights)
    return torch.stack(logits, 1), torch.stack(weights, 1)


def test_step_by_step_equals_all_at_once(model, src, tgt_in):
    ours = model(src, tgt_in, need_weights=True)
    assert ours[0].shape == (4, 5, WORDS)
    assert ours[1].shape == (4, 5, 6)
    for all_at_once, steps in zip(ours, step_by_step(model, src, tgt_in), strict=True):
        same(all_at_once, steps, model.parameters())


def test_the_models_of_the_thread_read_alike_by_default():
    """One encoder for all, so that the figure that grows compares like with like."""
    for make in (InitialState, StaticContext, Bahdanau, Luong):
        model = make(WORDS, WORDS)
        assert model.encoder.embedding.embedding_dim == 32
        assert model.embedding.embedding_dim == 32
        assert model.encoder.gru.hidden_size == 64
        assert model.encoder.gru.bidirectional
    width = Bahdanau(WORDS, WORDS).score.v.in_features
    assert width == AdditiveScore(8, 8).v.in_features == 64


def test_weights_are_returned_only_when_asked_for(model, src, tgt_in):
    logits, _ = model(src, tgt_in, need_weights=True)
    assert torch.equal(model(src, tgt_in), logits)


def test_more_padding_changes_nothing(model, src, tgt_in):
    wider = [torch.cat([ids, ids.new_full((4, 3), PAD)], 1) for ids in (src, tgt_in)]
    before = model(src, tgt_in, need_weights=True)
    logits, weights = model(*wider, need_weights=True)
    close(logits[:, :5], before[0])
    close(weights[:, :5, :6], before[1])
    assert not weights[:, :, 6:].any()


def test_batch_mates_change_nothing(model, src, tgt_in):
    together = model(src, tgt_in, need_weights=True)
    for i, (n, steps) in enumerate(zip(LENGTHS, STEPS, strict=True)):
        row = model(src[i : i + 1, :n], tgt_in[i : i + 1, :steps], need_weights=True)
        close(together[0][i, :steps], row[0][0])
        close(together[1][i, :steps, :n], row[1][0])


def test_the_vectors_of_padding_are_never_used(model, src, tgt_in):
    before = real(model(src, tgt_in))
    with torch.no_grad():
        model.encoder.embedding.weight[PAD] += 7.0
        model.embedding.weight[PAD] += 7.0
    for one, other in zip(before, real(model(src, tgt_in)), strict=True):
        assert torch.equal(one, other)


def test_no_word_sees_a_later_one(model, src, tgt_in):
    before = model(src, tgt_in, need_weights=True)
    changed = tgt_in.clone()
    changed[:, 2] = other_word(changed[:, 2])
    after = model(src, changed, need_weights=True)
    for one, other in zip(before, after, strict=True):
        assert torch.equal(one[:, :2], other[:, :2])
    assert (before[0][:, 2:] != after[0][:, 2:]).any(-1).all()


def test_weights_are_shares_of_real_positions(model, src, tgt_in):
    _, weights = model(src, tgt_in, need_weights=True)
    assert (weights >= 0).all()
    for i, n in enumerate(LENGTHS):
        assert not weights[i, :, n:].any()
    total, ones = weights.sum(-1), torch.ones(4, 5).double()
    kind = type(getattr(model, "align", None)).__name__
    if kind == "PredictiveAlignment":
        assert ((total > 0) & (total <= 1 + 1e-12)).all()
        assert (total < 0.99).any()
    elif (
        kind == "MonotonicAlignment"
    ):  # the window of step t is empty from place n + D on
        for i, n in enumerate(LENGTHS):
            close(total[i, : n + D], ones[i, : n + D])
            assert not total[i, n + D :].any()
    else:
        close(total, ones)


def looks_where_its_weights_are(model, src):
    """Change one encoder state after the other; the rest of the model stays.

    Raises:
        AssertionError: Unless the next word depends on just the places with weight, and
            the weights on what stands there, if the score is one of content.
    """
    start, token = model.start(src), torch.full((len(src),), BOS)
    logits, state = model.step(token, start)
    in_use = state.weights > 0  # (B, S)
    choice = in_use.sum(-1) > 1  # else the one place has all the weight
    by_content = type(model.score).__name__ != "LocationScore"
    for j in range(src.shape[1]):
        states = start.source.states.clone()
        states[:, j] += torch.linspace(-1, 2, states.shape[-1])
        source = start.source._replace(states=states, keys=model.score.prepare(states))
        other, new = model.step(token, start._replace(source=source))
        moved = (other != logits).any(-1)
        assert torch.equal(moved, in_use[:, j]), f"logits and place {j}"
        moved = (new.weights != state.weights).any(-1)
        assert torch.equal(moved, in_use[:, j] & choice & by_content), f"weights, {j}"


def test_the_model_looks_where_its_weights_are(model, src):
    """What lies at pads, or outside of a window, is never seen."""
    looks_where_its_weights_are(model, src)


@pytest.mark.parametrize("make", [bahdanau, lambda: luong("dot", "global", False)])
@pytest.mark.parametrize("fault", ["no context", "the same context", "equal weights"])
def test_a_decoder_that_ignores_its_encoder_is_found(make, fault, src, monkeypatch):
    """Each is a decoder that would train, and translate as if without attention."""
    model = make()
    attend = model.attend

    def blind(h, *rest):
        *first, source = rest
        if fault == "equal weights":
            keys = torch.zeros_like(source.keys)
            return attend(h, *first, source._replace(keys=keys))
        states = torch.full_like(source.states, float(fault == "the same context"))
        return attend(h, *first, source._replace(states=states))

    looks_where_its_weights_are(model, src)
    monkeypatch.setattr(model, "attend", blind)
    with pytest.raises(AssertionError, match=r"place 0|weights, 0"):
        looks_where_its_weights_are(model, src)


def test_every_source_word_reaches_the_first_prediction(model, src, tgt_in):
    """Through the encoder, whatever the window."""
    before = model(src, tgt_in)
    for j in range(max(LENGTHS)):
        changed = src.clone()
        changed[:, j] = torch.where(src[:, j] == PAD, PAD, other_word(src[:, j]))
        moved = (model(changed, tgt_in) != before)[:, 0].any(-1)
        assert moved.tolist() == [j < n for n in LENGTHS]


def test_every_parameter_learns(model, src, tgt_in):
    logits = model(src, tgt_in)
    for name, parameter in model.named_parameters():
        (gradient,) = torch.autograd.grad(
            logits.square().sum(), parameter, retain_graph=True
        )
        assert gradient.isfinite().all(), name
        assert gradient.any(), name


def test_training_and_evaluation_are_the_same(model, src, tgt_in):
    """There is no dropout in these models."""
    one, other = model.train()(src, tgt_in), model.eval()(src, tgt_in)
    assert torch.equal(one, other)


def test_a_step_of_decoding_needs_no_number_to_know_the_shape(model, src):
    """Nothing waits for the accelerator once the source is read."""
    state, token = model.start(src), torch.full((4,), BOS)

    def elsewhere(part):
        if isinstance(part, torch.Tensor):
            return part.to("meta")
        return part if isinstance(part, int) else type(part)(*map(elsewhere, part))

    logits, new = model.to("meta").step(token.to("meta"), elsewhere(state))
    assert logits.device.type == "meta"
    assert logits.shape == (4, WORDS)
    assert new.weights.shape == (4, 6)


def test_greedy_generates_the_most_probable_token_at_each_step(model, src):
    output = greedy(model, src, max_len=7).tolist()
    for row, n, words in zip(output, LENGTHS, src, strict=True):
        ids = [BOS]
        while len(ids) <= 7 and ids[-1] != EOS:
            logits = model(words[None, :n], torch.tensor([ids]))
            ids.append(logits[0, -1, EOS:].argmax().item() + EOS)
        assert row == ids[1:] + [PAD] * (len(row) - len(ids) + 1)


@pytest.mark.parametrize("score", SCORES)
@pytest.mark.parametrize("fed", [True, False])
@pytest.mark.parametrize("align", ["local-m", "local-p"])
def test_a_wide_window_gives_global_attention(score, fed, align, src, tgt_in):
    local, model = luong(score, align, fed, 6), luong(score, "global", fed)
    lacking = local.load_state_dict(model.state_dict(), strict=False)
    assert not lacking.unexpected_keys
    if align == "local-p":
        local.align.sigma = float("inf")
    ours = local(src, tgt_in, need_weights=True)
    theirs = model(src, tgt_in, need_weights=True)
    for one, other in zip(ours, theirs, strict=True):
        close(one, other)
    (ours[0].square().sum() + theirs[0].square().sum()).backward()
    there = dict(local.named_parameters())
    for name, parameter in model.named_parameters():
        close(there[name].grad, parameter.grad, 1e-11)
