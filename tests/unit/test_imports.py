"""Imports point from later ideas to earlier ones; no idea imports the pages' tools."""

import ast
from graphlib import TopologicalSorter
from pathlib import Path

import attnbook

ROOT = Path(attnbook.__file__).parent


def imported(path):
    """Modules of the package that a file imports, without the leading ``attnbook.``."""
    names = set()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(
            "attnbook"
        ):
            if node.module == "attnbook":
                names |= {alias.name for alias in node.names}
            else:
                names.add(node.module.removeprefix("attnbook."))
    return names


def graph():
    """Each module of the package with those it imports."""
    paths = {
        path.relative_to(ROOT).with_suffix(""): path for path in ROOT.rglob("*.py")
    }
    return {".".join(name.parts): imported(path) for name, path in paths.items()}


def test_no_circle():
    order = list(TopologicalSorter(graph()).static_order())
    assert order.index("masks") < order.index("checks") < order.index("seq2seq")


def test_ideas_do_not_import_the_pages_tools():
    for name, others in graph().items():
        if not name.startswith("book"):
            assert not [other for other in others if other.startswith("book")], name
