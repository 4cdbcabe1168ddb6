"""Make the notebooks that readers open, from the book's and from what its build found.

    python scripts/reader_notebooks.py      after `make book`, which runs it

The book's notebooks are written for Sphinx. Those in `_build/notebooks` say the same in
plain Markdown, which JupyterLab, Colab, Binder and VS Code show as it is meant: with
captions under the figures, the numbers of the page, links, and solutions in folds. The
page's download button leads to them. What the page made of its references is in
`_build/references.json`, by `book/_ext/references.py`. Markup that has no plain form is
an error: nothing may reach a reader raw.
"""

from __future__ import annotations

import base64
import copy
import json
import posixpath
import re
import shutil
import sys
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass
from functools import partial
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import nbformat
from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin
from nbformat import NotebookNode

from run_notebooks import METADATA, place, store, tags

ROOT = Path(__file__).resolve().parents[1]
sys.path.append(str(ROOT / "book" / "_ext"))

from predict_box import predict_text  # noqa: E402

# --- Text ---

PARSER = MarkdownIt("commonmark").use(colon_fence_plugin)

START, END = "\x02solution ", "\x02end"
"""Lines between which a solution stands, whose cells are then put into one fold."""

# In this order: what stands further up is not looked for inside what stands below it.
PIECES = re.compile(
    r"""(?P<escape>\\[^\w\s])
    |\$\$(?P<display>.+?)\$\$(?:[ \t]*\((?P<label>[\w:-]+)\))?
    |\{(?P<role>[\w:+-]+)\}(?P<ticks>`+)(?P<content>.+?)(?P=ticks)(?!`)
    |(?P<code>(?P<fence>`+)(?!`).+?(?<!`)(?P=fence)(?!`))
    |(?P<math>\$[^$\n]+\$)
    |\]\((?P<link>[^)\s]+)(?P<rest>[^)]*)\)
    |(?P<gone>^(?:\([\w:-]+\)=|%[^\n]*|\+\+\+[^\n]*)(?:\n|\Z))
    |^(?P<level>\#{1,6})[ ]+(?P<heading>[^\n]+)$""",
    re.DOTALL | re.MULTILINE | re.VERBOSE,
)
STRAIGHT = str.maketrans("‘’“”", "''\"\"")
INTERNAL = re.compile(r"\[((?:[^][\\]|\\.)*)\]\(page:([^)#\s]+)(?:#([^)\s]+))?\)")


class Directive(NamedTuple):
    """A block of the book's markup, by its parts."""

    name: str  # such as "admonition"
    argument: str  # what follows the name on its line
    options: dict[str, str]  # the lines ``:key: value``
    body: str


@dataclass(frozen=True)
class Page:
    """One page of the book, and how to write its text without the book's markup."""

    name: str  # such as "book/ch02_bahdanau"
    references: dict[str, dict[str, Any]]  # what the build found on all pages
    notebooks: Collection[str] = ()  # names of the pages that lie beside it as such
    site: str = ""  # address of the published book, with a slash at its end

    def known(self, kind: str, key: str) -> str:
        """Return what the build made of a role or a label.

        Raises:
            ValueError: If it knows none.
        """
        found = self.references[self.name][kind]
        if key not in found:
            raise ValueError(
                f"{key!r} is not among the {kind} of the page: build the book anew, "
                "and look whether it stands there"
            )
        return found[key]

    def number(self, label: str) -> str:
        """Return the number of a figure, a table, an equation or an exercise."""
        return self.known("numbers", label)

    def plain(self, text: str) -> str:
        """Return text without the book's markup.

        Raises:
            ValueError: If it holds a directive, a role or a label that is not known.
        """
        done = ""
        for piece in pieces(text):
            if isinstance(piece, Directive):
                if piece.name not in FORMS:
                    raise ValueError(
                        f"the directive {{{piece.name}}} has no plain form: write one "
                        "in scripts/reader_notebooks.py, or use another directive"
                    )
                done = f"{done.rstrip()}\n\n{FORMS[piece.name](self, piece)}\n\n"
            elif piece.lstrip().startswith(("```", "~~~")):
                done += piece
            else:
                piece = re.sub(r"\n{3,}", "\n\n", PIECES.sub(self.piece, piece))
                done += piece.lstrip("\n") if done.endswith("\n\n") else piece
        return done.strip("\n")

    def piece(self, found: re.Match) -> str:
        """Return one piece of a text: a role, a formula, a link, a heading."""
        if found["role"]:
            role = re.sub(r"\s*\n\s*", " ", f":{found['role']}:`{found['content']}`")
            return self.resolved(self.known("roles", role))
        if label := found["label"]:
            formula = f"{found['display'].rstrip()} \\tag{{{self.number(label)}}}"
            return f"{anchor(label)}\n\n$${formula}\n$$"
        if found["link"]:
            return self.link(found["link"], found["rest"])
        if found["heading"]:
            return self.heading(found["level"], found["heading"])
        return "" if found["gone"] else found[0]

    def resolved(self, markdown: str) -> str:
        """Let the links of a text that Sphinx resolved lead somewhere."""

        def to(found: re.Match) -> str:
            address = self.address(found[2], found[3] or "")
            return f"[{found[1]}]({address})" if address else found[1]

        return INTERNAL.sub(to, markdown)

    def address(self, page: str, anchor: str) -> str:
        """Return the address of a place, "" if a notebook cannot reach it."""
        if page == self.name:
            return self.fragment(page, anchor)
        if self.site:
            return f"{self.site}{page}.html" + (f"#{anchor}" if anchor else "")
        if page not in self.notebooks:
            return ""
        return f"{posixpath.basename(page)}.ipynb{self.fragment(page, anchor)}"

    def fragment(self, page: str, anchor: str) -> str:
        """Return the end of an address within a notebook.

        JupyterLab makes the id of a heading from its text, whose quotes are straight
        in a notebook and curved on the page.
        """
        if not anchor:
            return ""
        for section in self.references[page]["sections"]:
            if anchor in section["ids"]:
                title = f"{section['number']}. {section['title']}".removeprefix(". ")
                return "#" + title.replace(" ", "-").translate(STRAIGHT)
        return f"#{anchor.removeprefix('equation-')}"

    def link(self, target: str, rest: str) -> str:
        """Return the end of a link, from its closing bracket on."""
        path, _, anchor = target.partition("#")
        stem, ending = posixpath.splitext(path)
        page = posixpath.join(posixpath.dirname(self.name), stem)
        if "://" in target or target.startswith("mailto:"):
            return f"]({target}{rest})"
        if path and not (ending in (".ipynb", ".md") and page in self.references):
            raise ValueError(f"the link to {target!r} leads to no page of the book")
        address = self.address(page if path else self.name, anchor)
        return f"]({address or target}{rest})"

    def heading(self, level: str, text: str) -> str:
        """Return a heading with its number."""
        text = PIECES.sub(self.piece, text)
        for section in self.references[self.name]["sections"]:
            if letters(section["title"]) == letters(text):
                return f"{level} {section['number']}. {text}".replace(" . ", " ")
        raise ValueError(f"the page has no heading {text!r}: build the book anew")


def anchor(label: str) -> str:
    """Return a place that links lead to."""
    return f'<a id="{label}"></a>'


def letters(text: str) -> str:
    """Return what two forms of one heading have in common."""
    return re.sub(r"\]\([^)]*\)|\W|_", "", text).lower()


def pieces(text: str) -> Iterator[str | Directive]:
    """Take a text apart: directives, blocks of code (with their fences), the rest."""
    lines = text.splitlines(keepends=True)
    done = 0
    for token in PARSER.parse(text):
        if token.type not in ("fence", "colon_fence"):
            continue
        start, end = token.map
        yield "".join(lines[done:start])
        if token.info.lstrip().startswith("{"):
            if token.level:
                raise ValueError(
                    f"{lines[start].strip()!r} stands inside a list or a quotation: "
                    "move it out of there"
                )
            yield directive(token.info, token.content)
        else:
            yield "".join(lines[start:end])
        done = end
    yield "".join(lines[done:])


def directive(info: str, content: str) -> Directive:
    """Read a directive from its first line and its content."""
    name, argument = re.fullmatch(r"\s*\{([\w:-]+)\}[ \t]*(.*)", info).groups()
    head = re.match(r"(?::[\w-]+:.*\n?)*", content)[0]
    options = dict(re.findall(r"^:([\w-]+):[ \t]*(.*)$", head, re.MULTILINE))
    body = content[len(head) :].strip("\n")
    return Directive(name, argument.strip(), options, body)


# --- The forms of the directives ---


def quoted(title: str, text: str) -> str:
    """Return a box: a title and a text, as a quotation."""
    # JupyterLab takes formulas out before it reads the Markdown: signs of a quotation
    # inside one would be part of it.
    text = re.sub(
        r"\$\$.+?\$\$", lambda math: " ".join(math[0].split()), text, flags=re.DOTALL
    )
    lines = [f"**{title}**", "", *text.splitlines()]
    return "\n".join(f"> {line}".rstrip() for line in lines)


def folded(title: str, text: str) -> str:
    """Return a fold: closed, it shows its title only."""
    return f"<details>\n<summary>{title}</summary>\n\n{text}\n\n</details>"


def admonition(page: Page, box: Directive) -> str:
    """Return a box, or a fold if it is one in the page."""
    title, text = page.plain(box.argument), page.plain(box.body)
    if "dropdown" in box.options.get("class", ""):
        return folded(f"<b>{title}</b>", text)
    return quoted(title, text)


def in_the_page(title: str, words: str, at: str, page: Page, box: Directive) -> str:
    """Return what stands where the page has something that runs in the browser."""
    text = page.plain(box.body)
    if page.site:
        address = f"{page.site}{page.name}.html{at.format(box.argument)}"
        text = f"[{words} in the browser.]({address})\n\n{text}"
    return quoted(title, text)


def bibliography(page: Page, box: Directive) -> str:
    """Return the list of references."""
    entries = page.references[page.name]["bibliography"]
    return "\n".join(f"- {page.resolved(entry)}" for entry in entries)


def predict(page: Page, box: Directive) -> str:
    """Return a question with a fold."""
    label, lines = box.options.get("label", ""), box.body.splitlines()
    return page.plain(predict_text(box.argument, label, lines))


def glossary(page: Page, box: Directive) -> str:
    """Return the glossary, a paragraph for each term."""
    entries = re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n)+)", box.body + "\n", re.M)
    return "\n\n".join(
        f"{anchor(page.known('terms', term))}**{term}**: {page.plain(text).strip()}"
        for term, text in entries
    )


FORMS: dict[str, Callable[[Page, Directive], str]] = {
    "admonition": admonition,
    "bibliography": bibliography,
    "container": lambda page, box: page.plain(box.body),
    "exercise-end": lambda page, box: "",
    "exercise-list": lambda page, box: "The list is on the page of the book.",
    "exercise-start": lambda page, box: (
        f"### Exercise {page.number(box.options['label'])}"
    ),
    "glossary": glossary,
    "live-model": partial(in_the_page, "A model to try", "Try it", ""),
    "live-gaps": partial(in_the_page, "A model to try", "Try it", ""),
    "live-translator": partial(in_the_page, "A model to try", "Try it", ""),
    "margin": admonition,
    "only": lambda page, box: page.plain(box.body) if page.site else "",
    "predict": predict,
    "solution-end": lambda page, box: END,
    "solution-start": lambda page, box: f"{START}{page.number(box.argument)}",
    "train-here": partial(in_the_page, "Two models to train", "Train it", "#train-{}"),
}

# --- Cells ---

HIDES_INPUT = {"hide-input", "hide-cell", "remove-input", "remove-cell"}
HIDES_OUTPUT = {"hide-output", "remove-output", "reveal"}  # of a predict box
PROSE = re.compile(r"[^\W_]|[*_`$({\[]")  # no heading, no directive, no list
CHECKED = re.compile(r"\w+: right\.\n")
PAGE_LINK = re.compile(r'href="([\w./-]+)\.html(?:#([\w-]+))?"')


def reader_notebook(notebook: NotebookNode, page: Page, name: str) -> NotebookNode:
    """Return a notebook in plain Markdown.

    Raises:
        ValueError: If a cell holds what has no plain form; it names the cell.
    """
    cells, where = [], ""
    try:
        for number, cell in enumerate(covered(notebook.cells), 1):
            where = f", {place(number, cell)}"
            cells += plain_cells(cell, page)
        where = ""
        cells = [*gathered(cells)]
    except ValueError as error:
        raise ValueError(f"{name}{where}: {error}") from error
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
                cell.source = f"{folded('What the result says', first)}{gap}{rest}"
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
        title = f"{kind} {page.number(name)}"
        caption = f"**{title}.** {figure['caption']}"
        if "reveal" in tags(cell):
            caption = folded(title, caption)
        yield markdown(page.plain(f"{anchor(name)}{caption}"), f"{cell.id}-caption")


def markdown(text: str, name: str) -> NotebookNode:
    """Return a cell of text."""
    return nbformat.v4.new_markdown_cell(text, id=name)


def code_cell(cell: NotebookNode, page: Page, alt: str) -> NotebookNode:
    """Return a code cell whose pictures show in a notebook that is not trusted.

    JupyterLab shows no SVG there, but all pictures: no script runs in them.
    """
    cell = copy.deepcopy(cell)
    cell.metadata.pop("mystnb", None)
    hidden = {}
    if HIDES_INPUT & {*tags(cell)} and "explorer" not in tags(cell):
        hidden["source_hidden"] = True  # an explorer is there to be run
    if HIDES_OUTPUT & {*tags(cell)}:
        hidden["outputs_hidden"] = True
    if hidden:
        cell.metadata["jupyter"] = cell.metadata.get("jupyter", {}) | hidden
    for output in cell.outputs:
        data = output.get("data", {})
        if svg := data.pop("image/svg+xml", None):
            image = (
                f"data:image/svg+xml;base64,{base64.b64encode(svg.encode()).decode()}"
            )
            data["text/html"] = f'<img src="{image}" alt="{escape(alt)}">'
        if "text/html" in data:
            data["text/html"] = PAGE_LINK.sub(
                lambda link: html_link(link, page), data["text/html"]
            )
    # JupyterLab shows the first line of what it folds: a number that the reader should
    # predict first, or the markup of a table.
    for output in cell.outputs[:1] if "outputs_hidden" in hidden else ():
        shown = output if output.output_type == "stream" else output.get("data", {})
        for kind in shown.keys() & {"text", "text/html"}:
            shown[kind] = f"Result:\n{shown[kind]}"
    return cell


def html_link(link: re.Match, page: Page) -> str:
    """Let a link to a page of the book lead to where a notebook reaches it."""
    folder = page.name.rpartition("/")[0]
    address = page.address(f"{folder}/{link[1]}", link[2] or "")
    return f'href="{escape(address)}"' if address else link[0]


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
        parts = re.split(f"^({START}.*|{END})$", cell.source, flags=re.M)
        for count, part in enumerate(parts):
            if part.startswith(START):
                number, inside = part.removeprefix(START), []
            elif part == END:
                text = "\n\n".join(filter(None, inside))
                fold = folded(f"<b>Solution to exercise {number}</b>", text)
                yield markdown(fold, f"{cell.id}-solution")
                number = ""
            elif number:
                inside.append(part.strip("\n"))
            elif part.strip():
                name = f"{cell.id}-{count}" if count else cell.id
                yield markdown(part.strip("\n"), name)
    if number:
        raise ValueError(f"the solution to exercise {number} has no end")


def as_text(cell: NotebookNode) -> str:
    """Return a code cell as a block of code, and what it printed.

    Raises:
        ValueError: If it shows a picture, which a fold cannot hold.
    """
    if any(output.output_type != "stream" for output in cell.outputs):
        raise ValueError(
            "a solution shows more than printed text, which its fold cannot hold: "
            f"print it, or move it out of the solution: {cell.source[:60]!r}"
        )
    printed = "".join(output.text for output in cell.outputs)
    code = f"```python\n{cell.source}\n```"
    if CHECKED.fullmatch(printed) or not printed:
        return code
    return f"{code}\n\n```text\n{printed.rstrip()}\n```"


# --- Files ---


def made(root: Path, *, site: bool) -> Iterator[tuple[str, NotebookNode]]:
    """Yield the file name and the notebook of each page that is read as one.

    Those are all but the pages of the package's documentation. Links between pages lead
    to the published book if `site` is true and there is one, otherwise to the notebook
    next to this one.

    Raises:
        ValueError: If a page holds what has no plain form.
    """
    path = root / "_build" / "references.json"
    if not path.exists():
        raise ValueError(f"there is no {path.name} in {path.parent}: run `make book`")
    found = json.loads(path.read_text(encoding="utf-8"))
    sources = {
        name: path
        for name in found["pages"]
        if not name.startswith("book/api/")
        for ending in (".ipynb", ".md")
        if (path := root / f"{name}{ending}").exists()
    }
    for name, source in sources.items():
        page = Page(name, found["pages"], sources, found["site"] if site else "")
        yield f"{source.stem}.ipynb", reader_notebook(read(source), page, source.name)


def read(path: Path) -> NotebookNode:
    """Read a notebook; a page of text becomes a notebook with one cell."""
    if path.suffix == ".ipynb":
        return nbformat.read(path, as_version=4)
    cell = nbformat.v4.new_markdown_cell(path.read_text("utf-8"), id="text")
    return nbformat.v4.new_notebook(cells=[cell], metadata=METADATA)


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
