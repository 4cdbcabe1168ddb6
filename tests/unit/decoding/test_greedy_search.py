"""From logits to sentences: greedy decoding, and what all ways to decode share."""

import pytest
import torch
from compare import DECODERS, close, decoder_of, make_transformer, sentences
from torch import Tensor
from torch.nn.functional import one_hot

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.steps import select_rows, token_log_probs

SRC = sentences(0, [6, 4, 1, 3], 12)


@pytest.fixture(params=DECODERS)
def model(request):
    return decoder_of(request.param)


def tensors(state):
    """All tensors in a state, in order."""
    if isinstance(state, Tensor):
        return [state]
    parts = [] if isinstance(state, int) else [tensors(part) for part in state]
    return [tensor for part in parts for tensor in part]


def after(model, src, words):
    """The state after some words."""
    state = model.start(src)
    for token in words.unbind(1):
        _, state = model.step(token, state)
    return state


# Greedy


def never_ends(model):
    """Make EOS improbable, so that all outputs have the maximum length."""
    step = model.step

    def changed(token, state):
        logits, state = step(token, state)
        return logits.index_fill(-1, torch.tensor([EOS]), -99.0), state

    model.step = changed
    return model


def test_greedy_generates_the_most_probable_token_of_a_full_pass(model):
    """Each sentence unbatched, the whole prefix anew at each step; no PAD, no BOS."""
    output = greedy(model, SRC, max_len=9)
    assert all(p.grad is None for p in model.parameters())
    for src, row in zip(SRC, output.tolist(), strict=True):
        ids = [BOS]
        while len(ids) <= 9 and ids[-1] != EOS:
            logits = model(src[src != PAD][None], torch.tensor([ids]))[0, -1]
            ids.append(logits[EOS:].argmax().item() + EOS)
        assert row == ids[1:] + [PAD] * (len(row) - len(ids) + 1)


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("name", DECODERS)
def test_the_logits_it_chose_by_are_those_of_one_full_pass(name, dtype):
    """A prefix that was said, and one that never would be."""
    model, whole = (decoder_of(name, 12).to(dtype) for _ in range(2))
    step, logits = model.step, []

    def listen(token, state):
        one, state = step(token, state)
        logits.append(one)
        return one, state

    model.step = listen
    output = greedy(never_ends(model), SRC, max_len=9)
    bos = torch.full((4, 1), BOS)
    full = whole(SRC, torch.cat([bos, output[:, :-1]], 1))
    close(torch.stack(logits, 1), full, 1e-5 if dtype == torch.float32 else 1e-12)


class Countdown:
    """Says 5 as often as its source asks for, then EOS; what follows that is a 4."""

    def start(self, src):
        return src[:, 0]

    def step(self, token, state):
        word = torch.where(state > 0, 5, torch.where(state == 0, EOS, 4))
        return one_hot(word, 6).double(), state - 1


def test_nothing_but_padding_follows_the_end():
    """Each sentence ends by itself; the batch when all have, or at the longest."""
    src = torch.tensor([[1], [3], [0]])
    rows = [[5, EOS, PAD, PAD], [5, 5, 5, EOS], [EOS, PAD, PAD, PAD]]
    for longest in (9, 4):
        assert greedy(Countdown(), src, longest).tolist() == rows
    assert greedy(Countdown(), src, 2).tolist() == [row[:2] for row in rows]
    assert greedy(Countdown(), src[2:], 9).tolist() == [[EOS]]


# What can be said


def test_padding_and_beginnings_are_not_words():
    logits = torch.randn(3, 4, 7, generator=torch.Generator().manual_seed(0)) * 5
    before = logits.clone()
    log_p = token_log_probs(logits)
    assert (log_p[..., [PAD, BOS]] == -torch.inf).all()
    loop = logits - logits.exp().sum(-1, keepdim=True).log()
    close(log_p[..., EOS:], loop[..., EOS:], 1e-5)
    assert torch.equal(logits, before)
    close(token_log_probs(logits[0, 0]), log_p[0, 0], 0)


# Rows of a state


@pytest.mark.parametrize("rows", [[0, 1, 2, 3], [3, 1, 1], [2], [0, 0, 3, 2, 1, 0]])
def test_rows_of_a_state_are_the_state_of_those_rows(model, rows):
    rows, words = torch.tensor(rows), torch.tensor([[BOS, 5]] * 4)
    with torch.no_grad():
        state = after(model, SRC, words)
        taken, own = select_rows(state, rows), after(model, SRC[rows], words[rows])
        assert type(taken) is type(state)
        for one, other in zip(tensors(taken), tensors(own), strict=True):
            close(one, other)
        token = torch.full((len(rows),), 4)
        one, other = (model.step(token, s)[0] for s in (taken, own))
    close(one, other)


def test_a_number_is_of_all_rows_and_tuples_stay_tuples():
    taken = select_rows((torch.arange(3), (5, torch.ones(3, 2))), torch.tensor([2]))
    assert taken[0].tolist() == [2]
    assert taken[1][0] == 5
    assert isinstance(taken, tuple)


small = make_transformer(12, d_model=8, n_heads=2, n_layers=1, d_ff=12)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: greedy(small, SRC, 0), "max_len is 0; .* from 1 on"),
        (lambda: greedy(small, SRC, 2.5), "max_len is 2.5; .* whole number"),
        (lambda: greedy(small, SRC[0], 3), r"src has shape \(6,\)"),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()


@pytest.mark.parametrize("name", DECODERS)
def test_every_model_looks_at_its_source_where_it_comes_in(name):
    model = decoder_of(name)
    for src, message in (
        (SRC + 9, r"id \d+ is not in 0 … 11, .*; encode with"),
        (-SRC, r"id -\d+ is not in 0 … 11"),
        (0 * SRC, "sentence 0 has no word, only padding; leave it out"),
        (SRC[:0], "0 sentences"),
        (SRC.double(), "torch.float64"),
    ):
        with pytest.raises(ValueError, match=message):
            greedy(model, src, 3)


def test_log_probabilities_have_a_gradient():
    logits = torch.zeros(2, 5, requires_grad=True)
    token_log_probs(logits)[:, EOS].sum().backward()
    assert logits.grad[:, EOS].gt(0).all()
