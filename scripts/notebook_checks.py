"""What must hold for the stored notebooks; nbval proves that the outputs are true.

Every check takes a notebook and yields one line for each place where it does not hold.
`findings` runs them all.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from nbformat import NotebookNode

LONGEST_CELL = 30  # lines
LONGEST_LINE = 88  # columns
# An alternative text shorter than this cannot say what is to be seen.
SHORTEST_ALT = 5  # words

LOCAL_PATH = re.compile(
    r"""(?:^|[\s"'`(=\[])(?:file:/|/(?:home|Users|root|tmp)/|[A-Z]:\\)"""
)
ADDRESS = re.compile(r"\bat 0x[0-9a-f]{6,}")
TRAINS = re.compile(r"\bfit\(|\bsteps=\d")
TABLE = '<div class="book-table'
SOLUTION = re.compile(r"\{solution-(start|end)\}")
JUDGED = re.compile(r"^(?:check|judge)\(", re.MULTILINE)
PASSED = re.compile(r": right\.|: all \d+ stages passed\.")
RUN_AGAIN = "run scripts/run_notebooks.py"


def tags(cell: NotebookNode) -> list[str]:
    """Return the tags of a cell."""
    return cell.metadata.get("tags", [])


def place(number: int, cell: NotebookNode) -> str:
    """Name a cell by its number, counted from 1, and its first line."""
    lines = cell.source.strip().splitlines()
    return f"cell {number} ({lines[0][:50]!r})" if lines else f"cell {number} (empty)"


def code_cells(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the place and the cell of all code that runs everywhere.

    The first cell installs the package on Colab; it is tagged ``nbval-skip`` and left
    out, here and when the chapters are run.
    """
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "code" and "nbval-skip" not in tags(cell):
            yield place(number, cell), cell


def text_of(output: NotebookNode) -> str:
    """Return all the text of an output."""
    parts = [output.get("text", ""), *output.get("traceback", [])]
    parts += [
        value
        for kind, value in output.get("data", {}).items()
        if kind.startswith("text/") and isinstance(value, str)
    ]
    return "\n".join(parts)


def check_counts(notebook: NotebookNode) -> Iterator[str]:
    """Every code cell was run, from top to bottom in one go."""
    for expected, (where, cell) in enumerate(code_cells(notebook), 1):
        if cell.execution_count is None:
            yield f"{where}: was never run; {RUN_AGAIN}"
        elif cell.execution_count != expected:
            yield (
                f"{where}: its execution count is {cell.execution_count}, "
                f"it must be {expected}; {RUN_AGAIN}"
            )


def check_stderr(notebook: NotebookNode) -> Iterator[str]:
    """Nothing was written to the error stream: it differs from machine to machine."""
    for where, cell in code_cells(notebook):
        for output in cell.outputs:
            if output.get("name") == "stderr":
                line = output.text.strip().splitlines()[-1]
                yield f"{where}: wrote to stderr: {line}"


def check_errors(notebook: NotebookNode) -> Iterator[str]:
    """A cell that is meant to fail is tagged so."""
    for where, cell in code_cells(notebook):
        for output in cell.outputs:
            if output.output_type == "error" and "raises-exception" not in tags(cell):
                yield f"{where}: {output.ename}: {output.evalue}".splitlines()[0]


def check_length(notebook: NotebookNode) -> Iterator[str]:
    """A cell is taken in at one look, and is no wider than the page."""
    for where, cell in code_cells(notebook):
        lines = cell.source.splitlines()
        if len(lines) > LONGEST_CELL:
            yield f"{where}: has {len(lines)} lines, {LONGEST_CELL} are allowed"
        widest = max(map(len, lines), default=0)
        if widest > LONGEST_LINE:
            yield f"{where}: is {widest} columns wide, {LONGEST_LINE} are allowed"


def check_semicolons(notebook: NotebookNode) -> Iterator[str]:
    """A trailing semicolon hides a result in Jupyter, but not from nbval."""
    for where, cell in code_cells(notebook):
        if cell.source.rstrip().endswith(";"):
            yield f"{where}: ends with a semicolon; write `_ = …` instead"


def check_figures(notebook: NotebookNode) -> Iterator[str]:
    """Every picture says in words what it shows (alt), and what it claims (caption)."""
    for where, cell in code_cells(notebook):
        kinds = [kind for output in cell.outputs for kind in output.get("data", {})]
        if not any(kind.startswith("image/") for kind in kinds):
            continue
        options = cell.metadata.get("mystnb", {})
        alt = options.get("image", {}).get("alt", "")
        if not alt:
            yield f"{where}: the picture has no alt text (mystnb.image.alt)"
        elif len(alt.split()) < SHORTEST_ALT:
            yield f"{where}: the alt text {alt!r} does not say what is to be seen"
        figure = options.get("figure", {})
        for key in ("name", "caption"):
            if not figure.get(key):
                yield f"{where}: the picture has no {key} (mystnb.figure.{key})"


def check_tables(notebook: NotebookNode) -> Iterator[str]:
    """Every table has a number and says what it claims; nothing else is counted so."""
    for where, cell in code_cells(notebook):
        shown = [output.get("data", {}).get("text/html", "") for output in cell.outputs]
        # One inside a figure, such as an explorer's, has the figure's caption.
        is_table = any(html.startswith(TABLE) for html in shown)
        figure = cell.metadata.get("mystnb", {}).get("figure", {})
        named = figure.get("name", "").startswith("tab-")
        if is_table and not named:
            yield f"{where}: the table has no name tab-… (mystnb.figure.name)"
        if is_table and not figure.get("caption"):
            yield f"{where}: the table has no caption (mystnb.figure.caption)"
        if named and not is_table:
            yield f"{where}: is named {figure['name']}, and is no table"


def check_tags(notebook: NotebookNode) -> Iterator[str]:
    """What differs between machines is not compared: training and timing."""
    for where, cell in code_cells(notebook):
        varies = "timing" in tags(cell) or TRAINS.search(cell.source)
        if varies and cell.outputs and "nbval-ignore-output" not in tags(cell):
            yield f"{where}: trains or takes time; tag it nbval-ignore-output"


def check_machine(notebook: NotebookNode) -> Iterator[str]:
    """Nothing tells of the machine on which the notebook was run."""
    for number, cell in enumerate(notebook.cells, 1):
        outputs = "\n".join(text_of(output) for output in cell.get("outputs", []))
        for what, text in (("source", cell.source), ("output", outputs)):
            if LOCAL_PATH.search(text):
                yield f"{place(number, cell)}: the {what} names a path of one machine"
        if ADDRESS.search(outputs):
            yield f"{place(number, cell)}: the output holds an address in memory"


def check_widgets(notebook: NotebookNode) -> Iterator[str]:
    """No widget is stored: without its kernel a reader would see "model not found"."""
    remedy = "an explorer stores a still if ATTNBOOK_STILL is set"
    if "widgets" in notebook.metadata:
        yield f"the notebook's metadata hold the state of widgets; {remedy}"
    for where, cell in code_cells(notebook):
        kinds = [kind for output in cell.outputs for kind in output.get("data", {})]
        if any("jupyter.widget" in kind for kind in kinds):
            yield f"{where}: a widget is stored; {remedy}"


def check_solutions(notebook: NotebookNode) -> Iterator[str]:
    """A printed solution passes its own check: one that fails raises no error."""
    inside = False
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "markdown":
            for mark in SOLUTION.findall(cell.source):
                inside = mark == "start"
        elif inside and JUDGED.search(cell.source):
            said = "\n".join(map(text_of, cell.outputs))
            if not PASSED.search(said):
                verdict = said.partition("\n")[0] or "it says nothing"
                yield f"{place(number, cell)}: the solution isn't right: {verdict}"


CHECKS = (
    check_counts,
    check_stderr,
    check_errors,
    check_length,
    check_semicolons,
    check_figures,
    check_tables,
    check_tags,
    check_machine,
    check_widgets,
    check_solutions,
)


def findings(notebook: NotebookNode) -> list[str]:
    """Run every check and return what was found, nothing if all is well."""
    return [line for check in CHECKS for line in check(notebook)]
