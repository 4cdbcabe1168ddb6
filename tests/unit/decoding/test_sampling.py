"""Sampling: frequencies are those of the formula, and what is cut is never drawn."""

import math

import pytest
import torch
from compare import DECODERS, Chain, close, decoder_of, plain, sentences
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.core.vocabulary import BOS, EOS
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.sampling import sample, token_probabilities
from attnbook.decoding.steps import token_log_probs

SRC = sentences(0, [6, 4, 1, 3], 12)
MANY = 20_000


def generator(seed=0):
    return torch.Generator().manual_seed(seed)


def logits(seed, *shape):
    return 2 * plain(seed, *shape)


def by_loop(row, temperature, top_k, top_p):
    """One distribution, word by word, with dictionaries."""
    exps = {i: math.exp(x / temperature) for i, x in enumerate(row.tolist())}
    order = sorted(exps, key=lambda i: (-exps[i], i))  # of equals the first
    order = order[: len(order) if top_k is None else top_k]
    total = sum(exps[i] for i in order)
    kept, reached = [], 0.0
    for i in order:
        if reached >= top_p:
            break
        kept.append(i)
        reached += exps[i] / total
    total = sum(exps[i] for i in kept)
    return [exps[i] / total if i in kept else 0.0 for i in range(len(row))]


# Probabilities


@given(
    st.integers(1, 9),
    st.floats(0.2, 5),
    st.one_of(st.none(), st.integers(1, 10)),
    st.floats(0.01, 1),
    st.integers(0, 999),
)
@settings(max_examples=40)
def test_probabilities_equal_the_loop(v, temperature, top_k, top_p, seed):
    x = logits(seed, 2, 3, v)
    if v > 1:
        x[0, :, 0] = -torch.inf  # what is impossible stays so
    p = token_probabilities(x, temperature, top_k, top_p)
    loop = [[by_loop(row, temperature, top_k, top_p) for row in rows] for rows in x]
    close(p, torch.tensor(loop, dtype=torch.float64))
    close(token_probabilities(x), x.softmax(-1))


@pytest.mark.parametrize("temperature", [1e-3, 1e-30, 1e-40])
def test_near_zero_the_best_word_is_sure(temperature):
    x = logits(0, 4, 9).float()
    x[:, 0] = -torch.inf
    p = token_probabilities(x, temperature)
    assert torch.equal(p, torch.nn.functional.one_hot(x.argmax(-1), 9).float())


def test_of_two_halves_one_reaches_a_half():
    half = torch.tensor([0.5, 0.5]).log()
    assert token_probabilities(half, top_p=0.5).tolist() == [1, 0]


def test_all_is_all():
    """Also where the improbable is lost in the rounding of a sum; k may exceed V."""
    x = torch.tensor([0.0, -20, -21, -22])
    for p in (token_probabilities(x), token_probabilities(x, top_k=9)):
        assert (p > 0).all()


def test_of_equal_words_the_first_k_are_kept():
    """In a large vocabulary too, where a sort may mix up what is equal."""
    for v in (6, 5_000):
        p = token_probabilities(torch.zeros(2, v), top_k=3)
        assert p.nonzero().tolist() == [[i, j] for i in range(2) for j in range(3)]
        close(p.sum(-1), torch.ones(2), 1e-6)


# Frequencies


def within(drawn, p):
    """Assert that each word was drawn as often as p says, up to 5 deviations."""
    n = len(drawn)
    for word, share in enumerate(p.tolist()):
        found = (drawn == word).sum().item()
        deviation = math.sqrt(n * share * (1 - share))
        assert abs(found - n * share) <= 5 * deviation, word


@pytest.mark.parametrize(
    "chance", [{}, {"temperature": 0.5}, {"top_k": 3}, {"top_p": 0.7}], ids=str
)
def test_words_are_drawn_as_often_as_they_are_probable(chance):
    """The first, and the second given the first; PAD and BOS never."""
    table = logits(0, 7, 7)
    drawn = sample(
        Chain(table.tolist()), torch.full((MANY, 1), 7), 2, generator(), **chance
    )
    p = token_probabilities(token_log_probs(table), **chance)
    within(drawn[:, 0], p[BOS])
    for word in set(drawn[:, 0].tolist()) - {EOS}:
        within(drawn[drawn[:, 0] == word, 1], p[word])
    assert not drawn[drawn[:, 0] == EOS, 1].any()


@pytest.mark.parametrize("name", DECODERS)
@pytest.mark.parametrize(
    "chance", [{"temperature": 1e-6}, {"top_k": 1}, {"top_p": 1e-6}]
)
def test_without_chance_it_is_greedy(name, chance):
    model = decoder_of(name)
    step = model.step
    model.step = lambda token, state: (
        token_log_probs((s := step(token, state))[0]),
        s[1],
    )
    drawn = sample(model, SRC, 7, generator(), **chance)
    assert torch.equal(drawn, greedy(model, SRC, 7))


def test_the_generator_alone_decides():
    model = decoder_of("pre-norm", 12)
    before = torch.get_rng_state()
    first = sample(model, SRC, 9, generator(3))
    assert torch.equal(torch.get_rng_state(), before)
    torch.manual_seed(5)
    assert torch.equal(sample(model, SRC, 9, generator(3)), first)
    assert not torch.equal(sample(model, SRC, 9, generator(4)), first)
    one = generator(3)
    assert torch.equal(sample(model, SRC, 9, one), first)
    assert not torch.equal(sample(model, SRC, 9, one), first)
