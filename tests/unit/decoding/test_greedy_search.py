"""From logits to sentences: greedy decoding, and what all ways to decode share."""

import pytest
import torch
from compare import DECODERS, Chain, close, decoder_of, sentences
from torch import Tensor
from torch.nn.functional import one_hot

from attnbook.core.vocabulary import BOS, EOS, PAD, UNK
from attnbook.decoding import beam_search, log_probability, sample
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


def test_greedy_generates_the_most_probable_token_of_a_full_pass(model):
    """Each sentence unbatched, the whole prefix anew at each step; words or EOS."""
    output = greedy(model, SRC, max_len=9)
    assert all(p.grad is None for p in model.parameters())
    for src, row in zip(SRC, output.tolist(), strict=True):
        ids = [BOS]
        while len(ids) <= 9 and ids[-1] != EOS:
            logits = model(src[src != PAD][None], torch.tensor([ids]))[0, -1]
            logits[[PAD, BOS, UNK]] = -torch.inf
            ids.append(logits.argmax().item())
        assert row == ids[1:] + [PAD] * (len(row) - len(ids) + 1)


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


def test_each_sentence_has_its_own_maximum():
    """A number for each row, as a list or as a tensor; what follows it is padding."""
    src, limits = torch.tensor([[3], [9], [1], [9]]), [2, 4, 5, 1]
    rows = [[5, 5, PAD, PAD], [5, 5, 5, 5], [5, EOS, PAD, PAD], [5, PAD, PAD, PAD]]
    for given in (limits, tuple(limits), torch.tensor(limits)):
        assert greedy(Countdown(), src, given).tolist() == rows
    assert greedy(Countdown(), src, torch.tensor(2)).shape == (4, 2)


# What can be said


def test_of_special_tokens_only_the_end_can_be_said():
    logits = torch.randn(3, 4, 7, generator=torch.Generator().manual_seed(0)) * 5
    before = logits.clone()
    log_p = token_log_probs(logits)
    assert (log_p[..., [PAD, BOS, UNK]] == -torch.inf).all()
    loop = logits - logits.exp().sum(-1, keepdim=True).log()
    said = [EOS, *range(UNK + 1, 7)]
    close(log_p[..., said], loop[..., said], 1e-5)
    assert torch.equal(logits, before)
    close(token_log_probs(logits[0, 0]), log_p[0, 0], 0)


class Broken(Chain):
    """It says 4, 5, 4 …; in its second step the logits of one row are spoilt."""

    def __init__(self, *spoilt):
        super().__init__(torch.eye(6)[[3, 4, 3, 4, 5, 4]].tolist())
        self.spoilt = spoilt

    def step(self, token, state):
        logits, state = super().step(token, state)
        if (state == 2).all():
            logits[-1, : len(self.spoilt)] = torch.tensor(self.spoilt).double()
        return logits, state

    def __call__(self, src, tgt_in):
        return torch.stack(
            [self.step(token, 0 * src[:, 0] + 1)[0] for token in tgt_in.T], 1
        )


NAN, INF = float("nan"), float("inf")
WAYS = {
    "greedy": lambda model: greedy(model, SRC - SRC, 4),
    "beam": lambda model: beam_search(model, SRC - SRC, 4, 2),
    "sample": lambda model: sample(model, SRC - SRC, 4, torch.Generator()),
    "scoring": lambda model: log_probability(model, SRC, SRC.clamp(max=5)),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize(
    "spoilt",
    [[NAN], [0, 0, 0, 0, 0, NAN], [INF], [0, 0, 0, INF, -INF], [-INF] * 6, [NAN] * 6],
)
def test_numbers_that_are_not_finite_are_no_translation(way, spoilt):
    with pytest.raises(ValueError, match=r"NaN or \+inf, or allow no token.*smaller"):
        WAYS[way](Broken(*spoilt))


@pytest.mark.parametrize("way", WAYS)
def test_some_tokens_may_be_impossible(way):
    """-inf says so; that of what is padding does not count."""
    WAYS[way](Broken(-INF, -INF, 0, -INF, 0, -INF))


def test_padding_alone_cannot_be_said():
    with pytest.raises(ValueError, match="allow no token"):
        token_log_probs(torch.tensor([[0.0] * 6, [5.0, 5.0] + [-INF] * 4]))


def test_an_impossible_translation_has_no_probability():
    src, said = torch.full((2, 1), 7), torch.tensor([[5, 3, EOS], [5, EOS, PAD]])
    model = Broken(*[-INF] * 4, 0, 0)  # in the last row: neither 3 nor EOS
    found = log_probability(model, src, said)
    assert found.isfinite().tolist() == [True, False]
    model = Broken(-INF, 0, 0, 0, 0, 0)  # nor PAD, which is not asked for
    assert log_probability(model, src, said).isfinite().all()


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


def test_a_state_may_be_of_any_common_form():
    rows, table = torch.tensor([1, 1]), torch.arange(6).view(3, 2)
    shared = {"step": 3, "scale": 0.5, "none": None, "count": torch.tensor(7)}
    state = {"rows": [table, (table, None)], "of": shared, "empty": []}
    taken = select_rows(state, rows)
    assert taken["of"] == shared
    assert taken["empty"] == []
    [one, (other, nothing)] = taken["rows"]
    assert one.tolist() == other.tolist() == [[2, 3], [2, 3]]
    assert nothing is None
    assert type(taken["rows"][1]) is tuple


@pytest.mark.parametrize("part", ["text", b"bytes", {1, 2}, object(), Countdown(), 1j])
def test_a_state_of_another_form_is_refused(part):
    with pytest.raises(ValueError, match=f"of type {type(part).__name__}, whose rows"):
        select_rows({"part": [part]}, torch.tensor([0]))


def test_log_probabilities_have_a_gradient():
    logits = torch.zeros(2, 5, requires_grad=True)
    token_log_probs(logits)[:, EOS].sum().backward()
    assert logits.grad[:, EOS].gt(0).all()
