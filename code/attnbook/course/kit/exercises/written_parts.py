"""Judge what the reader wrote: stage by stage, as the package's own part is tested."""

import re
import sys
import textwrap
from collections.abc import Callable
from typing import TextIO

from attnbook.course.kit.exercises.differences import describe
from attnbook.course.kit.exercises.hints import next_hint
from attnbook.course.kit.exercises.own_source import why_not_saved
from attnbook.course.kit.exercises.readers_code import (
    error_line,
    files_of,
    is_unwritten,
    what_it_does,
)
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    find_part,
    first_failure,
    hints_for,
)

WIDTH = 76  # columns of the page


def judge(name: str, *answers: Callable) -> None:
    """Say which stages the reader's part passes and, at the first failure, give a hint.

    Changed code gets the next hint. An unwritten part fails nothing.

    Args:
        name: The part, such as "attention".
        answers: The reader's function or class; all of them, if the part has several.

    Raises:
        ValueError: If there is no such part, or it has another number of functions.
    """
    try:
        print(verdict_on_part(find_part(name), answers, sys.stdout))
    except KeyboardInterrupt as stop:  # without the lines of the judge
        raise KeyboardInterrupt(error_line(stop, files_of(answers))) from None


def verdict_on_part(
    part: Part, answers: tuple[Callable, ...], printed: TextIO | None = None
) -> str:
    """What :func:`judge` prints; what the reader's code prints goes to ``printed``."""
    check_number(part, answers)
    for label, answer in zip(part.names, answers, strict=True):
        if not (callable(answer) or is_unwritten(answer)):
            return (
                f"{part.name}: expected the function or class itself, got "
                f"{describe(answer)}: write {label} without quotes, and do not call it."
            )
    if all(is_unwritten(answer) for answer in answers):
        return f"{part.name}: your turn."
    for label, answer in zip(part.names, answers, strict=True):
        if is_unwritten(answer):
            return f"{part.name}: {label} is not written yet."
    failed = first_failure(part, answers, printed)
    if failed is None:
        stages = [_passed_line(stage) for stage in part.stages]
        keep = _how_to_keep(part, answers)
        passed = f"{part.name}: all {len(stages)} stages passed."
        return "\n".join([passed, *stages, keep])
    return _report(part, answers, *failed)


def check_number(part: Part, answers: tuple) -> None:
    """Raise a ValueError unless there is one answer for each name of the part."""
    if len(answers) != len(part.names):
        raise ValueError(
            f"{part.name} consists of {len(part.names)}, {', '.join(part.names)}, but "
            f"{len(answers)} are given: give {', '.join(part.names)}, in this order"
        )


def _how_to_keep(part: Part, answers: tuple[Callable, ...]) -> str:
    """The call that keeps a part in the reader's file, or why there is none yet."""
    for label, answer in zip(part.names, answers, strict=True):
        reason = why_not_saved(label, answer)
        if reason:
            return _wrap(f"It cannot be kept for later chapters yet: {reason}.")
    names = ", ".join(answer.__name__ for answer in answers)
    return f'Keep it for later chapters: save_part("{part.name}", {names})'


def _report(
    part: Part, answers: tuple[Callable, ...], stage: Stage, error: Exception
) -> str:
    """The stages before the failure, the failure with a hint, the stages after it."""
    number = part.stages.index(stage)
    finding = mistake = str(error)
    if not isinstance(error, Wrong):
        finding = error_line(error, files_of(answers))
        mistake = f"{type(error).__name__}: {error}"  # whatever its line says
    # Hints belong to a mistake: another one, in the same stage, gets them anew.
    mistake = re.sub(r"\d+(\.\d+)?", "#", mistake)
    hint = next_hint(
        f"{part.name}: {stage.name}: {mistake}",
        hints_for(part, stage, error),
        what_it_does(answers),
    )
    lines = [
        f"{part.name}: {number} of {len(part.stages)} stages passed.",
        *map(_passed_line, part.stages[:number]),
        _wrap(f"✗ {stage.name}: {finding}"),
        *(_wrap(f"  {line}") for line in hint.splitlines()),
    ]
    later = ", ".join(other.name for other in part.stages[number + 1 :])
    if later:
        lines.append(_wrap(f"· not judged yet: {later}"))
    return "\n".join(lines)


def _passed_line(stage: Stage) -> str:
    return _wrap(f"✓ {stage.name}: {stage.checked}")


def _wrap(line: str) -> str:
    """Break a line where the page would cut it off."""
    return textwrap.fill(line, WIDTH, subsequent_indent="  ", break_long_words=False)
