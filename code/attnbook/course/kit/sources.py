"""Show the source of the package in the page, so that text and code cannot drift."""

import ast
import inspect
import textwrap
from collections.abc import Callable
from types import ModuleType


class Source:
    """The source of a class or function, shown as a highlighted block."""

    def __init__(self, title: str, code: str):
        self.title = title
        self.code = code

    def __repr__(self) -> str:
        return f"<Source of {self.title}>"

    def _repr_markdown_(self) -> str:
        fence = "```"
        while fence in self.code:
            fence += "`"
        return f"{fence}python\n{self.code}\n{fence}"


def show_source(obj: type | Callable | ModuleType, *, docstring: bool = True) -> Source:
    """Show how a class, a function or a module of the package is written.

    Args:
        obj: A class, function, method or module of ``attnbook``.
        docstring: Whether to show docstrings; without them for what the page has just
            explained.

    Returns:
        The source, which a notebook shows as Python code; its first line names the
        module.
    """
    whole = inspect.ismodule(obj)
    module = obj.__name__ if whole else obj.__module__
    code = textwrap.dedent(inspect.getsource(obj)).rstrip()
    if not docstring:
        code = without_docstrings(code)
    path = module.replace(".", "/") + ".py"
    title = module if whole else f"{module}.{obj.__qualname__}"
    return Source(title, f"# {path}\n{code}")


def without_docstrings(code: str) -> str:
    """Leave out the docstrings of all classes and functions in a piece of code."""
    lines = code.splitlines()
    for node in ast.walk(ast.parse(code)):
        if not isinstance(node, ast.ClassDef | ast.FunctionDef):
            continue
        if ast.get_docstring(node) is None or len(node.body) == 1:
            continue
        doc = node.body[0]
        end = doc.end_lineno
        if end < len(lines) and not lines[end].strip():
            end += 1  # the empty line after it
        for number in range(doc.lineno - 1, end):
            lines[number] = None
    return "\n".join(line for line in lines if line is not None)
