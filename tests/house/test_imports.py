"""Rooms build on one another in one order, and each says what is in it."""

import ast
import importlib
import types
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import attnbook

ROOT = Path(attnbook.__file__).parent
ROOMS = (
    *("core", "nn", "models", "decoding", "data", "toy", "analysis", "translation"),
    "course",
)
"""From the ground up: a room imports from those before it."""


def imported(code):
    """Modules of the package that code imports, without the leading ``attnbook.``."""
    names = set()
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            found = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom) and node.module:
            found = [f"{node.module}.{alias.name}" for alias in node.names]
        else:
            continue
        names |= {module_of(n) for n in found if f"{n}.".startswith("attnbook.")}
    return names - {""}


def module_of(name):
    """The module that a dotted name is, or that the thing of this name is in."""
    inner = name.removeprefix("attnbook").lstrip(".")
    path = ROOT / inner.replace(".", "/")
    is_module = path.is_dir() or path.with_suffix(".py").exists()
    return inner if is_module else inner.rpartition(".")[0]


def graph():
    """Each module of the package, but for the rooms' lists, with those it imports."""
    paths = [p for p in ROOT.rglob("*.py") if p.name != "__init__.py"]
    return {
        ".".join(p.relative_to(ROOT).with_suffix("").parts): imported(
            p.read_text(encoding="utf-8")
        )
        for p in paths
    }


def test_no_circle():
    list(TopologicalSorter(graph()).static_order())


def test_rooms_import_from_earlier_rooms_only():
    order = {room: floor for floor, room in enumerate(ROOMS)}
    for module, others in graph().items():
        room = module.split(".")[0]
        if room in order:
            later = [o for o in others if order[o.split(".")[0]] > order[room]]
            assert not later, f"{module} imports {later}"


@pytest.mark.parametrize("room", ROOMS)
def test_a_room_explains_its_modules_and_no_name_hides_one(room):
    package = importlib.import_module(f"attnbook.{room}")
    inside = {
        p.stem for p in (ROOT / room).glob("[a-z]*") if p.suffix == ".py" or p.is_dir()
    } - {"py.typed"}
    for module in inside:
        found = getattr(package, module, None)
        assert found is None or isinstance(found, types.ModuleType), (
            f"attnbook.{room} has the module {module} and another thing of that name"
        )
