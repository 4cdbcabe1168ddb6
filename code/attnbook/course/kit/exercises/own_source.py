"""The text of what the reader wrote, with all of the notebook that it needs.

One rule for functions, classes, imports and numbers: a name is copied as the latest
statement that gave it its value, at the left margin of a cell or of a file, behind the
statements for the names that it uses. Only the package's parts, which a part of the
reader's may replace later, are imported in a form of our own.
"""

import ast
import builtins
import inspect
import linecache
import symtable
import sys
from collections.abc import Callable, Collection, Iterator, Sequence
from importlib import import_module
from typing import Any

from attnbook.course.kit.exercises.differences import describe
from attnbook.course.kit.exercises.readers_code import (
    files_of,
    functions_of,
    functions_with_bases,
)
from attnbook.course.kit.exercises.stages import MODULES, find_part

OWN_MODULE = "my_transformer"
"""Where saved parts live when they are run again."""
PLAIN = str | int | float | tuple | list | dict | None


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
        ValueError: If a statement is not to be found, or if the code uses something
            of the notebook that is no function, class, module or number, such as a
            tensor.
    """
    copied = _Copied(answers, names, given)
    for answer, name in zip(answers, names, strict=True):
        reason = why_not_saved(name, answer)
        if reason:
            raise ValueError(reason)
        copied.add_answer(name, answer)
    return copied.text()


def why_not_saved(name: str, answer: Any) -> str:
    """Why an answer has no text of its own, and what to do; empty if it has one."""
    if getattr(answer, "__name__", "") == "<lambda>":
        return f"{name} is a lambda: write it as `def {name}(…):`"
    if functions_of(answer) or inspect.isclass(answer):
        return ""
    return (
        f"{name} is {describe(answer)}, which cannot be copied: write a function, "
        f"`def {name}(…):`, that calls it or does the same, and save that"
    )


class _Copied:
    """What was found so far; what a statement uses is put before it."""

    def __init__(
        self, answers: tuple[Callable, ...], labels: Sequence[str], given: Collection
    ):
        self.labels, self.given = labels, given
        self.imports: set[str] = set()
        self.statements: list[tuple[str, bool]] = []  # and whether each is a definition
        self.done = ({*given} - {*labels}).union(dir(builtins))
        functions = [f for answer in answers for f in functions_with_bases(answer)]
        self.names = (  # of the notebook, or file, in which they are written
            functions[0].__globals__
            if functions
            else vars(sys.modules[answers[0].__module__])
        )
        cells = reversed(self.names.get("In", []))  # IPython's, each one that was run
        files = map(linecache.getlines, sorted(files_of(answers)))
        self.texts = [*cells, *map("".join, files)]

    def add_answer(self, label: str, answer: Any) -> None:
        """Copy an answer under the notebook's name for it, and name it as its part."""
        candidates = [label, answer.__name__, *self.names]
        found = (x for x in candidates if self.names.get(x) is answer)
        name = next(found, answer.__name__)
        self._add(name, answer)
        if name != label:
            self.statements.append((f"{label} = {name}", False))

    def text(self) -> str:
        """All that was copied: imports first, and space around definitions."""
        imports = sorted(self.imports, key=lambda x: (x.startswith("from"), x))
        text, before = "\n".join(imports), False
        for source, defines in self.statements:
            gap = "\n\n\n" if defines or before else "\n"
            text, before = f"{text}{gap}{source}", defines
        return f"{text.lstrip()}\n"

    def _add(self, name: str, value: Any) -> None:
        """Copy what gave a name of the notebook its value, unless it is there."""
        if name in self.done:
            return
        self.done.add(name)
        label = _part_label(value)
        if label and label not in self.labels:
            if label not in self.given:
                self.imports.add(_import_ours(label, value))
            if name != label:
                self.statements.append((f"{name} = {label}", False))
            return
        node, source = self._statement(name)
        defines = isinstance(node, ast.FunctionDef | ast.ClassDef)
        if isinstance(node, ast.Import | ast.ImportFrom):
            self.imports.add(source)
            return
        # Whether an assignment that is run again surely gives the same.
        same = isinstance(value, PLAIN) or inspect.isroutine(value)
        if not (defines or same or inspect.isclass(value)):
            raise ValueError(
                f"your code uses `{name}`, an object of type {type(value).__name__} "
                "from another cell: make it an argument, or compute it inside"
            )
        module = getattr(value, "__module__", None)
        if not defines and module == OWN_MODULE != self.names["__name__"]:
            source = f"{name} = {value.__name__}"  # the reader's, by `my_part`
        for used in _global_names(source):
            if used in self.names:
                self._add(used, self.names[used])
        self.statements.append((source, defines))

    def _statement(self, name: str) -> tuple[ast.stmt, str]:
        """The statement that gave a name its value, and its text."""
        for text in self.texts:
            try:
                body = ast.parse(text).body
            except SyntaxError:  # a cell that failed is kept, too
                continue
            for node in reversed(body):
                if name in _bound(node):
                    return node, _source_of(node, name, text)
        raise ValueError(
            f"the source of `{name}` is not to be found: define or import it at the "
            "left margin of a cell without `%%`, and run the cell"
        )


def _bound(node: ast.stmt) -> set[str]:
    """Names to which an import, a definition or an assignment gives a value."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        return {*map(_imported, node.names)}
    if isinstance(node, ast.FunctionDef | ast.ClassDef):
        return {node.name}
    if not isinstance(node, ast.Assign | ast.AnnAssign):
        return set()
    names = (x for x in ast.walk(node) if isinstance(x, ast.Name))
    return {x.id for x in names if isinstance(x.ctx, ast.Store)}


def _imported(alias: ast.alias) -> str:
    return alias.asname or alias.name.partition(".")[0]


def _source_of(node: ast.stmt, name: str, text: str) -> str:
    """A statement as it is written; of an import only what gives the name."""
    if isinstance(node, ast.Import | ast.ImportFrom):
        node.names = [alias for alias in node.names if _imported(alias) == name]
        return ast.unparse(node)
    if isinstance(node, ast.Assign | ast.AnnAssign):
        return ast.get_source_segment(text, node)  # more may stand behind it
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return "\n".join(text.splitlines()[first - 1 : node.end_lineno])


def _part_label(value: Any) -> str:
    """What the page calls one of the package's parts; empty if it is none."""
    for part in map(find_part, MODULES):
        for label, ours in zip(part.names, part.ours, strict=True):
            if value is ours:
                return label
    return ""


def _import_ours(label: str, value: Any) -> str:
    """How a section of the reader's file imports one of the package's parts."""
    room = ".".join(value.__module__.split(".")[:2])
    name = value.__name__
    in_room = getattr(import_module(room), name, None) is value
    home = room if in_room else value.__module__
    renamed = f" as {label}" if label != name else ""
    return f"from {home} import {name}{renamed}  # ours"


def _global_names(source: str) -> Iterator[str]:
    """Names that a statement takes from outside, each once, in a fixed order."""
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
