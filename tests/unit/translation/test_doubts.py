"""A translation is doubted for a reason, and not without one."""

import json

import pytest

from attnbook.data import multi30k
from attnbook.data.subwords import Subwords
from attnbook.translation.corpora import Texts
from attnbook.translation.doubts import (
    MANY_SUBWORDS,
    doubts_about_text,
    doubts_about_translation,
    many_subwords,
    repeated_part,
    subwords_per_word,
    unknown_characters,
    usual_texts,
)
from attnbook.translation.plain_text import plain_text, split_sentences
from attnbook.translation.translator import OTHERS, SHIPPED, Translator

SPLITS = ("train", "val")


@pytest.fixture(scope="module")
def subwords():
    """Those of the shipped model."""
    return Subwords.load(SHIPPED / "subwords.json")


@pytest.fixture(scope="module")
def translators():
    """By source language."""
    return {"en": Translator(), "de": Translator(OTHERS["german-english"])}


def doubts(text, translator):
    """Doubts about any text, as the command has them."""
    plain = plain_text(text, translator.usual)
    return doubts_about_text(plain, translator.subwords, translator.usual)


def all_doubts(text, translator, width):
    """With those about its translation."""
    ((output, log_prob),) = translator([text], width, scored=True)
    method = "greedy" if width == 1 else "beam"
    given = (text, output, log_prob, method, translator.subwords, translator.usual)
    return doubts_about_translation(*given)


@pytest.mark.parametrize(
    "text",
    ["A dog runs through the snow.", "A", "I", "", "...", "11:27 3 5 7", "London"],
)
def test_a_usual_text_has_none(translators, text):
    assert doubts(text, translators["en"]) == []


def test_each_model_has_its_own_measure():
    """To subwords that are mere letters, every word is as new as any other."""
    texts = ["abc abd", "aab bcd", "dd abcd"]
    letters = Subwords.train([*texts, "aa bb"], 10)
    many = many_subwords(texts, letters)
    assert many == pytest.approx(max(subwords_per_word(t, letters) for t in texts[:2]))
    assert doubts_about_text("dcba", letters, {"many_subwords": 5}) == []
    assert len(doubts_about_text("dcba", letters, {"many_subwords": 1})) == 1
    whole = Subwords.train(["abc abd"] * 9, 20)
    assert subwords_per_word("abc abd", whole) == many_subwords(["abc abd"], whole) == 1
    assert doubts_about_text("abc abd", whole, {"many_subwords": 1}) == []


def test_subwords_are_counted_per_word(subwords):
    assert subwords_per_word("A dog, a dog!", subwords) == 1
    assert subwords_per_word("dog giraffe", subwords) == 3  # g-i-ra-ff-e
    assert subwords_per_word("dog 12 3rd 2008", subwords) == 1  # numbers have a reason
    assert subwords_per_word(" ... ", subwords) == 0
    assert unknown_characters("a dog ß 3", subwords, {}) == []


def test_the_default_is_what_few_captions_reach(requires_data, subwords):
    captions = multi30k.sentences("val", "en")
    assert many_subwords(captions, subwords) == pytest.approx(MANY_SUBWORDS, abs=0.05)


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


# By the facts of a model


@pytest.mark.parametrize("source", ["en", "de"])
def test_captions_are_known_by_their_language(requires_data, translators, source):
    """Two words of the other one are enough, or what is made of them."""
    translator, other = translators[source], {"en": "de", "de": "en"}[source]
    captions = multi30k.sentences("val", source)
    doubted = [text for text in captions if doubts(text, translator)]
    assert len(doubted) <= 0.015 * len(captions)
    captions = multi30k.sentences("val", other)[::4]
    texts = [*captions, *(" ".join(text.split()[:2]) for text in captions)]
    taken = [text for text in texts if not doubts(text, translator)]
    missed = [text for text in taken if not all_doubts(text, translator, 5)]
    assert len(missed) <= 0.005 * len(texts)


@pytest.mark.parametrize(
    ("source", "foreign", "texts"),
    [
        ("de", True, "I love you.|Where is the station?|It rains.|A dog.|THE dog runs"),
        ("en", True, "Ich liebe dich.|Es regnet.|Ein Hund.|zwei frauen gehen"),
        ("en", False, "Hello.|Hi.|No.|Help!|Stop.|Peter|In Berlin.|I am hungry."),
        ("de", False, "Hallo.|Nein.|Stop.|Hilfe!|Peter|Ich bin müde.|Wie geht's?"),
    ],
)
def test_short_texts_of_another_language_are_named(translators, source, foreign, texts):
    names = {"en": "German than like English", "de": "English than like German"}
    for text in texts.split("|"):
        found = "; ".join(doubts(text, translators[source]))
        told = found.startswith(f"it reads more like {names[source]}")
        assert told == foreign, text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("狗在跑", "this model has no 狗 在 跑 and cannot read it"),
        ("A DOG RUNS THROUGH THE SNOW.", "it is in capitals, which"),
        ("The giraffe eats onions.", "words such as giraffe are hardly known to this"),
        ("asdfgh qwertz", "words such as asdfgh are hardly known to this model"),
        ("A dog runs and " * 15, "it has 60 subwords, and hardly a text it learned"),
        ("There are 3.5 dogs and 1,000 cats.", "numbers such as 3.5 are new"),
        ("A dog runs &dogs; far.", "it holds &dogs;, which stands for no character"),
        ("A man \ue000 runs.", "this model has no U+E000 and cannot read it"),
        ("A x\u0328 runs.", "this model has no U+0328 and cannot read it"),
        ("A 👩\u200d🚒 runs.", "this model has no 👩 🚒 and cannot read it"),
        ("A man \ud800 runs.", "this model has no \ufffd and cannot read it"),
        ("A man runs < 3 miles.", "this model has no < and cannot read it"),
    ],
)
def test_a_text_unlike_captions_has_a_reason(translators, text, reason):
    (found,) = doubts(text, translators["en"])
    assert found.startswith(reason)


def test_the_stored_facts_are_those_of_the_captions(requires_data, subwords):
    facts = json.loads((SHIPPED / "facts.json").read_text())
    sides = [[multi30k.sentences(split, x) for x in ("en", "de")] for split in SPLITS]
    usual = usual_texts(*(Texts(*side) for side in sides), subwords)
    assert usual | {"unsure": facts["usual"]["unsure"]} == facts["usual"]


# By the translation


def test_a_repetition_that_stands_in_the_source_is_no_doubt(subwords):
    looped, text = "nein nein nein nein", "the dog says no"
    (found,) = doubts_about_translation(text, looped, 0.0, "beam", subwords, {})
    assert found == "the translation repeats itself (nein …); it is wrong there"
    for source in ("a dog, a dog, a dog, a dog", "so so so so"):
        assert doubts_about_translation(source, looped, 0.0, "beam", subwords, {}) == []


def test_a_translation_that_the_model_is_unsure_of_is_doubted(translators):
    """Only where nothing else is said, and if the facts of the model have a limit."""
    translator = translators["en"]

    def found(text, log_prob, usual=translator.usual):
        given = (text, "Ein Hund.", log_prob, "greedy", translator.subwords, usual)
        return doubts_about_translation(*given)

    unsure = translator.usual["unsure"]["greedy"]
    assert found("A dog.", unsure) == []
    (doubt,) = found("A dog.", unsure - 1e-3)
    assert doubt.startswith("the model is less sure of this translation than of those")
    assert len(found("A 🐶.", unsure - 1e-3)) == 1
    assert found("A dog.", -9.0, {}) == []


# Plain text


@pytest.mark.parametrize(
    ("text", "plain"),
    [
        ("a woman’s ‘hat’ ‚x‛ `y´ ʼz 5′", "a woman's 'hat' 'x' 'y' 'z 5'"),
        ("«x» ″y″ „z“ ”w”", '"x" "y" "z" "w"'),
        ("x‐y‑z 3–5 − ― 2", "x-y-z 3-5 - - 2"),
        ("a dog—wet—runs — so", "a dog - wet - runs - so"),
        ("so… Ａ ﬁ ① 𝐃", "so... A fi 1 D"),
        ("a &amp; b &quot;c&quot; &#39;d&#x27; &nbsp; e&lt;f", "a and b \"c\" 'd' e<f"),
        ("Q&A & A&amp;M", "Q&A and A&M"),
        ("so\u00adft\u200b \u200fx\ufeff\x00\x07 \u2028 y\u2029\x1cz", "soft x y z"),
        ("❤\ufe0f \u3164\u2800 e\u0301", "❤ é"),
        ("\u200b\u2060\u00a0", ""),
        ("\ud800", "\ufffd"),
    ],
)
def test_a_text_is_written_plainly(text, plain):
    usual = {"languages": ["English", "German"]}
    assert plain_text(text, usual) == plain
    assert plain_text(plain, usual) == plain


def test_a_sign_that_captions_have_more_often_than_its_plain_form_stays():
    usual = {"characters": "-en„“–\"'’", "languages": ["German", "English"]}
    assert plain_text("„en“ ‘e’ e – n & “n”", usual) == "„en“ 'e' e - n und “n\""


@pytest.mark.parametrize("source", ["en", "de"])
def test_captions_are_plain_already(requires_data, translators, source):
    captions = multi30k.sentences("val", source)
    usual = translators[source].usual
    assert [text for text in captions if plain_text(text, usual) != text] == []


def test_typographic_signs_and_entities_change_no_translation(translators):
    translate = translators["en"]
    plain = """A woman's dog and a man's "hat" - in the snow."""
    fine = "A woman’s dog &amp; a man&rsquo;s “hat” — in the sn\u00adow."
    assert translate([fine], 1) == translate([plain], 1)


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["A dog runs.", "A cat sleeps!", "Why?"]),
        ("en", ["a dog runs.", "a cat sleeps."]),
        ("en", ["Mr. Smith met Dr. Jones in St. Louis at 3.30 p.m.", "They ate."]),
        ("en", ['"Stop!" he said.', "He laughed."]),
        ("de", ["Er war am 3. Mai z. B. im Park.", "Sie nicht."]),
        ("fr", ["Un chien court.", "Un chat dort."]),
        ("toy", ["the dog sees a farmer .", "a cat sleeps ."]),  # as in English
        ("en", []),
    ],
)
def test_sentences_are_found_again(language, sentences):
    assert split_sentences(" ".join(sentences), language) == sentences
    assert split_sentences("  ".join(sentences) + " ", language) == sentences
