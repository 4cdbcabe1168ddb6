"""Run source as a notebook does: a cell has lines, but no file; all share names."""

import ast
import linecache
from itertools import count
from pathlib import Path

import nbformat

NUMBERS = count(1)
BOOK = Path(__file__).resolve().parents[2] / "book"


def run_cell(source, namespace):
    """Run a cell; its functions are the notebook's, and tracebacks know its lines."""
    name = f"/nowhere/ipykernel_1/{next(NUMBERS)}.py"
    linecache.cache[name] = len(source), None, source.splitlines(keepends=True), name
    namespace.setdefault("__name__", "__main__")
    namespace.setdefault("In", [""]).append(source)
    exec(compile(source, name, "exec"), namespace)
    return namespace


def printed(page, name, solution=False):
    """A function or class as a page prints it: first, or last in a solution.

    The page's imports, definitions and constants up to there are run, and nothing else.
    """
    (path,) = BOOK.glob(f"{page}_*.ipynb")
    names = {}
    for cell in nbformat.read(path, as_version=4).cells:
        if cell.cell_type == "code" and (solution or name not in names):
            kept = filter(makes_a_name, ast.parse(cell.source).body)
            run_cell("\n".join(map(ast.unparse, kept)), names)
    return names[name]


def makes_a_name(node):
    """Whether a statement imports, defines, or keeps a constant or a reader's part."""
    if isinstance(node, ast.Assign):
        read = {inner.id for inner in ast.walk(node.value) if hasattr(inner, "id")}
        return read <= {"my_part"}
    definitions = ast.Import | ast.ImportFrom | ast.FunctionDef | ast.ClassDef
    return isinstance(node, definitions)
