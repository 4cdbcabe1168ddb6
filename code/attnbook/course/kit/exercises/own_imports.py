"""What a section of the reader's file imports of the package's parts."""

from __future__ import annotations

import ast
from collections.abc import Collection
from importlib import import_module

from attnbook.course.kit.exercises.stages import MODULES, find_part

Found = tuple[ast.ImportFrom, ast.alias, str, str]


def ours_in(source: str, name: str) -> list[Found]:
    """The package's parts that a section imports.

    Args:
        source: The section.
        name: Its part, whose own import does not count: it may be made of ours, as that
            of chapter 2 is.

    Returns:
        For each: the statement, the name in it, the part, and what this part calls it.
    """
    try:
        body = ast.parse(source).body
    except SyntaxError:  # the reader has changed it
        return []
    nodes = [node for node in body if isinstance(node, ast.ImportFrom)]
    return [
        (node, alias, part.name, label)
        for node in nodes
        if (node.module or "").split(".")[0] == "attnbook"
        for alias in node.names
        for part in map(find_part, MODULES)
        for label, ours in zip(part.names, part.ours, strict=True)
        if part.name != name
        and getattr(import_module(node.module), alias.name, None) is ours
    ]


def without_ours(source: str, name: str, saved: Collection[str]) -> str:
    """A section that uses the reader's parts where it imported ours.

    Args:
        source: The section.
        name: Its part.
        saved: The parts that are saved above it.
    """
    lines = source.splitlines(keepends=True)
    for node, alias, part, label in ours_in(source, name):
        more = lines[node.end_lineno - 1][node.end_col_offset :].strip()
        if part not in saved or more:  # whatever stands behind it would be lost
            continue
        first, bound = node.lineno - 1, alias.asname or alias.name
        if len(node.names) == 1:
            lines[first : node.end_lineno] = [""] * (node.end_lineno - first)
        else:
            node.names.remove(alias)
            rest = [""] * (node.end_lineno - node.lineno)
            lines[first : node.end_lineno] = [f"{ast.unparse(node)}\n", *rest]
        if bound != label:
            lines[node.end_lineno - 1] += f"{bound} = {label}\n"
    return "".join(lines)
