"""Answers made from a part's solution by some edits."""

from attnbook.course.kit.exercises.edits import Mistake, with_mistake
from attnbook.course.kit.exercises.parts import find_part
from attnbook.course.kit.exercises.stages import first_failure


def failed_stage(name, *edits):
    """The stage in which an edited solution fails, or None; an edit is (old, new)."""
    part = find_part(name)
    found = first_failure(part, with_mistake(part.solution, Mistake([*edits])))
    return found and found[0].name
