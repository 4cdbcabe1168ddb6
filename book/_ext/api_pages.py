"""What the pages on the package say beyond autodoc.

A room begins with the list of its modules, each linked to its section.  A field of a
named tuple has the comment of its line, where Python has "Alias for field number 0". A
constant's value that fills more than two lines, such as a table of functions, is left
out.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib.util import find_spec
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

LONGEST_VALUE = 150  # letters


def complete(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Change the lines of a docstring in their place."""
    if hasattr(thing, "__path__"):  # a room
        module = rf":py:mod:`\1 <{name}.\1>`"
        for number, line in enumerate(lines):
            for found in re.findall(r"``(\w+)``(?=:)", line):
                if find_spec(f"{name}.{found}"):
                    lines[number] = re.sub(rf"``({found})``", module, lines[number])
    elif lines and lines[0].startswith("Alias for field number"):
        lines[:] = [comment_of(name)]


def comment_of(field: str) -> str:
    """Return the comment on the line that defines a field, as a sentence."""
    owner, _, name = field.rpartition(".")
    module, _, owner = owner.rpartition(".")
    source = inspect.getsource(getattr(sys.modules[module], owner))
    found = re.search(rf"^ +{name}:[^#\n]*#:? *(.+)$", source, re.MULTILINE)
    if not found:
        return ""
    text = re.sub(r"(?<=\))  +", ": ", found[1])
    return f"{text[0].upper()}{text[1:]}."


def without_long_values(app: Sphinx, doctree: nodes.document) -> None:
    """Leave out long values of constants."""
    for node in list(doctree.findall(addnodes.desc_annotation)):
        value = node.astext().strip()
        if value.startswith("=") and len(value) > LONGEST_VALUE:
            node.parent.remove(node)


def setup(app: Sphinx) -> dict[str, bool]:
    """Complete what autodoc has read."""
    app.connect("autodoc-process-docstring", complete)
    app.connect("doctree-read", without_long_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
