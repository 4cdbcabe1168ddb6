"""Beam search: equal to a plain loop, for each width."""

import math

import pytest
import torch
from compare import Chain, decoder_of, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.core.vocabulary import BOS, EOS, PAD, UNK
from attnbook.decoding.beam import beam_search, length_penalty

WORDS = (4, 5)  # of a target vocabulary of 6
SRC = sentences(0, [6, 4, 1, 3], 12)


def penalty(length, alpha):
    """Equation 14 of Wu et al. 2016, as it stands there."""
    return (5 + length) ** alpha / (5 + 1) ** alpha


@torch.no_grad()
def next_log_p(model, src, read):
    """Of each next word after each of several beginnings, as lists: one full pass."""
    read = torch.tensor(read)
    logits = model(src[src != PAD].expand(len(read), -1), read)
    return logits.log_softmax(-1).tolist()


def beam_by_loop(model, src, max_len, width, alpha):
    """One sentence, in lists; each beginning is read anew at every step."""
    begun, ended = [(0.0, ())], []
    for length in range(1, max_len + 1):
        steps = next_log_p(model, src, [[BOS, *words] for _, words in begun])
        longer = [
            (so_far + step[-1][word], (*words, word))
            for (so_far, words), step in zip(begun, steps, strict=True)
            for word in ((EOS, *WORDS) if length < max_len else (EOS,))
        ]
        longer = sorted(longer, reverse=True)[: 2 * width]
        ended += [
            (score / penalty(length, alpha), words)
            for score, words in longer[:width]
            if words[-1] == EOS
        ]
        ended = sorted(ended, reverse=True)[:width]
        begun = [one for one in longer if one[1][-1] != EOS][:width]
        if ended and (
            not begun or begun[0][0] / penalty(max_len, alpha) <= ended[0][0]
        ):
            break
    return ended


def output(row):
    """The words of one row of ids, up to EOS; nothing but pads may follow."""
    words = row.tolist()
    end = words.index(EOS) + 1
    assert not any(words[end:])
    return tuple(words[:end])


@pytest.mark.parametrize("name", ["pre-norm", "bahdanau"])
@given(st.integers(1, 6), st.integers(1, 6), st.floats(0, 2), st.integers(0, 999))
@settings(max_examples=10)
def test_it_equals_the_plain_loop(name, width, max_len, alpha, seed):
    """All that it returns, of each sentence: which, in which order, with what score."""
    model = decoder_of(name, seed=seed)
    best = beam_search(model, SRC, max_len, width, alpha)
    for src, ids, scores in zip(SRC, *best, strict=True):
        wanted = beam_by_loop(model, src, max_len, width, alpha)
        n = len(wanted)
        assert [output(row) for row in ids[:n]] == [words for _, words in wanted]
        assert scores[:n].tolist() == pytest.approx([s for s, _ in wanted], abs=1e-10)
        assert (scores[n:] == -torch.inf).all()
        assert not ids[n:].any()


@pytest.mark.parametrize("name", ["post-norm", "luong"])
@given(
    st.integers(1, 5),
    st.lists(st.integers(1, 9), min_size=4, max_size=4),
    st.floats(0, 2),
    st.integers(0, 999),
)
@settings(max_examples=15)
def test_neighbours_with_limits_of_their_own_change_nothing(
    name, width, limits, alpha, seed
):
    """Which, in which order, with what score: as alone, for each sentence."""
    model = decoder_of(name, seed=seed)
    together = beam_search(model, SRC, limits, width, alpha)
    assert together.ids.shape == (4, width, max(limits))
    for src, limit, ids, scores in zip(SRC, limits, *together, strict=True):
        one = src[src != PAD][None]
        alone = beam_search(model, one, limit, width, alpha)
        assert torch.equal(ids[:, :limit], alone.ids[0])
        assert not ids[:, limit:].any()
        assert scores.tolist() == pytest.approx(alone.scores[0].tolist(), abs=1e-12)
    same = beam_search(model, SRC, torch.tensor(limits), width, alpha)
    assert torch.equal(same.ids, together.ids)


# Chains whose answer can be reckoned with a pencil


def chain(**followers):
    """Probabilities of what follows: ``b=`` BOS, ``w4=``, ``w5=`` the words."""
    rows = torch.full((6, 6), -1e4)
    for word, after in ((BOS, "b"), (4, "w4"), (5, "w5"), (UNK, "w4")):
        for next_word, p in followers[after].items():
            rows[word, next_word] = math.log(p)
    return Chain(rows.tolist())


ONE = torch.full((1, 1), 7)


def test_it_stops_when_nothing_can_overtake():
    """And not before: a beginning may still win by its length."""

    class Counting(Chain):
        steps = 0

        def step(self, token, state):
            self.steps += 1
            return super().step(token, state)

    sure = chain(b={EOS: 0.9, 4: 0.1}, w4={4: 0.9, EOS: 0.1}, w5={4: 1.0})
    sure = Counting(sure.logits.tolist())
    beam_search(sure, ONE, 50, 2, 0.0)
    assert sure.steps == 1
    late = chain(b={EOS: 0.5, 4: 0.5}, w4={5: 0.9, EOS: 0.1}, w5={4: 0.1, EOS: 0.9})
    late = Counting(late.logits.tolist())
    beam_search(late, ONE, 4, 2, 2.0)
    assert late.steps >= 3


@pytest.mark.parametrize("alpha", [0.0, 0.6, 1.0, 2.0])
def test_the_length_penalty_is_that_of_the_paper(alpha):
    assert length_penalty(1, alpha) == 1
    for n in (2, 7, 30):
        assert length_penalty(n, alpha) == pytest.approx(penalty(n, alpha))
    assert length_penalty(7, 1.0) == 2


def test_the_defaults_are_those_of_the_paper():
    """Section 6.1 of Vaswani et al. 2017: a beam of 4, α = 0.6."""
    model = decoder_of("pre-norm")
    default, named = beam_search(model, SRC, 5), beam_search(model, SRC, 5, 4, 0.6)
    assert torch.equal(default.ids, named.ids)
    assert torch.equal(default.scores, named.scores)
