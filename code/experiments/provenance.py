"""Stored results: what made each, whether that is still the code here, and again.

The fingerprint of an experiment covers its own function and all of ours that it reaches
by name: functions, classes with their methods, constants. What only words change, such
as a docstring, leaves it as it is, and so does a move to another module.
"""

from __future__ import annotations

import ast
import hashlib
import inspect
import json
import platform
import textwrap
from collections.abc import Callable, Iterator
from functools import cache, partial
from pathlib import Path
from types import CodeType, FunctionType, ModuleType
from typing import Any

import torch

from attnbook.core.files import write_object
from attnbook.core.results import commit, machine

OURS = ("attnbook.", "experiments.")
DOCUMENTED = ast.FunctionDef | ast.ClassDef
ABOUT = (
    "command",
    "commit",
    "code",
    "machine",
    "python",
    "torch",
    "seconds",
    "repeated",
)
"""What a stored result says of itself, before the experiment's own entries."""


def save(name: str, run: Callable, values: dict, seconds: float, folder: Path) -> Path:
    """Write a result with the command, code, machine and versions that made it.

    Raises:
        ValueError: If a number is NaN or infinite.
    """
    record = {
        "command": f"python -m attnbook.course {name}",
        "commit": commit(),
        "code": fingerprint(run),
        "machine": machine(),
        "python": platform.python_version(),
        "torch": torch.__version__,
        "seconds": round(seconds),
        **values,
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{name}.json"
    write_object(path, record)
    return path


def differences(stored: dict, found: dict, runs: int | None = None) -> dict[str, float]:
    """Where two results of an experiment differ, in spreads of the stored numbers.

    Numbers that differ only in their place in a list, such as those of all seeds,
    are of one kind; the spread is that between the least and the largest of a kind.

    Args:
        stored: The result of all runs.
        found: The result to compare with it.
        runs: How many of the runs ``found`` holds; None: all.

    Returns:
        For each kind that differs its largest difference divided by its spread:
        infinite where the results don't have the same form, or there is no spread.
    """
    old, new = dict(leaves(stored)), dict(leaves(found))
    repeated = dict(leaves(first_runs(stored, runs)))
    if repeated.keys() != new.keys():
        return {"form": float("inf")}
    kinds: dict[str, list] = {}
    for place, value in old.items():
        kind = "/".join(part for part in place if isinstance(part, str))
        kinds.setdefault(kind, []).append((value, new.get(place, value)))
    return {
        kind: distance(pairs)
        for kind, pairs in kinds.items()
        if any(before != after for before, after in pairs)
    }


def first_runs(stored: dict, runs: int | None) -> dict:
    """A result without all but its first runs."""
    return stored if runs is None else stored | {"runs": stored["runs"][:runs]}


def in_part(run: Callable, runs: int) -> Callable | None:
    """The experiment with its first runs only, or None if it isn't made of runs."""
    takes = inspect.signature(run).parameters
    if "first" in takes:  # a sweep
        return partial(run, first=runs)
    if "seeds" in takes:
        return partial(run, seeds=[*takes["seeds"].default][:runs])
    return None


def mark(
    name: str, run: Callable, worst: float, runs: int | None, folder: Path
) -> None:
    """Write into a stored result that the code that is here gives it, too.

    With it go the largest difference, in spreads, and the number of repeated runs.
    """
    path = folder / f"{name}.json"
    record = json.loads(path.read_text(encoding="utf-8"))
    record |= {"commit": commit(), "code": fingerprint(run)}
    record["repeated"] = {
        "runs": "all" if runs is None else runs,
        "machine": machine(),
        "apart": round(worst, 3),
    }
    write_object(path, {key: record[key] for key in ABOUT if key in record} | record)


def distance(pairs: list[tuple[Any, Any]]) -> float:
    """The largest difference, divided by the range of the first values.

    What isn't a number, such as a word beside its probability, has to be equal.
    """
    numbers = [*filter(are_numbers, pairs)]
    words = [pair for pair in pairs if not are_numbers(pair)]
    if any(before != after for before, after in words):
        return float("inf")
    before = [first for first, _ in numbers]
    spread = max(before) - min(before)
    largest = max(abs(first - second) for first, second in numbers)
    return largest / spread if spread else float("inf")


def are_numbers(pair: tuple[Any, Any]) -> bool:
    """Whether a distance between two values is defined."""
    return all(isinstance(value, int | float) for value in pair)


def leaves(value: Any, place: tuple = ()) -> Iterator[tuple[tuple, Any]]:
    """All values inside lists and dictionaries, each with its place."""
    if not isinstance(value, dict | list):
        yield place, value
        return
    items = value.items() if isinstance(value, dict) else enumerate(value)
    for key, item in items:
        yield from leaves(item, (*place, key))


def fingerprint(run: Callable) -> str:
    """Twelve hex digits that change with the code behind an experiment."""
    found: dict[str, str] = {}
    reach(":experiment", run, found)
    lines = (f"{name.partition(':')[2]}: {found[name]}" for name in found)
    text = "\n".join(sorted(lines))
    return hashlib.sha256(text.encode()).hexdigest()[:12]


def reach(name: str, thing: Any, found: dict[str, str]) -> None:
    """Add what a name stands for, if it is ours, and all that this names in turn."""
    if isinstance(thing, partial):
        for part in ("args", "keywords", "func"):
            reach(f"{name}.{part}", getattr(thing, part), found)
    elif isinstance(thing, dict):
        for key, item in thing.items():
            reach(f"{name}[{key!r}]", item, found)
    elif isinstance(thing, tuple | list):
        for place, item in enumerate(thing):
            reach(f"{name}[{place}]", item, found)
    elif isinstance(thing, int | float | str | range | None):
        found[name] = repr(thing)
    elif isinstance(thing, FunctionType | type):
        reach_code(inspect.unwrap(thing), found)


def reach_code(thing: FunctionType | type, found: dict[str, str]) -> None:
    """Add a function or class of ours with all that it names."""
    if not f"{thing.__module__}.".startswith(OURS):
        return
    source = bare_source(thing)
    name = f"{thing.__module__}:{thing.__qualname__}"
    if "<lambda>" in name:  # one of several
        name += source
    if name in found:
        return
    found[name] = source
    for base in getattr(thing, "__bases__", ()):
        reach("", base, found)
    for function in functions(thing):
        enclosed = zip(
            function.__code__.co_freevars, function.__closure__ or (), strict=True
        )
        for key, cell in enclosed:
            reach(f"{name}.{key}", cell.cell_contents, found)
        names = {*named(function.__code__)}
        for key in sorted(names & function.__globals__.keys()):
            value = function.__globals__[key]
            place = f"{function.__module__}:{key}"
            if isinstance(value, ModuleType) and value.__name__.startswith(OURS):
                inside = names & vars(value).keys()
                value = {inner: vars(value)[inner] for inner in inside}
            reach(place, value, found)


def functions(thing: FunctionType | type) -> Iterator[FunctionType]:
    """A function itself, or those of a class, properties among them."""
    members = [thing] if isinstance(thing, FunctionType) else vars(thing).values()
    for member in members:
        inside = getattr(member, "fget", None) or getattr(member, "__func__", member)
        if isinstance(inside, FunctionType):
            yield inspect.unwrap(inside)


def named(code: CodeType) -> Iterator[str]:
    """All names in compiled code, those in inner functions included."""
    yield from code.co_names
    for inner in code.co_consts:
        if inspect.iscode(inner):
            yield from named(inner)


@cache
def bare_source(thing: FunctionType | type) -> str:
    """The source without comments and docstrings."""
    try:
        source = textwrap.dedent(inspect.getsource(thing))
    except OSError:  # made while running, as the methods of a dataclass are
        return ""
    try:
        tree = ast.parse(source)
    except SyntaxError:  # the line of a lambda
        return source.strip()
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node):
            node.body[:1] = [ast.Pass()]
    return ast.unparse(tree)
