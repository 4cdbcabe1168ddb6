"""Roles of words: by the rule that also translates them."""

from attnbook.core.vocabulary import PAD
from attnbook.toy.data import SOURCE, held_out_pairs
from attnbook.toy.language import translate_by_rule
from attnbook.toy.roles import ROLES, role_batch, roles_of

TWO = "the old farmer sees a bird and an old cat helps this king"


def test_a_sentence_by_hand():
    subject, clause = ["subject"] * 3, ["verb", "object", "object"]
    assert roles_of(TWO.split()) == [*subject, *clause, "connective", *subject, *clause]


def test_a_batch_has_an_id_for_each_word_and_its_role():
    pairs = [translate_by_rule(TWO), *held_out_pairs(1, 3)]
    ids, tags = role_batch(pairs)
    assert ids.shape == tags.shape
    for pair, row, tag in zip(pairs, ids.tolist(), tags.tolist(), strict=True):
        n = len(pair.source)
        assert row[:n] == SOURCE.encode(pair.source)
        assert [ROLES[i] for i in tag[:n]] == roles_of(pair.source)
        assert {*row[n:], *tag[n:]} <= {PAD}
