"""What the room of toys refuses, and the key words of what it says then."""

import random
import re

import pytest
import torch
from compare import make_bahdanau
from torch import nn

from attnbook.toy import exact_match, one_layer
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import Pair, sample_pair
from attnbook.toy.metrics import alignment_accuracy
from attnbook.toy.task_models import InductionModel
from attnbook.toy.tasks import (
    induction_batches,
    last_position_accuracy,
    position_numbers,
    previous_symbols,
)

ids, weights = torch.ones(2, 17, dtype=torch.int64), torch.zeros(2, 3, 3)
AND = Pair(("and",), ("und",), (None,))  # a word that renders none
TABLE = [
    (lambda: previous_symbols(ids, (1, 0)), "back is (1, 0); "),
    (lambda: previous_symbols(ids, ()), "back is ()"),
    (lambda: position_numbers(ids), "17 positions, but only 16"),
    (lambda: next(induction_batches(2, seed=0)), "from 3 to 17"),
    (lambda: next(induction_batches(18, seed=0)), "from 3 to 17"),
    (lambda: one_layer("absolute", 4), "'absolute'; choose one of none, sinusoidal"),
    (lambda: InductionModel(nn.Identity(), 65), "even"),
    (lambda: sample_pair(9, random.Random(0)), "1 to 8 clauses, not 9"),
    (lambda: sample_pair(0, random.Random(0)), "1 to 8 clauses, not 0"),
    (lambda: held_out_pairs(2, 0), "number is 0"),
    (lambda: alignment_accuracy(weights, [AND]), "of 2 sentences for 1 pairs; give"),
    (lambda: alignment_accuracy(weights[:1], [AND] * 2), "1 sentences for 2 pairs"),
    (lambda: alignment_accuracy(weights, [AND] * 2), "no word"),
    (lambda: alignment_accuracy(weights[:0], []), "no word"),
    (lambda: exact_match(make_bahdanau(), []), "a batch of 0 sequences"),
    (lambda: last_position_accuracy(None, (ids[:0], ids[:0])), "no sequence"),
]


@pytest.mark.parametrize(("call", "words"), TABLE)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
