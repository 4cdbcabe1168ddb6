"""Sentences with two valid translations."""

from itertools import islice

import pytest

from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import translate_by_rule
from attnbook.toy.two_orders import object_first, two_order_pairs, valid_translations

PAIR = translate_by_rule("the old farmer sees a bird")


def test_the_phrases_change_places_and_the_verb_stays():
    assert " ".join(object_first(PAIR).target) == "lipas dos maron velin ken mirat"
    assert valid_translations(PAIR) == (PAIR.target, object_first(PAIR).target)


def test_the_alignment_goes_with_the_words():
    for pair in held_out_pairs(1, 50):
        one, two = (
            dict(zip(p.alignment, p.target, strict=True))
            for p in (pair, object_first(pair))
        )
        assert one == two
        assert object_first(pair).source == pair.source


def test_both_orders_are_drawn_in_their_shares():
    def share(of):
        drawn = [*islice(two_order_pairs(0, of), 400)]
        rule = [p.target == translate_by_rule(p.source).target for p in drawn]
        return 1 - sum(rule) / len(rule)

    assert share(0) == 0
    assert share(1) > 0.95  # two equal phrases have one order
    assert 0.4 < share(0.5) < 0.6
    assert [*islice(two_order_pairs(3), 5)] == [*islice(two_order_pairs(3), 5)]


def test_more_clauses_are_refused():
    with pytest.raises(ValueError, match="2 clauses"):
        object_first(held_out_pairs(2, 1)[0])


@pytest.mark.parametrize("share", [-0.1, 5.0])
def test_a_share_is_from_0_to_1(share):
    with pytest.raises(ValueError, match=f"share is {share}"):
        next(two_order_pairs(0, share))
