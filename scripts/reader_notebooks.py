"""Make the notebooks that readers open, from the book's and from what its build found.

    python scripts/reader_notebooks.py      after `make book`, which runs it

The book's notebooks are written for Sphinx. Those in `_build/notebooks` say the same in
plain Markdown, which JupyterLab, Colab, Binder and VS Code show as it is meant: with
captions under the figures, the numbers of the page, links, and solutions in folds. The
page's download button leads to them.
"""

from __future__ import annotations

import base64
import copy
import json
import re
import shutil
import sys
from collections.abc import Iterator
from html import escape
from pathlib import Path

import nbformat
from nbformat import NotebookNode

from notebook_checks import place, tags
from run_notebooks import METADATA, store

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "_ext"))  # the form of predict boxes

from plain_markdown import END, START, Page, anchor, folded  # noqa: E402

HIDES_INPUT = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
HIDES_OUTPUT = {"hide-output", "remove-output", "reveal"}  # of a predict box
COVER = "Result:"
AFTERWARDS = "What the result says"
PROSE = re.compile(r"[^\W_]|[*_`$({\[]")  # no heading, no directive, no list
CHECKED = re.compile(r"\w+: right\.\n")
PAGE_LINK = re.compile(r'href="([\w./-]+)\.html(?:#([\w-]+))?"')


def made(root: Path, *, site: bool) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the file name and the notebook of each page that is read as one.

    Links between pages lead to the published book if `site` is true and there is one,
    otherwise to the notebook next to this one.

    Raises:
        ValueError: If a page holds what has no plain form.
    """
    path = root / "_build" / "references.json"
    if not path.exists():
        raise ValueError(f"there is no {path.name} in {path.parent}: run `make book`")
    found = json.loads(path.read_text(encoding="utf-8"))
    sources = {name: source for name in found["pages"] if (source := file(root, name))}
    for name, source in sources.items():
        address = found["site"] if site else ""
        page = Page(name, found["pages"], sources, address)
        yield f"{source.stem}.ipynb", reader_notebook(read(source), page, source.name)


def file(root: Path, page: str) -> Path | None:
    """Return the source of a page that readers open as a notebook.

    Those are all but the pages of the package's documentation, made by Sphinx.
    """
    for ending in (".ipynb", ".md"):
        path = root / f"{page}{ending}"
        if path.exists() and not page.startswith("book/api/"):
            return path
    return None


def read(path: Path) -> NotebookNode:
    """Read a notebook; a page of text becomes a notebook with one cell."""
    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    cell = nbformat.v4.new_markdown_cell(path.read_text("utf-8"), id="text")
    return nbformat.v4.new_notebook(cells=[cell], metadata=METADATA)


def reader_notebook(notebook: NotebookNode, page: Page, name: str) -> NotebookNode:
    """Return a notebook in plain Markdown.

    Raises:
        ValueError: If a cell holds what has no plain form; it names the cell.
    """
    cells = []
    for number, cell in enumerate(covered(notebook.cells), 1):
        try:
            cells += plain_cells(cell, page)
        except ValueError as error:
            raise ValueError(f"{name}, {place(number, cell)}: {error}") from error
    try:
        cells = [*gathered(cells)]
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from error
    result = nbformat.v4.new_notebook(cells=cells, metadata=notebook.metadata)
    nbformat.validate(result)
    return result


def covered(cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells, with what is said right behind a covered result in a fold.

    As on the page, that is the paragraph after the last of the cells that wait for a
    prediction.
    """
    waiting = False
    for cell in cells:
        if waiting and cell.cell_type == "markdown":
            first, gap, rest = cell.source.partition("\n\n")
            if PROSE.match(first):
                cell = copy.deepcopy(cell)
                cell.source = f"{folded(AFTERWARDS, first)}{gap}{rest}"
        if "remove-cell" not in tags(cell):
            waiting = "reveal" in tags(cell)
        yield cell


def plain_cells(cell: NotebookNode, page: Page) -> Iterator[NotebookNode]:
    """Yield what becomes of a cell: a figure's caption is a cell of its own."""
    if cell.cell_type == "markdown":
        yield markdown(page.plain(cell.source), cell.id)
        return
    options = cell.metadata.get("mystnb", {})
    yield code_cell(cell, page, options.get("image", {}).get("alt", ""))
    if figure := options.get("figure"):
        name = figure["name"]
        kind = "Table" if name.startswith("tab-") else "Fig."
        number = f"**{kind} {page.number(name)}.**"
        caption = f"{number} {figure['caption']}"
        if "reveal" in tags(cell):
            caption = folded(f"{kind} {page.number(name)}", caption)
        yield markdown(page.plain(f"{anchor(name)}{caption}"), f"{cell.id}-caption")


def markdown(text: str, name: str) -> NotebookNode:
    """Return a cell of text."""
    return nbformat.v4.new_markdown_cell(text, id=name)


def code_cell(cell: NotebookNode, page: Page, alt: str) -> NotebookNode:
    """Return a code cell whose pictures show in a notebook that is not trusted."""
    cell = copy.deepcopy(cell)
    cell.metadata.pop("mystnb", None)
    hidden = cell.metadata.setdefault("jupyter", {})
    if HIDES_INPUT & {*tags(cell)} and "explorer" not in tags(cell):
        hidden["source_hidden"] = True  # an explorer is there to be run
    if HIDES_OUTPUT & {*tags(cell)}:
        hidden["outputs_hidden"] = True
    if not hidden:
        del cell.metadata["jupyter"]
    for output in cell.outputs:
        data = output.get("data", {})
        if svg := data.pop("image/svg+xml", None):
            data["text/html"] = drawing(svg, alt)
        if "text/html" in data:
            data["text/html"] = PAGE_LINK.sub(
                lambda link: html_link(link, page), data["text/html"]
            )
    if hidden.get("outputs_hidden"):
        _cover(cell)
    return cell


def _cover(cell: NotebookNode) -> None:
    """Begin a folded output with a line that tells nothing of it.

    JupyterLab shows the first line of what it folds: a number that the reader should
    predict first, or the markup of a table.
    """
    for output in cell.outputs[:1]:
        shown = output if output.output_type == "stream" else output.get("data", {})
        for kind in shown.keys() & {"text", "text/html"}:
            shown[kind] = f"{COVER}\n{shown[kind]}"


def drawing(svg: str, alt: str) -> str:
    """Return a drawing as a picture.

    JupyterLab shows no SVG of a notebook that it does not trust, but all pictures: no
    script runs in them.
    """
    image = base64.b64encode(svg.encode()).decode()
    return f'<img src="data:image/svg+xml;base64,{image}" alt="{escape(alt)}">'


def html_link(link: re.Match, page: Page) -> str:
    """Let a link to a page of the book lead to where a notebook reaches it."""
    folder = page.name.rpartition("/")[0]
    address = page.address(f"{folder}/{link[1]}", link[2] or "")
    return f'href="{escape(address)}"' if address else link[0]


# --- Solutions ---


def gathered(cells: list[NotebookNode]) -> Iterator[NotebookNode]:
    """Yield the cells, with each solution's text and code in one fold.

    A folded cell of JupyterLab shows its first line, which is often the answer, and
    Colab does not fold it at all. Text in `<details>` is hidden in both.
    """
    number, inside = "", []
    for cell in cells:
        if cell.cell_type == "code":
            if number:
                inside.append(as_text(cell))
            else:
                yield cell
            continue
        for count, part in enumerate(
            re.split(f"^({START}.*|{END})$", cell.source, flags=re.M)
        ):
            if part.startswith(START):
                number, inside = part.removeprefix(START), []
            elif part == END:
                yield markdown(fold(number, inside), f"{cell.id}-solution")
                number = ""
            elif number:
                inside.append(part.strip("\n"))
            elif part.strip():
                yield markdown(
                    part.strip("\n"), cell.id if not count else f"{cell.id}-{count}"
                )
    if number:
        raise ValueError(f"the solution to exercise {number} has no end")


def fold(number: str, parts: list[str]) -> str:
    """Return a solution that is hidden until the reader opens it."""
    text = "\n\n".join(part for part in parts if part)
    return folded(f"<b>Solution to exercise {number}</b>", text)


def as_text(cell: NotebookNode) -> str:
    """Return a code cell as a block of code, and what it printed.

    Raises:
        ValueError: If it shows a picture, which a fold cannot hold.
    """
    printed = ""
    for output in cell.outputs:
        if output.output_type != "stream":
            raise ValueError(
                "a solution shows more than printed text, which its fold cannot hold: "
                f"print it, or move it out of the solution: {cell.source[:60]!r}"
            )
        printed += output.text
    code = f"```python\n{cell.source}\n```"
    if CHECKED.fullmatch(printed) or not printed:
        return code
    return f"{code}\n\n```text\n{printed.rstrip()}\n```"


def write(root: Path) -> None:
    """Write the notebooks of a built book, and put them where its buttons lead.

    Raises:
        ValueError: If a page holds what has no plain form.
    """
    build = root / "_build"
    shutil.rmtree(build / "notebooks", ignore_errors=True)
    (build / "notebooks").mkdir()
    for name, notebook in made(root, site=True):
        store(notebook, build / "notebooks" / name)
        offered = build / "html" / "_sources" / "book" / name
        if offered.exists():  # for the page's download button
            store(notebook, offered)


if __name__ == "__main__":
    try:
        write(ROOT)
    except ValueError as error:
        sys.exit(str(error))
