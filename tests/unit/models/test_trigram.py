"""The trigram: a distribution, the formula by plain counting, and its discounts."""

import math
import random

import pytest

from attnbook.core.vocabulary import BOS, EOS
from attnbook.models.trigram import Trigram, triples_of

WORDS = 9


@pytest.fixture(scope="module")
def sentences():
    rng = random.Random(0)
    return [
        [min(rng.randint(4, 8), rng.randint(4, 8)) for _ in range(rng.randint(1, 6))]
        for _ in range(30)
    ]


@pytest.fixture(scope="module")
def model(sentences):
    return Trigram(sentences, WORDS)


def by_counting(sentences, token, u, v):
    """The formula of the docstring, counting anew for each probability."""
    triples = [t for s in sentences for t in triples_of(s)]
    pairs = [t[1:] for t in {*triples}]
    singles = [t[1:] for t in {*pairs}]
    p = 1 / WORDS
    for seen, context in ((singles, ()), (pairs, (v,)), (triples, (u, v))):
        counts = [seen.count(key) for key in {*seen}]
        once, twice = counts.count(1), counts.count(2)
        d = once / (once + 2 * twice) if once else 0.5
        after = [key[-1] for key in seen if key[:-1] == context]
        if after:
            kept = max(after.count(token) - d, 0)
            p = (kept + d * len({*after}) * p) / len(after)
    return p


@pytest.mark.parametrize(
    "before", [(BOS, BOS), (BOS, 5), (4, 4), (4, 5), (8, 8), (6, 7)]
)
def test_it_is_the_formula(model, sentences, before):
    for token in range(WORDS):
        wanted = by_counting(sentences, token, *before)
        assert model.probability(token, before) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.parametrize("before", [(BOS, BOS), (BOS, 5), (4, 5), (8, 8), (3, 3)])
def test_probabilities_sum_to_one_and_none_is_zero(model, before):
    p = [model.probability(token, before) for token in range(WORDS)]
    assert sum(p) == pytest.approx(1)
    assert min(p) > 0


def test_lower_orders_count_contexts_and_not_tokens():
    """Token 5 is frequent, but follows one token only; 6 is rare and follows two."""
    model = Trigram([[4, 5]] * 9 + [[7, 6], [8, 6]], WORDS)
    unseen = (6, 6)  # only the lowest order is left
    assert model.probability(6, unseen) > model.probability(5, unseen)


def test_losses_are_of_each_token_and_the_end(model):
    losses = model.losses([5, 4])
    wanted = [(5, (BOS, BOS)), (4, (BOS, 5)), (EOS, (5, 4))]
    assert losses == [-math.log(model.probability(*each)) for each in wanted]


def test_without_a_single_count_of_one_it_still_works():
    model = Trigram([[4], [4]], WORDS)
    assert sum(model.probability(t, (BOS, BOS)) for t in range(WORDS)) == pytest.approx(
        1
    )
