"""Answers made from a part's solution by some edits."""

from attnbook.course.kit.exercises.hints import Mistake, make_mistake
from attnbook.course.kit.exercises.stages import find_part, first_failure


def failed_stage(name, *edits):
    """The stage in which an edited solution fails, or None; an edit is (old, new)."""
    part = find_part(name)
    found = first_failure(part, make_mistake(part.solution, Mistake([*edits])))
    return found and found[0].name
