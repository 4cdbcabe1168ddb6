"""What must hold for the stored notebooks, and for those that readers open.

nbval proves that the stored outputs are true. Every check yields one line for each
place where it does not hold. `findings` runs those of a stored notebook,
`reader_findings` those of the reader's that was made from it.
"""

import ast
import re
from collections.abc import Collection, Iterator, Mapping

from nbformat import NotebookNode

from run_notebooks import check_outputs, code_cells, place, tags

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
UNSEEN = {"remove-input", "remove-cell"}


def text_of(output: NotebookNode) -> str:
    """Return all the text of an output."""
    parts = [output.get("text", ""), *output.get("traceback", [])]
    parts += [
        value
        for kind, value in output.get("data", {}).items()
        if kind.startswith("text/") and isinstance(value, str)
    ]
    return "\n".join(parts)


# --- Outputs ---


def check_counts(notebook: NotebookNode) -> Iterator[str]:
    """Every code cell was run, from top to bottom in one go."""
    for expected, (where, cell) in enumerate(code_cells(notebook), 1):
        if cell.execution_count != expected:
            yield (
                f"{where}: its execution count is {cell.execution_count}, it must be "
                f"{expected}; run scripts/run_notebooks.py"
            )


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
        if LOCAL_PATH.search(f"{cell.source}\n{outputs}"):
            yield f"{place(number, cell)}: names a path of one machine"
        if ADDRESS.search(outputs):
            yield f"{place(number, cell)}: the output holds an address in memory"


def check_solutions(notebook: NotebookNode) -> Iterator[str]:
    """A printed solution passes its own check: one that fails raises no error."""
    for where, cell in solution_cells(notebook):
        if JUDGED.search(cell.source):
            said = "\n".join(map(text_of, cell.outputs))
            if not PASSED.search(said):
                verdict = said.partition("\n")[0] or "it says nothing"
                yield f"{where}: the solution isn't right: {verdict}"


def solution_cells(notebook: NotebookNode) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the place and the cell of the code of all solutions."""
    inside = False
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "markdown":
            for mark in SOLUTION.findall(cell.source):
                inside = mark == "start"
        elif inside:
            yield place(number, cell), cell


# --- What a reader sees ---


def check_pictures(notebook: NotebookNode) -> Iterator[str]:
    """Every picture says in words what it shows; it and every table has a caption."""
    for where, cell in code_cells(notebook):
        shown = [output.get("data", {}) for output in cell.outputs]
        is_picture = any(kind.startswith("image/") for data in shown for kind in data)
        # One inside a figure, such as an explorer's, has the figure's caption.
        is_table = any(data.get("text/html", "").startswith(TABLE) for data in shown)
        options = cell.metadata.get("mystnb", {})
        figure, alt = options.get("figure", {}), options.get("image", {}).get("alt", "")
        if is_picture and len(alt.split()) < SHORTEST_ALT:
            yield f"{where}: the alt text {alt!r} does not say what is to be seen"
        if is_picture and not figure.get("name"):
            yield f"{where}: the picture has no name (mystnb.figure.name)"
        if (is_picture or is_table) and not figure.get("caption"):
            yield f"{where}: has no caption (mystnb.figure.caption)"
        if is_table != figure.get("name", "").startswith("tab-"):
            yield f"{where}: the name of a table, and of nothing else, begins with tab-"


def check_hidden_names(notebook: NotebookNode) -> Iterator[str]:
    """What the code on the page reads comes from code on the page."""
    known: set[str] = set()
    hidden: dict[str, str] = {}
    for where, cell in code_cells(notebook):
        if UNSEEN & {*tags(cell)}:
            hidden |= dict.fromkeys(made(cell.source) - known, where)
        else:
            known |= made(cell.source)
            for name in sorted(used(cell.source) & {*hidden} - known):
                yield f"{where}: reads {name}, which is made unseen in {hidden[name]}"


def nodes(source: str) -> Iterator[ast.AST]:
    """Yield all parts of some code; what is no Python, such as `!ls`, has none."""
    try:
        yield from ast.walk(ast.parse(source))
    except SyntaxError:
        return


def made(source: str) -> set[str]:
    """Return the names that code imports or defines."""
    found = set()
    for node in nodes(source):
        if isinstance(node, ast.Import | ast.ImportFrom):
            names = (alias.asname or alias.name for alias in node.names)
            found |= {name.partition(".")[0] for name in names}
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, ast.FunctionDef | ast.ClassDef):
            found.add(node.name)
    return found - {"_"}


def used(source: str) -> set[str]:
    """Return the names that code reads."""
    return {
        node.id
        for node in nodes(source)
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load)
    }


CHECKS = (
    *(check_counts, check_outputs, check_tags, check_machine),
    *(check_solutions, check_pictures, check_hidden_names),
)


def findings(notebook: NotebookNode) -> list[str]:
    """Run every check and return what was found, nothing if all is well."""
    return [line for check in CHECKS for line in check(notebook)]


# --- Links to laboratory pages ---

SECTION = re.compile(r"^\(([\w-]+)\)=\n## (\d+\.\d+) ", re.MULTILINE)
LAB_LINK = re.compile(r"\{ref\}`Lab (\d+\.\d+) <([\w-]+)>`")
LAB_MENTION = re.compile(r"\bLab \d+\.\d+")


def check_lab_links(notebooks: Mapping[str, NotebookNode]) -> Iterator[str]:
    """`Lab 4.2` is a link, and leads to section 4.2.

    Args:
        notebooks: All notebooks of the book, by name.
    """
    texts = {
        name: "\n\n".join(c.source for c in book.cells if c.cell_type == "markdown")
        for name, book in notebooks.items()
    }
    labs = [text for name, text in texts.items() if name.startswith("lab")]
    numbers = dict(SECTION.findall("\n\n".join(labs)))
    for name, text in texts.items():
        for number, label in LAB_LINK.findall(text):
            if numbers.get(label) != number:
                yield f"{name}: Lab {number} leads to {label}, which is not it"
        for mention in LAB_MENTION.findall(LAB_LINK.sub("", text)):
            yield f"{name}: {mention} is no link: {{ref}}`{mention} <label>`"


# --- The readers' notebooks ---

FENCED = re.compile(r"^(`{3,}|~{3,})(?![^\n]*\{).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![`}])(`{1,2})(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
MARKUP = re.compile(
    r"""^\s*(?:>\s*)*(?:`{3,}|:{3,}|~{3,})\{[\w:-]+\}.*  # a directive
    |^:{3,}\s*$  # its end
    |\{[\w:+-]+\}`[^`]*`  # a role
    |^\([\w:-]+\)=  # a target
    |\$\$[ \t]*\([\w:-]+\)  # the label of an equation
    |\x02.*  # the mark of a solution""",
    re.MULTILINE | re.VERBOSE,
)
LINK = re.compile(r"\]\(([^)\s]+)")
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
SOLVED = re.compile(r"^\w+: (?:right|all \d+ stages passed)\.$", re.MULTILINE)


def reader_findings(
    notebook: NotebookNode, source: NotebookNode, names: Collection[str]
) -> list[str]:
    """Check a notebook that readers open.

    Args:
        notebook: The reader's notebook.
        source: The book's, that it was made from.
        names: The files of all readers' notebooks.
    """
    return [
        *check_texts(notebook, names),
        *check_folds(notebook, source),
        *check_code(notebook, source),
    ]


def check_texts(notebook: NotebookNode, names: Collection[str]) -> Iterator[str]:
    """No markup of the book is left, and links lead to what a reader has."""
    texts = [
        (place(number, cell), CODE.sub("", FENCED.sub("", cell.source)))
        for number, cell in enumerate(notebook.cells, 1)
        if cell.cell_type == "markdown"
    ]
    everything = "\n".join(cell.source for cell in notebook.cells)
    headings = re.findall(r"^#{1,6} +(.+)$", everything, re.MULTILINE)
    there = {h.replace("`", "").replace(" ", "-") for h in headings}  # by JupyterLab
    there |= {*re.findall(r'<a id="([^"]+)"', everything)}
    for where, text in texts:
        for found in MARKUP.finditer(text):
            yield f"{where}: markup of the book is left: {found[0].strip()[:60]!r}"
        for target in LINK.findall(text):
            path, _, anchor = target.partition("#")
            outside = target.startswith(("https://", "http://", "mailto:"))
            if not (outside or path in names or (not path and anchor in there)):
                yield f"{where}: the link to {target!r} leads nowhere"


def check_folds(notebook: NotebookNode, source: NotebookNode) -> Iterator[str]:
    """Solutions stand in folds, and nothing of them outside."""
    outside = "\n".join(
        cell.source if cell.cell_type == "code" else FOLD.sub("", cell.source)
        for cell in notebook.cells
    )
    if "details>" in outside:
        yield "a fold is not closed, or not opened"
    for number, cell in enumerate(notebook.cells, 1):
        if SOLVED.search("\n".join(map(text_of, cell.get("outputs", [])))):
            yield f"{place(number, cell)}: its output is that of a solution"
    inside = "\n".join(cell.source for cell in notebook.cells)
    for where, cell in solution_cells(source):
        if cell.source in outside:
            yield f"{where}: the solution stands outside a fold"
        elif cell.source not in inside:
            yield f"{where}: the solution is missing"


def check_code(notebook: NotebookNode, source: NotebookNode) -> Iterator[str]:
    """The code is that of the book, and runs without that of the solutions."""
    solved = [cell.source for _, cell in solution_cells(source)]
    cells = [cell.source for cell in source.cells if cell.cell_type == "code"]
    kept = [code for code in cells if code not in solved]
    if kept != [c.source for c in notebook.cells if c.cell_type == "code"]:
        yield "its code is not that of the book"
    known, lost = set(), set()
    for code in cells:
        if code in solved:
            lost |= made(code) - known
            continue
        for name in sorted((used(code) & lost) - known - made(code)):
            yield f"the cell {code[:50]!r} needs {name}, which only a solution defines"
        known |= made(code)
