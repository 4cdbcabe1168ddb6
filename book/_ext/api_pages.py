"""What the pages on the package say beyond autodoc.

The page of a room holds its docstring, which lists its modules, each linked to its
section, and then these sections: none of it is written twice. A field of a named tuple
has the comment of its line, where Python has "Alias for field number 0". A constant's
value that fills more than two lines, such as a table of functions, is left out.
"""

from __future__ import annotations

import inspect
import re
import sys
from importlib import import_module
from importlib.util import find_spec
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

LONGEST_VALUE = 150  # letters


MODULE = re.compile(r"``(\w+)``(?=:)")
"""A module in the list of a room's docstring."""
SECTION = """
## `{module}`

```{{eval-rst}}
.. automodule:: {room}.{module}
   :members:
   :show-inheritance:
```
"""


def add_modules(app: Sphinx, docname: str, source: list[str]) -> None:
    """Put a room and its modules in the place of the comment that asks for them."""
    source[0] = re.sub(r"^<!-- modules of (\S+) -->$", describe, source[0], flags=re.M)


def describe(found: re.Match) -> str:
    """Return the docstring of a room, and a section for each module in it."""
    room = found[1]
    modules = MODULE.findall(import_module(room).__doc__)
    sections = (SECTION.format(room=room, module=module) for module in modules)
    return f"```{{eval-rst}}\n.. automodule:: {room}\n```\n{''.join(sections)}"


def complete(
    app: Sphinx, what: str, name: str, thing: Any, options: Any, lines: list[str]
) -> None:
    """Change the lines of a docstring in their place."""
    if hasattr(thing, "__path__"):  # a room
        module = rf":py:mod:`\1 <{name}.\1>`"
        for number, line in enumerate(lines):
            for found in MODULE.findall(line):
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
    app.connect("source-read", add_modules)
    app.connect("autodoc-process-docstring", complete)
    app.connect("doctree-read", without_long_values)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
