"""A translation is doubted for a reason, and not without one."""

import re
import unicodedata

import pytest

from attnbook.core import results
from attnbook.data import multi30k
from attnbook.data.subwords import Subwords
from attnbook.translation.doubts import (
    MANY_SUBWORDS,
    doubts_about_text,
    many_subwords,
    repeated_part,
    subwords_per_word,
    unknown_characters,
)
from attnbook.translation.translator import SHIPPED


@pytest.fixture(scope="module")
def subwords():
    """Those of the shipped model."""
    return Subwords.load(SHIPPED / "subwords.json")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("狗在跑", "this model has no 狗 在 跑 and cannot read it"),
        ("A 🐶 runs and a 🐶 sleeps.", "this model has no 🐶 and cannot read it"),
        ("A DOG RUNS THROUGH THE SNOW.", "it is in capitals, which"),
        ("The giraffe eats onions.", "words such as giraffe are new .* as g-i-ra-ff-e"),
        ("asdfgh qwertz", "words such as asdfgh are new to this model"),
        ("The Parliament adopted the resolution.", "words such as adopted"),
    ],
)
def test_a_text_unlike_captions_has_a_reason(subwords, text, reason):
    (found,) = doubts_about_text(text, subwords)
    assert re.match(reason, found)


@pytest.mark.parametrize(
    "text",
    [
        "A dog runs through the snow.",
        "Two men in red shirts play chess, smiling.",
        "A",
        "I",
        "",
        "...",
        "3 : 2",
        "A man in a T-shirt stands in front of a BMX bike.",
    ],
)
def test_a_usual_text_has_none(subwords, text):
    assert doubts_about_text(text, subwords) == []


def test_each_model_has_its_own_measure():
    """To subwords that are mere letters, every word is as new as any other."""
    texts = ["abc abd", "aab bcd", "dd abcd"]
    letters = Subwords.train([*texts, "aa bb"], 10)
    many = many_subwords(texts, letters)
    assert many == pytest.approx(max(subwords_per_word(t, letters) for t in texts[:2]))
    assert doubts_about_text("dcba", letters, many=5) == []
    assert len(doubts_about_text("dcba", letters, many=1)) == 1
    whole = Subwords.train(["abc abd"] * 9, 20)
    assert subwords_per_word("abc abd", whole) == many_subwords(["abc abd"], whole) == 1
    assert doubts_about_text("abc abd", whole, many=1) == []


def test_subwords_are_counted_per_word(subwords):
    assert subwords_per_word("A dog, a dog!", subwords) == 1
    assert subwords_per_word("dog giraffe", subwords) == 3  # g-i-ra-ff-e
    assert subwords_per_word(" ... ", subwords) == 0
    assert unknown_characters("a dog ß 3", subwords) == []


def test_the_default_is_what_few_captions_reach(requires_data, subwords):
    captions = multi30k.sentences("val", "en")
    assert many_subwords(captions, subwords) == pytest.approx(MANY_SUBWORDS, abs=0.05)
    doubted = [text for text in captions if doubts_about_text(text, subwords)]
    assert len(doubted) <= 20


@pytest.mark.parametrize(
    ("output", "part"),
    [
        ("Der Mann trägt mindestens mindestens mindestens einen Hut.", "mindestens"),
        ("Eine Frau nimmt ein Selelelelel.", "el"),
        ("Cello-Wandelt-Welt-Welt-Welt.", "elt-W"),
        ("auf dem Berg auf dem Berg auf dem Berg", "auf dem Berg"),
        ("Ein sehr, sehr großer Hund.", ""),
        ("Ein Hund rennt durch den Schnee.", ""),
        ("Warte ...... 1 000 000 000", ""),
        ("", ""),
    ],
)
def test_an_output_that_loops_is_found(output, part):
    assert repeated_part(output) == part


def test_few_outputs_of_the_shipped_model_loop():
    outputs = results.load("multi30k_en_de_hypotheses")["test_2016_flickr"]["beam"]
    loops = [text for text in outputs if repeated_part(text)]
    assert 0 < len(loops) <= 0.02 * len(outputs)


@pytest.mark.parametrize(
    "text", ["A dog\trun.", "A dog\xa0runs.", "Zwei Ma\u0308nner."]
)
def test_white_space_and_accents_in_two_characters_are_no_doubt(subwords, text):
    usual = unicodedata.normalize("NFC", " ".join(text.split()))
    assert doubts_about_text(text, subwords) == doubts_about_text(usual, subwords)
