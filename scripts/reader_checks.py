"""What must hold for the notebooks that readers open.

Every check takes a reader's notebook, the book's notebook that it was made from, and
the names of all readers' notebooks. It yields one line for each place where it does not
hold. `findings` runs them all.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Collection, Iterator

from nbformat import NotebookNode

from hidden_checks import made, used
from notebook_checks import place

FENCED = re.compile(r"^(`{3,}|~{3,})(?![^\n]*\{).*?^\1", re.MULTILINE | re.DOTALL)
CODE = re.compile(r"(?<![`}])(`{1,2})(?!`).+?(?<!`)\1(?!`)", re.DOTALL)
MARKUP = {
    "a directive is": re.compile(
        r"^\s*(?:>\s*)*(?:`{3,}|:{3,}|~{3,})\{[\w:-]+\}.*", re.M
    ),
    "a role is": re.compile(r"\{[\w:+-]+\}`[^`]*`"),
    "a target is": re.compile(r"^\([\w:-]+\)=", re.M),
    "the label of an equation is": re.compile(r"\$\$[ \t]*\([\w:-]+\)"),
    "the end of a directive is": re.compile(r"^:{3,}\s*$", re.M),
    "the mark of a solution is": re.compile("\x02.*"),
}
LINK = re.compile(r"\]\(([^)\s]+)")
FOLD = re.compile(r"<details>.*?</details>", re.DOTALL)
CAPTION = re.compile(
    r'<a id="[\w-]+"></a>(?:<details>\n<summary>[^<]+</summary>\n\n)?'
    r"\*\*(?:Fig\.|Table) [LA]?[\d.]+\.\*\* \S"
)
"""A caption, which lies in a fold where its result waits for a prediction."""
SOLVED = re.compile(r"^\w+: (?:right|all \d+ stages passed)\.$", re.MULTILINE)


def texts(notebook: NotebookNode) -> Iterator[tuple[str, str]]:
    """Yield the place and the text of all Markdown cells, without its code."""
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "markdown":
            text = FENCED.sub("", cell.source)
            yield place(number, cell), CODE.sub("", text)


def check_markup(
    notebook: NotebookNode, source: NotebookNode, names: Collection[str]
) -> Iterator[str]:
    """Nothing of the book's own markup is left."""
    for where, text in texts(notebook):
        for what, form in MARKUP.items():
            for found in form.finditer(text):
                yield f"{where}: {what} left: {found[0].strip()[:60]!r}"


def check_links(
    notebook: NotebookNode, source: NotebookNode, names: Collection[str]
) -> Iterator[str]:
    """Links lead to other sites, to a reader's notebook, or to a place of this one."""
    there = places(notebook)
    for where, text in texts(notebook):
        for target in LINK.findall(text):
            path, _, anchor = target.partition("#")
            if target.startswith(("https://", "http://", "mailto:")):
                continue
            if path and path not in names:
                yield f"{where}: the link to {target!r} leads nowhere"
            elif not path and anchor not in there:
                yield f"{where}: nothing in the notebook is named {anchor!r}"


def places(notebook: NotebookNode) -> set[str]:
    """Return the names of all places that links lead to, as JupyterLab makes them."""
    found = set()
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            headings = re.findall(r"^#{1,6} +(.+)$", cell.source, re.MULTILINE)
            found |= {h.replace("`", "").replace(" ", "-") for h in headings}
            found |= {*re.findall(r'<a id="([^"]+)"', cell.source)}
    return found


def check_solutions(
    notebook: NotebookNode, source: NotebookNode, names: Collection[str]
) -> Iterator[str]:
    """Solutions stand in folds, and nothing of them outside."""
    outside = []
    for number, cell in enumerate(notebook.cells, 1):
        if cell.cell_type == "markdown":
            text = FOLD.sub("", cell.source)
            outside.append(text)
            if "details>" in text:
                yield f"{place(number, cell)}: a fold is not closed, or not opened"
        else:
            outside.append(cell.source)
            printed = "".join(output.get("text", "") for output in cell.outputs)
            if SOLVED.search(printed):
                yield f"{place(number, cell)}: its output is that of a solution"
    everything = "\n".join(outside)
    inside = "\n".join(cell.source for cell in notebook.cells)
    for solution in solutions(source):
        if solution in everything:
            yield f"the solution {solution[:50]!r} stands outside a fold"
        elif solution not in inside:
            yield f"the solution {solution[:50]!r} is missing"


def solutions(source: NotebookNode) -> Iterator[str]:
    """Yield the code of all solutions of the book's notebook."""
    is_solution = False
    for cell in source.cells:
        if cell.cell_type == "code":
            if is_solution:
                yield cell.source
            continue
        marks = re.findall(r"\{solution-(start|end)\}", cell.source)
        is_solution = marks[-1] == "start" if marks else is_solution


def check_code(
    notebook: NotebookNode, source: NotebookNode, names: Collection[str]
) -> Iterator[str]:
    """The code is that of the book, and runs without that of the solutions."""
    solved = [*solutions(source)]
    cells = [cell.source for cell in source.cells if cell.cell_type == "code"]
    kept = [code for code in cells if code not in solved]
    if kept != [c.source for c in notebook.cells if c.cell_type == "code"]:
        yield "its code is not that of the book"
    known, lost = set(), set()
    for code in cells:
        body = ast.parse(code).body
        if code in solved:
            lost |= made(body) - known
            continue
        for name in sorted((used(body) & lost) - known - made(body)):
            yield f"the cell {code[:50]!r} needs {name}, which only a solution defines"
        known |= made(body)


def check_pictures(
    notebook: NotebookNode, source: NotebookNode, names: Collection[str]
) -> Iterator[str]:
    """A picture shows in a notebook that is not trusted, and has a caption below it."""
    captioned = {
        cell.id
        for cell in source.cells
        if cell.metadata.get("mystnb", {}).get("figure")
    }
    following = [*notebook.cells[1:], None]
    for number, (cell, below) in enumerate(
        zip(notebook.cells, following, strict=True), 1
    ):
        for output in cell.get("outputs", []):
            if "image/svg+xml" in output.get("data", {}):
                yield f"{place(number, cell)}: untrusted notebooks show no SVG"
        if cell.id in captioned and not (below and CAPTION.match(below.source)):
            yield f"{place(number, cell)}: its caption is not below it"


CHECKS = (check_markup, check_links, check_solutions, check_code, check_pictures)


def findings(
    notebook: NotebookNode, source: NotebookNode, names: Collection[str]
) -> list[str]:
    """Run every check and return what was found, nothing if all is well."""
    return [line for check in CHECKS for line in check(notebook, source, names)]
