"""The pictures of the front page show what is stored, and lead to what they name."""

import re

from attnbook.course.front.drawings import CUTS, cuts, overview
from attnbook.course.front.own_file import EXERCISES, OwnFile
from attnbook.course.kit.exercises.stages import MODULES, find_part
from attnbook.course.kit.tables import stored_runs


def test_every_box_of_the_overview_is_a_link():
    picture = overview()
    boxes = re.findall(r'rx="7"|<rect x=', picture._repr_svg_())
    links = re.findall(r'class="book-box" href="(\w+)\.html', picture._repr_html_())
    assert len(links) == 11
    assert len(boxes) >= len(links)
    assert set(links) >= {"ch02_bahdanau", "ch09_transformer", "ch12_training"}


def test_the_bars_are_the_stored_scores():
    svg = cuts()._repr_svg_()
    stored = stored_runs("translator_cuts", translator="shipped")
    runs = {run["cut"]: run["bleu"] for run in stored}
    assert runs["nothing"] == max(runs.values())
    for cut, words in CUTS.items():
        assert f">{runs[cut]:.0f}</text>" in svg
        assert words.replace("'", "&#x27;") in svg


def test_the_own_file_lists_every_part_with_its_exercise():
    assert list(EXERCISES) == list(MODULES)
    shown = OwnFile()
    html = shown._repr_html_()
    for name, (page, exercise, _) in EXERCISES.items():
        assert page.startswith(f"ch{find_part(name).chapter:02}_")
        assert f'data-exercise="{exercise}"' in html
    assert shown.parts["attention"] == 8
    assert f"{sum(shown.parts.values())} lines" in html
