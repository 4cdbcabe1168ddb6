"""How well do weights agree with which word renders which?"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import alignment_accuracy, attention_weights

clauses = st.lists(st.integers(1, 3), min_size=1, max_size=4)


def pairs_of(numbers):
    return [held_out_pairs(n, 9)[i] for i, n in enumerate(numbers)]


def random_weights(pairs, seed):
    """Of the shape that a model would return: one more step and place, for EOS."""
    g = torch.Generator().manual_seed(seed)
    max_len = max(len(pair.source) for pair in pairs) + 1
    return torch.rand(len(pairs), max_len, max_len, generator=g).softmax(-1)


def gold_weights(pairs):
    """All weight of each word on the word that it renders, of the rest on word 1."""
    weights = torch.zeros_like(random_weights(pairs, 0))
    for i, pair in enumerate(pairs):
        for t, j in enumerate(pair.alignment):
            weights[i, t, j or 0] = 1.0
    return weights


def score_by_loop(weights, pairs):
    right = counted = 0
    for i, pair in enumerate(pairs):
        for t in range(len(pair.target)):
            if pair.target[t] == "ul":
                continue
            row = weights[i, t].tolist()
            best = max(range(len(row)), key=row.__getitem__)
            right += best == pair.alignment[t]
            counted += 1
    return right / counted


@given(clauses, st.integers(0, 999))
@settings(max_examples=20)
def test_alignment_accuracy_equals_the_loop(numbers, seed):
    pairs = pairs_of(numbers)
    weights = random_weights(pairs, seed)
    assert alignment_accuracy(weights, pairs) == score_by_loop(weights, pairs)


@given(clauses)
@settings(max_examples=10)
def test_gold_weights_are_right(numbers):
    pairs = pairs_of(numbers)
    assert alignment_accuracy(gold_weights(pairs), pairs) == 1.0
    aside = gold_weights(pairs).roll(1, dims=-1)
    assert alignment_accuracy(aside, pairs) == 0.0


def test_looking_straight_ahead_finds_the_adjectives_position():
    """the old farmer sees a bird: words 2 and 5 keep their places, four move."""
    pair = translate_by_rule("the old farmer sees a bird")
    assert alignment_accuracy(torch.eye(7)[None], [pair]) == pytest.approx(2 / 6)


def test_every_word_counts_alike_whatever_its_sentence():
    """Six words right of 6 and 0 of 13: not the mean of 1 and 0."""
    pairs = pairs_of([1, 2])
    weights = gold_weights(pairs)
    weights[1] = weights[1].roll(1, dims=-1)
    right = len(pairs[0].target)
    wrong = len(pairs[1].target) - 1  # without the connective
    assert alignment_accuracy(weights, pairs) == right / (right + wrong)


def test_the_connective_the_end_and_padding_are_not_counted():
    pairs = pairs_of([1, 3])
    weights = gold_weights(pairs)
    for i, pair in enumerate(pairs):
        free = [t for t, j in enumerate(pair.alignment) if j is None]
        weights[i, free] = 0.0
        weights[i, free, 3] = 1.0
        weights[i, len(pair.target) :] = weights.new_full((weights.shape[-1],), 0.1)
    assert alignment_accuracy(weights, pairs) == 1.0


@pytest.mark.parametrize("make", [Bahdanau, Luong])
def test_attention_weights_are_those_of_teacher_forcing(make):
    torch.manual_seed(0)
    model = make(len(SOURCE), len(TARGET), d_embed=4, d_hidden=4)
    pairs = pairs_of([1, 2, 1])
    batch = make_batch(pairs)
    weights = attention_weights(model, pairs)
    assert not weights.requires_grad
    assert weights.shape == (3, batch.tgt_in.shape[1], batch.src.shape[1])
    assert torch.equal(weights, model(batch.src, batch.tgt_in, need_weights=True)[1])


def test_a_model_that_looks_right_scores_1():
    class Knowing(nn.Module):
        def forward(self, src, tgt_in, need_weights):
            assert need_weights
            assert torch.equal(src, make_batch(pairs).src)
            assert torch.equal(tgt_in, make_batch(pairs).tgt_in)
            return None, gold_weights(pairs)

    pairs = pairs_of([2, 1])
    assert alignment_accuracy(attention_weights(Knowing(), pairs), pairs) == 1.0


@pytest.mark.parametrize("number", [1, 3])
def test_weights_of_other_sentences_are_refused(number):
    pairs = pairs_of([1, 1])
    with pytest.raises(ValueError, match=f"of {number} sentences for 2 pairs; give"):
        alignment_accuracy(torch.zeros(number, 7, 7), pairs)
