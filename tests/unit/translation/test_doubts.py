"""A translation is doubted for a reason, and not without one."""

import json
import re

import pytest

from attnbook.core import results
from attnbook.data import multi30k
from attnbook.data.subwords import Subwords
from attnbook.translation.corpora import Texts
from attnbook.translation.doubts import (
    MANY_SUBWORDS,
    doubts_about_text,
    many_subwords,
    repeated_part,
    subwords_per_word,
    unknown_characters,
    usual_texts,
)
from attnbook.translation.plain_text import plain_text
from attnbook.translation.translator import MODELS, OTHERS, SHIPPED, Translator


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
def test_a_text_unlike_captions_has_a_reason(translators, text, reason):
    (found,) = doubts(text, translators["en"])
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


def test_few_outputs_of_the_shipped_model_loop():
    outputs = results.load("multi30k_en_de_hypotheses")["test_2016_flickr"]["beam"]
    loops = [text for text in outputs if repeated_part(text)]
    assert 0 < len(loops) <= 0.02 * len(outputs)


@pytest.mark.parametrize(
    "text",
    ["A dog\trun.", "A dog\xa0runs.", "A cafe\u0301.", "A\u200b dog\ufeff runs."],
)
def test_how_a_text_is_stored_is_no_doubt(subwords, text):
    assert doubts_about_text(plain_text(text, {}), subwords, {}) == []


# By the facts of a model


@pytest.mark.parametrize("source", ["en", "de"])
def test_captions_of_the_language_are_not_doubted(requires_data, translators, source):
    captions = multi30k.sentences("val", source)
    doubted = [text for text in captions if doubts(text, translators[source])]
    assert len(doubted) <= 0.015 * len(captions)


@pytest.mark.parametrize("source", ["en", "de"])
@pytest.mark.parametrize("length", [2, 3, 4, 6, 10, 99])
def test_captions_of_the_other_language_are(requires_data, translators, source, length):
    other = {"en": "de", "de": "en"}[source]
    captions = [text.split()[:length] for text in multi30k.sentences("val", other)]
    texts = [" ".join(words) for words in captions]
    missed = [text for text in texts if not doubts(text, translators[source])]
    assert len(missed) <= 0.005 * len(texts)


@pytest.mark.parametrize(
    ("source", "texts"),
    [
        (
            "de",
            "I love you.|Where is the station?|How are you?|What time is it?|Yes."
            "|Please close the door.|It rains.|A dog.|THE dog runs|a dog|Good morning."
            "|She sells sea shells.|Two men are playing chess in the park.",
        ),
        (
            "en",
            "Ein Hund rennt durch den Schnee.|Ich liebe dich.|Wo ist der Bahnhof?|Ja."
            "|Wie geht es dir?|Danke.|Es regnet.|Ein Hund.|Bitte schließ die Tür."
            "|Das Wetter ist heute schön.|zwei frauen gehen spazieren",
        ),
    ],
)
def test_another_language_is_named_in_short_texts_too(translators, source, texts):
    names = {"en": "German than like English", "de": "English than like German"}
    for text in texts.split("|"):
        (found,) = doubts(text, translators[source])
        assert found.startswith(f"it reads more like {names[source]}"), text


def test_a_third_language_is_doubted_as_well(translators):
    texts = (
        "Un chien court dans la neige.|Deux hommes jouent aux échecs.|Je t'aime."
        "|El perro corre por la nieve.|Un cane corre nella neve."
        "|Een hond rent door de sneeuw.|En hund springer genom snön."
    )
    for text in texts.split("|"):
        for translator in translators.values():
            assert doubts(text, translator), text


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        (
            "A dog runs and " * 15,
            "it has 60 subwords, and hardly a text it learned",
        ),
        ("There are 3.5 dogs and 1,000 cats.", "numbers such as 3.5 are new"),
        ("There are 1,000 cats.", "numbers such as 1,000 are new"),
        ("In 1789 a man runs.", "numbers such as 1789 are new"),
        ("A dog runs &dogs; far.", "it holds &dogs;, which stands for no character"),
        ("A man in a café.", "this model has no é and cannot read it"),
        ("A man \ue000 runs.", "this model has no U+E000 and cannot read it"),
        ("A man \u0378 runs.", "this model has no U+0378 and cannot read it"),
        ("A man \u0600 runs.", "this model has no U+0600 and cannot read it"),
        ("A x\u0328 runs.", "this model has no U+0328 and cannot read it"),
        ("A 👩\u200d🚒 runs.", "this model has no 👩 🚒 and cannot read it"),
        ("A man \ud800 runs.", "this model has no \ufffd and cannot read it"),
        ("A man runs < 3 miles.", "this model has no < and cannot read it"),
    ],
)
def test_what_training_never_had_is_doubted(translators, text, reason):
    (found,) = doubts(text, translators["en"])
    assert found.startswith(reason)


@pytest.mark.parametrize("name", ["multi30k_en_de", "multi30k_de_en"])
def test_the_stored_facts_are_those_of_the_captions(requires_data, name):
    facts = json.loads((MODELS / name / "facts.json").read_text())
    pair = facts["config"]["source"], facts["config"]["target"]
    subwords = Subwords.load(MODELS / name / "subwords.json")
    splits = [
        Texts(*(multi30k.sentences(s, x) for x in pair)) for s in ("train", "val")
    ]
    assert usual_texts(*splits, subwords) == facts["usual"]


def test_the_facts_of_a_few_sentences():
    train = Texts(["a b 3.5", "a c", "a b"] * 9, ["x b", "x", "x"] * 9)
    found = usual_texts(train, train, Subwords.train([*train.source, "x b"] * 9, 30))
    assert found["characters"] == "ab.35c"
    assert found["numbers"] == "3.5"
    assert found["longest"] == 5  # ▁a ▁b ▁3 . 5, or fewer after merges
    assert set(found["sides"]) <= set("012345678")


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
