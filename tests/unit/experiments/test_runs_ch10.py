"""What chapter 10's experiments measure, at small size."""

from itertools import product

import pytest
import torch
from compare import close, make_transformer
from torch import nn

from attnbook.core.vocabulary import BOS, EOS
from attnbook.decoding.scoring import log_probability
from attnbook.nn.masks import key_mask
from experiments import ch10

SRC = torch.tensor([[3, 5, 6, 4, 3, 9], [7, 8, 2, 0, 0, 0]])
READ = torch.tensor([[1, 7, 4, 3, 5], [1, 5, 6, 0, 0]])


def small(words=10):
    torch.manual_seed(0)
    return make_transformer(words, d_model=16, n_heads=4, n_layers=2, d_ff=32).eval()


# What a step costs


@torch.no_grad()
def test_recomputing_makes_logits_of_the_last_word_alone():
    model, mask = small(), key_mask(SRC)
    memory, shapes = model.encode(SRC), []
    hook = model.out.register_forward_hook(lambda *x: shapes.append(x[-1].shape[1]))
    last = ch10.last_logits(model, READ, memory, mask)
    everything = model.decode(READ, memory, mask)
    hook.remove()
    assert shapes == [1, 5]
    close(last, everything[:, -1:], atol=1e-5)


# Exact search

ONE = SRC.new_tensor([[3, 5, 4, 4, EOS]])


@pytest.fixture
def model():
    made = small(7)
    made.out.weight = nn.Parameter(torch.randn(7, 16))  # untied: larger logits
    return made


@torch.no_grad()
def test_it_finds_the_best_of_all_short_translations(model):
    """None of up to four tokens is more probable than what is found."""
    (log_p, ids), read = ch10.search_all(model, ONE, [], most=10_000)
    found = log_probability(model, ONE, torch.tensor([ids])).item()
    assert found == pytest.approx(log_p, abs=1e-4)
    for n in range(4):
        for words in product((4, 5, 6), repeat=n):
            other = log_probability(model, ONE, torch.tensor([[*words, EOS]])).item()
            assert other <= log_p + 1e-4
    assert read >= len(ids)
    assert BOS not in ids


class Fixed(nn.Module):
    """Gives the same probabilities at each step, whatever it reads."""

    def __init__(self, *p):
        super().__init__()
        self.log_p = torch.tensor([1e-9, 1e-9, *p]).log()

    def forward(self, src, tgt_in):
        return self.log_p.expand(*tgt_in.shape, -1)

    def start(self, src):
        return src

    def step(self, token, state):
        return self.log_p.expand(len(token), -1), state.expand(len(token), -1)


def test_it_gives_up_when_a_step_must_keep_too_many_and_is_helped_by_what_is_known():
    # Three tokens are equally probable, and an end hardly ever is.
    undecided = Fixed(0.01, 1e-9, 0.33, 0.33, 0.33)
    assert ch10.search_all(undecided, ONE, [], most=2) == (None, 1)
    best, read = ch10.search_all(undecided, ONE, [], most=1_000)
    assert best[1] == [EOS]
    assert read > 1 + 3 + 9
    known = (-0.1, [4, EOS])  # more probable than any prefix
    assert ch10.search_all(undecided, ONE, [known], most=1) == (known, 1)


def test_a_way_has_found_what_is_as_probable_but_for_rounding():
    best = [(-1.0, [5, EOS]), (-2.0, [EOS]), (-3.0, [6, EOS])]
    outputs = [(-1.0001, [5, EOS]), (-2.5, [4, EOS]), (-3.0, [7, EOS])]
    assert ch10.times_found(outputs, best) == 2


def test_an_empty_translation_counts_as_empty():
    found = [(-1.0, [EOS]), (-1.0, [3, EOS]), None]
    assert [*map(ch10.is_empty, found)] == [True, False, False]


def test_captions_are_counted_by_length():
    flags = [True, False, True], [False, False, True]
    assert ch10.by_length([9, 3, 9], *flags) == [[3, 1, 0, 0], [9, 2, 2, 1]]
