"""Exact search: the most probable of all translations, or none if it takes too many."""

from itertools import product

import pytest
import torch
from compare import make_transformer
from torch import nn

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS
from attnbook.decoding.scoring import log_probability
from experiments import ch10_exact_search as exact
from experiments import ch10_waiting_for as waiting

SRC = torch.tensor([[3, 5, 4, 4, EOS]])


@pytest.fixture
def model():
    torch.manual_seed(0)
    small = make_transformer(7, d_model=16, n_heads=4, n_layers=2, d_ff=32).eval()
    small.out.weight = nn.Parameter(torch.randn(7, 16))  # untied: larger logits
    return small


@torch.no_grad()
def test_it_finds_the_best_of_all_short_translations(model):
    """None of up to four tokens is more probable than what is found."""
    (log_p, ids), read = exact.search_all(model, SRC, [], most=10_000)
    found = log_probability(model, SRC, torch.tensor([ids])).item()
    assert found == pytest.approx(log_p, abs=1e-4)
    for n in range(4):
        for words in product((4, 5, 6), repeat=n):
            other = log_probability(model, SRC, torch.tensor([[*words, EOS]])).item()
            assert other <= log_p + 1e-4
    assert read >= len(ids)
    assert BOS not in ids


def test_a_known_translation_saves_prefixes_and_is_returned_if_it_is_best(model):
    best, read = exact.search_all(model, SRC, [], most=10_000)
    again, fewer = exact.search_all(model, SRC, [best], most=10_000)
    assert again == best
    assert fewer <= read


class Undecided(nn.Module):
    """Three tokens are equally probable at each step, and an end hardly ever is."""

    def start(self, src):
        return src

    def step(self, token, state):
        return torch.tensor([0, 0, 0.01, 0, 0.33, 0.33, 0.33]).log().expand(
            len(token), -1
        ), state.expand(len(token), -1)


def test_it_gives_up_when_a_step_must_keep_too_many():
    assert exact.search_all(Undecided(), SRC, [], most=2) == (None, 1)
    best, read = exact.search_all(Undecided(), SRC, [], most=1_000)
    assert best[1] == [EOS]
    assert read > 1 + 3 + 9


def test_stored_searches_are_complete():
    stored = results.load("exact_search")
    captions, settled, empty = (
        sum(row[i] for row in stored["by_length"]) for i in (1, 2, 3)
    )
    assert captions == stored["captions"] == results.load("silence")["captions"]
    assert settled == stored["settled"]
    assert empty == stored["empty"] == stored["ways"][exact.EXACT]["empty"]
    likely = [way["log_p"] for way in stored["ways"].values()]
    assert max(likely) == stored["ways"][exact.EXACT]["log_p"]


def test_an_empty_translation_counts_as_empty():
    assert exact.is_empty((-1.0, [EOS]))
    assert not exact.is_empty((-1.0, [3, EOS]))


def test_words_are_counted_whole_and_once_for_each_caption():
    texts = ["Leute warten auf den Bus", "Sie wartet auf und warten auf", "wartenauf"]
    assert waiting.count(texts, {"a": r"warte\w* auf", "b": "bus"}) == {"a": 2, "b": 1}
