"""What a translator knows after a clause, and what its vector holds."""

import pytest
import torch

from attnbook.core import results
from attnbook.core.vocabulary import EOS
from attnbook.course.ch01.lab import exchanged_table
from attnbook.models.seq2seq import Encoder
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.language import AND_TARGET
from experiments import ch01_bottleneck as bottleneck


@pytest.mark.parametrize("clauses", [1, 3])
def test_probabilities_are_read_where_the_first_clause_ends(clauses):
    pairs = held_out_pairs(clauses, 6)
    places = {
        pair.target: [*pair.target, AND_TARGET].index(AND_TARGET) for pair in pairs
    }

    def model(src, tgt_in):
        logits = torch.zeros(*tgt_in.shape, len(TARGET))
        for row, pair in enumerate(pairs):
            logits[row, places[pair.target], TARGET.encode([AND_TARGET])[0]] = 20.0
            logits[row, places[pair.target], EOS] = 20.0 + torch.tensor(3.0).log()
        return logits

    assert bottleneck.after_first_clause(model, pairs) == pytest.approx((0.25, 0.75))


def test_a_vector_that_holds_a_word_is_read(monkeypatch):
    """The last state of an encoder that adds up counts would do; so does a wide one."""
    torch.manual_seed(0)
    wide, narrow = (Encoder(len(SOURCE), 32, width) for width in (64, 1))
    good, bad = (
        bottleneck.probe_vector(x.requires_grad_(False)) for x in (wide, narrow)
    )
    assert good["last noun"] == 1.0
    assert bad["last noun"] < 0.6
    assert {*good} == {*bottleneck.PROBED}


def test_neither_half_translates_two_clauses_with_the_other_models():
    for decoder, encoder, one, two in exchanged_table().rows():
        assert decoder != encoder
        assert 5 < one.low <= one.high < 20
        assert two.high < 1


def test_three_times_the_steps_at_twice_the_rate_bring_a_third_clause():
    stored = results.load("static_last_faster_longer")
    assert (stored["steps"], stored["rate"], len(stored["runs"])) == (2100, 8e-3, 3)
    assert min(run["exact"]["3"] for run in stored["runs"]) > 0.8
