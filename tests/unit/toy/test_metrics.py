"""How well do weights agree with which word renders which?"""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.metrics import alignment_accuracy, attention_weights

clauses = st.lists(st.integers(1, 3), min_size=1, max_size=4)


def pairs_of(numbers):
    return [held_out_pairs(n, 9)[i] for i, n in enumerate(numbers)]


def random_weights(pairs, seed):
    """Of the shape that a model would return: one more step and place, for EOS."""
    g = torch.Generator().manual_seed(seed)
    max_len = max(len(pair.source) for pair in pairs) + 1
    return torch.rand(len(pairs), max_len, max_len, generator=g).softmax(-1)


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


@pytest.mark.parametrize("number", [1, 3])
def test_weights_of_other_sentences_are_refused(number):
    pairs = pairs_of([1, 1])
    with pytest.raises(ValueError, match=f"of {number} sentences for 2 pairs; give"):
        alignment_accuracy(torch.zeros(number, 7, 7), pairs)
