"""Measures of translations: weights against alignments, outputs against targets."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnbook.core.vocabulary import EOS, PAD
from attnbook.course.kit.toy_translation import accuracy_by_clause
from attnbook.models.bahdanau import Bahdanau
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import (
    alignment_accuracy,
    attention_weights,
    correct_tokens,
    exact_match,
    greedy_translations,
)

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


def test_attention_weights_are_those_of_teacher_forcing():
    torch.manual_seed(0)
    model = Bahdanau(len(SOURCE), len(TARGET), d_embed=4, d_hidden=4)
    pairs = pairs_of([1, 2, 1])
    batch = make_batch(pairs)
    weights = attention_weights(model, pairs)
    assert not weights.requires_grad
    assert torch.equal(weights, model(batch.src, batch.tgt_in, need_weights=True)[1])


class Cheat(nn.Module):
    """Knows the right translation; spoils the sentences that it is told to."""

    def __init__(self, spoil=()):
        super().__init__()
        self.spoil = spoil

    def start(self, src):
        rows = [translate_by_rule(SOURCE.decode(row)).target for row in src.tolist()]
        ids = [[*TARGET.encode(row), EOS] for row in rows]
        for i in self.spoil:
            ids[i][-2] = 7
        return ids, 0

    def step(self, token, state):
        ids, t = state
        output = torch.tensor([row[t] if t < len(row) else EOS for row in ids])
        return F.one_hot(output, len(TARGET)).double(), (ids, t + 1)

    def forward(self, src, tgt_in):
        ids, _ = self.start(src)
        rows = [row + [PAD] * (tgt_in.shape[1] - len(row)) for row in ids]
        return F.one_hot(torch.tensor(rows), len(TARGET)).double()


def test_exact_match_counts_whole_sentences():
    pairs = held_out_pairs(2, 10)
    assert greedy_translations(Cheat(), pairs) == [pair.target for pair in pairs]
    assert exact_match(Cheat(), pairs) == 1.0
    assert exact_match(Cheat(spoil=(1, 4)), pairs) == pytest.approx(0.8)


def test_right_tokens_counts_real_tokens():
    pairs = held_out_pairs(1, 3) + held_out_pairs(2, 3)
    right, real = correct_tokens(Cheat(spoil=(0,)), pairs)
    assert real.sum().item() == sum(len(pair.target) + 1 for pair in pairs)
    assert (real & ~right).sum().item() == 1
    assert not (right & ~real).any()


def test_right_by_clause_counts_words_of_clauses():
    pairs = held_out_pairs(3, 4)
    assert accuracy_by_clause(Cheat(), pairs) == [1.0, 1.0, 1.0]
    *before, last = accuracy_by_clause(Cheat(spoil=(2,)), pairs)
    assert before == [1.0, 1.0]
    words = sum(len(" ".join(p.target).split(" ul ")[-1].split()) for p in pairs)
    assert last == pytest.approx(1 - 1 / words)
