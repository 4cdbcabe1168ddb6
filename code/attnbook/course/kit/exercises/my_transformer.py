"""The reader's file of solved parts, ``my_transformer.py`` next to the notebook."""

import linecache
import os
import re
from collections.abc import Callable, Iterable
from itertools import count
from pathlib import Path
from types import ModuleType
from typing import Any

from attnbook.core.files import write_whole
from attnbook.course.kit.exercises.own_source import OWN_MODULE, own_source
from attnbook.course.kit.exercises.readers_code import error_line, is_unwritten
from attnbook.course.kit.exercises.stages import MODULES, Part, find_part, first_failure
from attnbook.course.kit.exercises.written_parts import check_number, verdict_on_part

FILE = f"{OWN_MODULE}.py"
HEADER = '''\
"""My Transformer: what I wrote in the exercises of "Attention, Step by Step".

`save_part` keeps each part between the two lines that name it, and leaves the rest of
this file alone.
"""
'''
SECTION = re.compile(
    r"^# %% (?P<name>\w+) \(chapter \d+\)\n.*?^# %% end of (?P=name)(?:\n|\Z)",
    re.MULTILINE | re.DOTALL,
)
OURS = re.compile(r"^from attnbook.* (?P<label>\w+)  # ours\n", re.MULTILINE)
MARK = re.compile(r"^# %% (?:(\w+) \(chapter \d+\)|end of (\w+))$", re.MULTILINE)


def save_part(name: str, *answers: Callable) -> None:
    """Keep a part that passes all its stages in ``my_transformer.py``.

    The text of the reader's functions and classes is copied with the imports and
    helpers that it needs. An earlier version of the part is replaced; the file as it
    was is kept under another name.

    Args:
        name: The part, such as "attention".
        answers: The reader's functions or classes, as for ``judge``.

    Raises:
        ValueError: If there is no such part, if it has another number of functions, if
            the source cannot be copied, or if the file is damaged.
    """
    part = find_part(name)
    check_number(part, answers)
    if any(map(is_unwritten, answers)) or first_failure(part, answers):
        print(f"Not saved.\n{verdict_on_part(part, answers)}")
        return
    path = Path(FILE)
    text = _read(path)
    source = own_source(answers, part.names, _labels(_sections(text)))
    new = _put_section(text, part, source)
    if new == text:
        print(f"{name} is in {FILE} already.{_still_ours(new, _sections(new))}")
        return
    _check_together(text, new, part)
    kept = ""
    if name in _sections(text):
        names = (path.with_name(f"{path.stem}_before_{n}.py") for n in count(1))
        copy = next(name for name in names if not name.exists())
        write_whole(copy, path.read_bytes())
        kept = f" The file as it was is kept as {copy.name}."
    write_whole(path, new)
    print(f"Saved {name} in {FILE}.{kept}{_still_ours(new, _sections(new))}")


def my_part(name: str) -> Any:
    """The reader's own part if it is saved and passes all its stages; else ours.

    One line says which of the two it is. With the environment variable
    ``ATTNBOOK_PARTS=package`` it is always the package's, as in the outputs that are
    stored with the chapters.

    Args:
        name: The part, such as "attention".

    Returns:
        The function or class; a tuple of them, if the part has several.

    Raises:
        ValueError: If there is no such part.
    """
    part = find_part(name)
    found, reason = part.ours, "Yours is used once you have saved it."
    try:
        text = _read(Path(FILE))
        used = os.environ.get("ATTNBOOK_PARTS") != "package" and name in _sections(text)
        trouble = _trouble(text, name) if used else ""
        if trouble:
            reason = f"Yours, in {FILE}, {trouble}."
        elif used:
            found = _run(text, part)
    except ValueError as error:
        reason = f"{error}."
    if found is part.ours:
        print(f"{name}: the package's. {reason}")
    else:
        print(f"{name}: yours, from {FILE}.{_still_ours(text, _used_by(text, name))}")
    return found[0] if len(found) == 1 else found


def _read(path: Path) -> str:
    """The reader's file, or a new one; refused if its marks do not belong together."""
    if not path.exists():
        return HEADER
    text = path.read_text(encoding="utf-8")
    marks = [begin or end for begin, end in MARK.findall(text)]
    found = [match["name"] for match in SECTION.finditer(text)]
    if sorted(marks) != sorted(2 * found) or len({*found}) < len(found):
        raise ValueError(
            f"{FILE} is damaged: each part must stand once, between a line "
            "`# %% name (chapter N)` and a line `# %% end of name`. Mend these lines, "
            "or give the file another name; nothing was changed"
        )
    return text


def _sections(text: str) -> dict[str, re.Match]:
    """The sections of a file by the names of their parts."""
    return {match["name"]: match for match in SECTION.finditer(text)}


def _labels(sections: Iterable[str]) -> set[str]:
    """Names of the functions and classes of some sections' parts."""
    parts = [find_part(name) for name in sections if name in MODULES]
    return {label for part in parts for label in part.names}


def _put_section(text: str, part: Part, source: str) -> str:
    """A file with a part's section replaced, or put before those of later parts."""
    section = (
        f"# %% {part.name} (chapter {part.chapter})\n{source}# %% end of {part.name}\n"
    )
    sections, order = _sections(text), [*MODULES]
    if part.name in sections:
        start, end = sections[part.name].span()
        return text[:start] + section + text[end:]
    later = [
        sections[name].start()
        for name in order[order.index(part.name) + 1 :]
        if name in sections
    ]
    place = min(later, default=len(text))
    before = text[:place] if text[:place].endswith("\n") else f"{text[:place]}\n"
    after = text[place:]
    return f"{before}\n{section}" + (f"\n{after}" if after else "")


def _run(text: str, part: Part) -> tuple:
    """Run a file up to the end of a part's section; return the part's functions.

    Later sections may import the package's version of a part that was saved after them.
    """
    linecache.checkcache(FILE)
    module = ModuleType(OWN_MODULE)
    source = text[: _sections(text)[part.name].end()]
    exec(compile(source, FILE, "exec"), vars(module))
    return tuple(getattr(module, name) for name in part.names)


def _trouble(text: str, name: str) -> str:
    """What a part in a file does wrong; empty if it passes all its stages."""
    part = find_part(name)
    try:
        failed = first_failure(part, _run(text, part))
    except Exception as error:  # the file is the reader's: anything may be in it
        return f"does not run: {error_line(error, {FILE})}"
    return f"fails in the stage {failed[0].name!r}" if failed else ""


def _check_together(old: str, new: str, part: Part) -> None:
    """Raise a ValueError unless a part works in the new file, and the others do too."""
    for name in _sections(new):
        if name != part.name and (name not in MODULES or _trouble(old, name)):
            continue  # it did not work before
        trouble = _trouble(new, name)
        if trouble:
            raise ValueError(
                f"with {part.name} in {FILE}, {name} {trouble}. Nothing was saved: "
                f"mend that line if it isn't {part.name}'s; else put all that "
                f"{part.name} needs into its own cell, and give helpers names that no "
                "other part uses"
            )


def _used_by(text: str, name: str) -> list[str]:
    """The section of a part, and those above it whose names it mentions."""
    sections = _sections(text)
    above = [x for x in sections if sections[x].end() <= sections[name].start()]
    words = {*re.findall(r"\w+", sections[name][0])}
    named = [x for x in above if words & _labels([x])]
    return list(dict.fromkeys([name, *(y for x in named for y in _used_by(text, x))]))


def _still_ours(text: str, names: Iterable[str]) -> str:
    """A sentence that names the parts that some sections import from the package."""
    sections = _sections(text)
    labels = {x["label"] for name in names for x in OURS.finditer(sections[name][0])}
    found = sorted(name for name in MODULES if labels & _labels([name]))
    return f" Still ours in it: {', '.join(found)}." if found else ""
