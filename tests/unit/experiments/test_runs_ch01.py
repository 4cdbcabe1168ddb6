"""What chapter 1's experiments measure, at small size."""

import math

import pytest
import torch

from attnbook.core.divergence import DivergedError
from attnbook.core.vocabulary import EOS
from attnbook.models.seq2seq import Encoder
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.language import AND_TARGET, NOUNS
from experiments import ch01


@pytest.mark.parametrize("clauses", [1, 3])
def test_probabilities_are_read_where_the_first_clause_ends(clauses):
    pairs = held_out_pairs(clauses, 6)

    def model(src, tgt_in):
        logits = torch.zeros(*tgt_in.shape, len(TARGET))
        for row, pair in zip(logits, pairs, strict=True):
            place = [*pair.target, AND_TARGET].index(AND_TARGET)
            row[place, TARGET.encode([AND_TARGET])[0]] = 20.0
            row[place, EOS] = 20.0 + math.log(3)
        return logits

    assert ch01.after_first_clause(model, pairs) == pytest.approx((0.25, 0.75))


def test_only_a_vector_that_holds_a_word_is_read():
    torch.manual_seed(0)
    encoders = [Encoder(len(SOURCE), 32, width) for width in (64, 1)]
    wide, narrow = (ch01.probe_vector(e.requires_grad_(False)) for e in encoders)
    assert wide["last noun"] == 1.0
    assert narrow["last noun"] < 0.6


def test_wrong_words_are_counted_by_kind():
    pairs = held_out_pairs(1, 50)
    correct = [[w in NOUNS.values() for w in (*p.target, "<eos>")] for p in pairs]
    found = ch01.right_and_wrong(correct, pairs)
    assert found["right"] == {"determiner": 0, "adjective": 0, "noun": 1, "verb": 0}
    words = sum(len(pair.target) for pair in pairs)
    assert found["wrong"]["noun"] == 0
    assert found["wrong"]["verb"] == pytest.approx(50 / (words - 100), abs=6e-4)


def test_recall_learns_the_last_symbol_at_once():
    short, longer = ch01.train_recall("rnn", lengths=(2, 4), steps=100, seed=0)
    assert (short["length"], longer["length"]) == (2, 4)
    assert min(short["first"], short["last"], longer["last"]) > 0.9


def test_a_ruined_model_recalls_nothing(monkeypatch):
    forward = ch01.RecallModel.forward

    def spoiled(model, x):
        return [logits * math.inf for logits in forward(model, x)]

    monkeypatch.setattr(ch01.RecallModel, "forward", spoiled)
    with pytest.raises(DivergedError):
        ch01.train_recall("rnn", lengths=(2,), steps=1, seed=0)
