"""The reader's own file, as the front page shows it."""

from attnbook.course.front.own_file import EXERCISES, OwnFile
from attnbook.course.kit.exercises.stages import MODULES, find_part


def test_the_own_file_lists_every_part_with_its_exercise():
    assert list(EXERCISES) == list(MODULES)
    shown = OwnFile()
    html = shown._repr_html_()
    for name, (page, exercise, _) in EXERCISES.items():
        assert page.startswith(f"ch{find_part(name).chapter:02}_")
        assert f'data-exercise="{exercise}"' in html
    assert shown.parts["attention"] == 8
    assert f"{sum(shown.parts.values())} lines" in html
