"""Words are linked if each is the other's most probable origin, and sure enough."""

from attnbook.analysis.word_links import WordLinks

PAIRS = [
    (["The", "dog", "."], ["der", "Hund", "."]),
    (["the", "cat", "."], ["die", "Katze", "."]),
    (["a", "dog", "."], ["ein", "Hund", "."]),
]


def test_each_is_the_others_origin_whatever_its_case():
    """Punctuation marks aren't linked, nor are words that were never seen."""
    links = WordLinks(PAIRS)
    assert links.between(["a", "Dog", "."], ["Ein", "hund", "."]) == {0: 0, 1: 1}
    assert links.between(["horse", "dog"], ["Hund", "Pferd"]) == {0: 1}
    assert links.between(["dog"], ["Hund", "Hund"]) == {0: 0}
    assert links.between([], ["Hund"]) == {}


def test_what_is_unsure_is_not_linked():
    assert WordLinks(PAIRS, sure=0.999).between(["the"], ["der"]) == {}
    assert WordLinks(PAIRS, sure=0.2).between(["the"], ["der"]) == {0: 0}
