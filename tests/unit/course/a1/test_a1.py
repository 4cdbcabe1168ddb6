"""An exercise of appendix A1."""

from attnbook.course.kit.exercises.short_exercises import find


def test_valid_translations_by_counting():
    right = find("exa1_valid").reference
    assert right([["a", "b"], ["b", "a"]]) == 0.5
    assert right([["a"] * 5, ["b"] * 5]) == 2 / 2**5
