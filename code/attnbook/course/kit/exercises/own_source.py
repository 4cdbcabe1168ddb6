"""The source of what the reader wrote, with all that it needs to stand by itself."""

from __future__ import annotations

import ast
import builtins
import inspect
import linecache
import symtable
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from attnbook.course.kit.exercises.differences import describe
from attnbook.course.kit.exercises.readers_code import functions_of

READERS_MODULES = ("__main__", "my_transformer")
"""Where the reader's own code lives: the notebook, and the file of saved parts."""
HOMES = ("math", "torch", "torch.nn", "torch.nn.functional")
"""Where to look for what does not say where it comes from, as PyTorch's functions."""


class SourceError(ValueError):
    """The reader's code cannot be copied; the message says why and what to do."""


def own_source(
    answers: tuple[Callable, ...], names: Sequence[str], given: Collection[str] = ()
) -> str:
    """Copy functions and classes of the notebook with the imports and helpers they use.

    Args:
        answers: The functions and classes.
        names: What each of them is to be called; one of another name is copied under
            its own, and gets this one, too.
        given: Names that need no definition, as the reader's file has them.

    Raises:
        SourceError: If a definition is not to be found, or if it uses something of the
            notebook that cannot be written down, such as a tensor.
    """
    collected = _Collected(given)
    for answer, name in zip(answers, names, strict=True):
        collected.done.add(name)
        collected.add(name, answer, {})
    imports = sorted(collected.imports, key=lambda x: (x.startswith("from"), x))
    head = [*imports, *collected.constants]
    return "\n\n\n".join(["\n".join(head)] * bool(head) + collected.definitions) + "\n"


def _own_name(name: str, value: Any, namespace: dict[str, Any]) -> str:
    """The name by which a function or class is defined, whatever it is called now.

    Raises:
        SourceError: If it is neither, or has no name.
    """
    if not functions_of(value) and not inspect.isclass(value):
        raise SourceError(
            f"{name} is {describe(value)}, which cannot be copied: write a function, "
            f"`def {name}(…):`, that calls it or does the same, and save that"
        )
    if value.__name__ == "<lambda>":
        raise SourceError(f"{name} is a lambda: write it as `def {name}(…):`")
    # What a decorator returns may be called as the function inside the decorator.
    decorated = namespace.get(value.__name__) is not value is namespace.get(name)
    return name if decorated else value.__name__


class _Collected:
    """What was found so far; a helper is put before what uses it."""

    def __init__(self, given: Collection[str]):
        self.imports: set[str] = set()
        self.constants: list[str] = []
        self.definitions: list[str] = []
        self.done = {*given, *dir(builtins)}

    def add(self, name: str, value: Any, namespace: dict[str, Any]) -> None:
        """Add the definition of a function or class, after all that it uses.

        Args:
            name: Its name in the notebook.
            value: The function or class.
            namespace: The names around it, for a class without functions.
        """
        functions = functions_of(value)
        namespace = functions[0].__globals__ if functions else namespace
        own = _own_name(name, value, namespace)
        if own != name:
            if own not in self.done:
                self.done.add(own)
                self.add(own, value, namespace)
            self.definitions.append(f"{name} = {own}")
            return
        source = _definition(name, value)
        for used in _global_names(source):
            if used not in self.done and used in namespace:
                self._add_used(used, namespace[used], namespace)
        self.definitions.append(source)

    def _add_used(self, name: str, value: Any, namespace: dict[str, Any]) -> None:
        line = _import_line(name, value)
        self.done.add(name)
        if line:
            self.imports.add(line)
        elif inspect.isfunction(value) or inspect.isclass(value):
            self.add(name, value, namespace)
        elif _is_literal(value):
            self.constants.append(f"{name} = {value!r}")
        elif isinstance(value, float):  # inf and nan: no literals
            self.constants.append(f'{name} = float("{value}")')
        else:
            raise SourceError(
                f"your code uses `{name}`, an object of type {type(value).__name__} "
                "from another cell: make it an argument, or compute it inside"
            )


def _definition(name: str, value: Any) -> str:
    """The text of the cell that defines a function or class at its left margin."""
    codes = [f.__code__ for f in functions_of(value)]
    files = dict.fromkeys(code.co_filename for code in codes)
    for file in (*files, *_cells()):
        text = "".join(linecache.getlines(file))
        try:
            body = ast.parse(text).body
        except SyntaxError:  # a cell that failed is kept, too
            continue
        for node in reversed(body):
            defines = isinstance(node, ast.FunctionDef | ast.ClassDef)
            if not (defines and node.name == name):
                continue
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            # A decorator may have put a function of another place here.
            own = range(first, node.end_lineno + 1)
            places = [(f.co_filename, f.co_firstlineno) for f in codes]
            if (
                not codes
                or node.decorator_list
                or any(at == file and line in own for at, line in places)
            ):
                return "\n".join(text.splitlines()[first - 1 : node.end_lineno])
    raise SourceError(
        f"the source of `{name}` is not to be found: define it by `def` or `class` at "
        "the left margin of a cell without `%%`, and run the cell"
    )


def _cells() -> list[str]:
    """Cells that were run, the latest first: they have lines, but no file on disk."""
    named = [file for file in reversed(linecache.cache) if not file.startswith("<")]
    return [file for file in named if not Path(file).exists()]


def _global_names(source: str) -> Iterator[str]:
    """Names that a definition takes from outside, each once, in a fixed order."""
    tables, found = [symtable.symtable(source, "cell", "exec")], set()
    while tables:
        table = tables.pop()
        tables += table.get_children()
        found |= {
            symbol.get_name()
            for symbol in table.get_symbols()
            if symbol.is_referenced() and symbol.is_global()
        }
    yield from sorted(found)


def _import_line(name: str, value: Any) -> str:
    """How a name of the notebook was imported; empty if the reader defined it."""
    if isinstance(value, ModuleType):
        package, _, last = value.__name__.rpartition(".")
        if not package:
            return f"import {last}" + (f" as {name}" if name != last else "")
        return f"from {package} import {_as(last, name)}"
    own_name = getattr(value, "__qualname__", "").rpartition(".")[2] or name
    for home in _homes(value):
        if getattr(import_module(home), own_name, None) is value:
            return f"from {home} import {_as(own_name, name)}"
    return ""


def _homes(value: Any) -> list[str]:
    """Modules that may export a value, the shortest first."""
    module = getattr(value, "__module__", None) or ""
    if module in READERS_MODULES:
        return []
    parts = module.split(".")
    outer = [".".join(parts[:n]) for n in range(1, len(parts) + 1)] if module else []
    return [home for home in (*outer, *HOMES) if home in sys.modules]


def _as(own_name: str, name: str) -> str:
    return name if own_name == name else f"{own_name} as {name}"


def _is_literal(value: Any) -> bool:
    """Whether a value can be written down as it is printed."""
    try:
        return ast.literal_eval(repr(value)) == value
    except (ValueError, SyntaxError):
        return False
