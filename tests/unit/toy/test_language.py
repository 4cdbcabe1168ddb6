"""The toy language: sampled pairs, read again by other means."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.toy import language as toy

pairs = st.builds(
    lambda clauses, seed: toy.sample_pair(clauses, random.Random(seed)),
    st.integers(1, toy.MAX_CLAUSES),
    st.integers(0, 10**9),
)


@given(pairs)
def test_every_sampled_pair_parses_to_itself_and_is_aligned_one_to_one(pair):
    assert toy.translate_by_rule(" ".join(pair.source)) == pair
    assert toy.is_sentence(pair.source)
    assert len(pair.alignment) == len(pair.target) == len(pair.source)
    rendered = [j for j in pair.alignment if j is not None]
    words = [j for j, word in enumerate(pair.source) if word != toy.AND]
    assert sorted(rendered) == words
    rows = zip(pair.target, pair.alignment, strict=True)
    assert [word for word, j in rows if j is None] == [toy.AND_TARGET] * (
        pair.clauses - 1
    )


@given(pairs)
def test_each_target_word_renders_its_source_word(pair):
    stems = toy.ADJECTIVES | toy.DETERMINERS | {"an": "do"}
    for word, j in zip(pair.target, pair.alignment, strict=True):
        if j is None:
            continue
        source = pair.source[j]
        if source in toy.NOUNS:
            assert word == toy.NOUNS[source]
        elif source in toy.VERBS:
            assert word == toy.VERBS[source]
        else:
            assert word[:-1] == stems[source]


@given(pairs)
def test_order_and_agreement_clause_by_clause(pair):
    source = " ".join(pair.source).split(" and ")
    target = " ".join(pair.target).split(" ul ")
    assert len(source) == len(target) == pair.clauses
    for output, meant in zip(target, source, strict=True):
        output, meant = output.split(), meant.split()
        verb = next(i for i, word in enumerate(meant) if word in toy.VERBS)
        assert output[-1] == toy.VERBS[meant[verb]]
        for phrase, start in ((meant[:verb], 0), (meant[verb + 1 :], verb)):
            part = output[start : start + len(phrase)]
            assert part[0] == toy.NOUNS[phrase[-1]]
            assert {word[-1] for word in part} == {part[0][-1]}


@given(pairs)
def test_an_stands_before_vowels_only(pair):
    for word, following in zip(pair.source, pair.source[1:], strict=False):
        assert (word == "an") == (word in ("a", "an") and following[0] in "aeiou")


@pytest.mark.parametrize(
    ("sentence", "message"),
    [
        ("", "empty"),
        ("the dragon sees a bird", "'dragon' is not a word"),
        ("the farmer old sees a bird", "word 3 is 'old'; expected a verb"),
        ("farmer sees a bird", "word 1 is 'farmer'; expected a determiner"),
        ("the farmer sees", "ends after 'sees', where a determiner"),
        ("the farmer sees a bird the", "word 6 is 'the'; expected 'and' or the end"),
        ("a old farmer sees a bird", "word 1 is 'a', but before 'old' it must be 'an'"),
        (" and ".join(["the farmer sees a bird"] * 9), "1 to 8 clauses, not 9"),
    ],
)
def test_what_is_not_a_sentence_is_named(sentence, message):
    with pytest.raises(ValueError, match=message):
        toy.translate_by_rule(sentence)
    assert not toy.is_sentence(sentence)


def test_every_source_word_but_and_has_a_kind():
    kinds = {word: toy.kind_of(word) for word in toy.SOURCE_WORDS}
    assert kinds["an"] == kinds["the"] == "determiner"
    assert [word for word, kind in kinds.items() if kind is None] == ["and"]
