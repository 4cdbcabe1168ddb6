"""The one sentence of the course, and its translations with their English."""

import re

from attnbook.course.kit.glosses import OURS, gloss, gloss_table, translations
from attnbook.toy.data import TARGET
from attnbook.toy.language import AND_TARGET

RIGHT = "farmer old the bird a sees and queen young this dog big the hears"


def marked(shown):
    """The English of the words that the page marks as wrong."""
    card = re.compile(
        r'<span class="clicks-card" style="([^"]*)">.*?<small>(.*?)</small>'
    )
    return [english for style, english in card.findall(shown) if "wavy" in style]


def test_every_target_word_has_an_english_one():
    assert {*gloss_table()} == {w for w in TARGET.words if w[0] != "<"}
    assert gloss(OURS.target) == RIGHT


def test_wrong_words_are_marked_and_missing_ones_counted():
    cut = OURS.target.index(AND_TARGET)
    wrong = [*OURS.target[: cut - 1], "pelot"]
    shown = translations({"right": OURS.target, "short": wrong})
    _, short = shown._repr_html_().split("<strong>short")
    assert marked(shown._repr_html_()) == marked(short)
    assert marked(short) == ["paints", f"{len(OURS.target) - cut} words missing"]
    assert "*pelot*" in repr(shown)
    assert repr(shown).count("*") == 2
