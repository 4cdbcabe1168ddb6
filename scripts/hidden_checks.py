"""What a page hides and folds: all that is plumbing, and nothing that a reader needs.

The rules are in CONTRIBUTING.md. Every check takes a notebook and yields one line for
each place where one of them does not hold; `findings` runs them all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from nbformat import NotebookNode

from notebook_checks import code_cells, place, tags

MOST_FOLDS = 2
FOLD_HEADING = re.compile(r"#{3,6} Going further: \S")
UNSEEN = {"remove-input", "remove-cell"}
# What is shown for its own sake; their results alone would say too little.
SHOWN = {"begin", "check", "show_source"}


def statements(cell: NotebookNode) -> list[ast.stmt]:
    """Parse a cell; what is no Python, such as `!ls`, counts as empty."""
    try:
        return ast.parse(cell.source).body
    except SyntaxError:
        return []


def imported(body: list[ast.stmt]) -> dict[str, str]:
    """Return the names that statements import, each with where it comes from."""
    return {
        alias.asname or alias.name.partition(".")[0]: getattr(node, "module", "") or ""
        for node in body
        if isinstance(node, ast.Import | ast.ImportFrom)
        for alias in node.names
    }


def made(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements import or define."""
    found = set(imported(body))
    for node in (inner for statement in body for inner in ast.walk(statement)):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found - {"_"}


def used(body: list[ast.stmt]) -> set[str]:
    """Return the names that statements read."""
    nodes = (inner for statement in body for inner in ast.walk(statement))
    return {
        node.id
        for node in nodes
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


def called(statement: ast.stmt) -> str | None:
    """Return where `_ = f(…)` or `f(…)` gets its function from, None if it is neither.

    Of `ch04.scale_figure()` that is `ch04`.
    """
    if isinstance(statement, ast.Assign):
        names = [target.id for target in statement.targets if hasattr(target, "id")]
        if names != ["_"]:
            return None
    elif not isinstance(statement, ast.Expr):
        return None
    function = getattr(statement.value, "func", None)
    while isinstance(function, ast.Attribute):
        function = function.value
    return getattr(function, "id", None)


def only_shows(body: list[ast.stmt], page_names: set[str]) -> bool:
    """Say whether statements only draw or print, by the page's functions."""
    acts = [s for s in body if not isinstance(s, ast.Import | ast.ImportFrom)]
    return bool(acts) and all(called(act) in page_names for act in acts)


def only_tests(body: list[ast.stmt]) -> bool:
    """Say whether all that statements do is to assert and to say so."""

    def says_so(statement: ast.stmt) -> bool:
        if called(statement) != "print":
            return False
        return all(isinstance(word, ast.Constant) for word in statement.value.args)

    asserts = [isinstance(statement, ast.Assert) for statement in body]
    return any(asserts) and all(
        sure or says_so(statement)
        for sure, statement in zip(asserts, body, strict=True)
    )


def seen_elsewhere(notebook: NotebookNode, but: NotebookNode) -> set[str]:
    """Return the names that the code on the page reads, in all cells but one."""
    cells = (cell for _, cell in code_cells(notebook) if cell is not but)
    shown = [cell for cell in cells if not UNSEEN & {*tags(cell)}]
    return set().union(*(used(statements(cell)) for cell in shown))


def check_begin(notebook: NotebookNode) -> Iterator[str]:
    """`begin()` sets the threads and the style of figures; no reader needs it."""
    for where, cell in code_cells(notebook):
        calls = {called(statement) for statement in statements(cell)}
        if "begin" in calls and not UNSEEN & {*tags(cell)}:
            yield f"{where}: calls begin(); tag it remove-cell"


def check_shows(notebook: NotebookNode) -> Iterator[str]:
    """The code of a cell that only draws, or prints what is stored, is not shown."""
    page_names: set[str] = set()
    for where, cell in code_cells(notebook):
        body = statements(cell)
        names = imported(body)
        page_names |= {n for n, m in names.items() if m.startswith("attnbook.course")}
        needed = set(names) & seen_elsewhere(notebook, but=cell)
        unseen = (UNSEEN | {"hide-cell"}) & {*tags(cell)}
        if only_shows(body, page_names - SHOWN) and not needed and not unseen:
            yield f"{where}: only shows a result; tag it remove-input"


def check_tests(notebook: NotebookNode) -> Iterator[str]:
    """A cell that only asserts is run, and is not on the page."""
    for where, cell in code_cells(notebook):
        if only_tests(statements(cell)) and "remove-cell" not in tags(cell):
            yield f"{where}: only tests; tag it remove-cell"


def check_hidden_names(notebook: NotebookNode) -> Iterator[str]:
    """What the code on the page reads comes from code on the page."""
    known: set[str] = set()
    hidden: dict[str, str] = {}
    for where, cell in code_cells(notebook):
        body = statements(cell)
        if UNSEEN & {*tags(cell)}:
            hidden |= dict.fromkeys(made(body) - known, where)
        else:
            known |= made(body)
            for name in sorted(used(body) & set(hidden) - known):
                yield f"{where}: reads {name}, which is made unseen in {hidden[name]}"


def check_folds(notebook: NotebookNode) -> Iterator[str]:
    """A fold has a heading that says so, and there are few."""
    folds = [
        (place(number, cell), cell)
        for number, cell in enumerate(notebook.cells, 1)
        if "fold" in tags(cell)
    ]
    for where, cell in folds:
        if cell.cell_type != "markdown" or not FOLD_HEADING.match(cell.source):
            yield f"{where}: a fold begins with a heading '### Going further: …'"
    for where, _ in folds[MOST_FOLDS:]:
        yield f"{where}: more than {MOST_FOLDS} folds"


CHECKS = (check_begin, check_shows, check_tests, check_hidden_names, check_folds)


def findings(notebook: NotebookNode) -> list[str]:
    """Run every check and return what was found, nothing if all is well."""
    return [line for check in CHECKS for line in check(notebook)]
