"""The book's own Markdown as plain Markdown, which every notebook shows as it is meant.

A `Page` knows what the page of the book made of its references, which
`book/_ext/references.py` wrote down. `Page.plain` uses that and this module's forms of
the directives. What it does not know is an error: nothing may reach a reader raw.
"""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Collection, Iterator
from dataclasses import dataclass, field
from typing import Any

from markdown_it import MarkdownIt
from mdit_py_plugins.colon_fence import colon_fence_plugin

from predict_box import predict_text

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


@dataclass(frozen=True)
class Directive:
    """A block of the book's markup, by its parts."""

    name: str  # such as "admonition"
    argument: str  # what follows the name on its line
    options: dict[str, str]  # the lines ``:key: value``
    body: str


@dataclass
class Page:
    """One page of the book, and how to write its text without the book's markup."""

    name: str  # such as "book/ch02_bahdanau"
    references: dict[str, dict[str, Any]]  # of all pages, by `book/_ext/references.py`
    notebooks: Collection[str] = ()  # names of the pages that lie beside it as such
    site: str = ""  # address of the published book, with a slash at its end
    headings: Iterator[dict[str, Any]] = field(init=False)

    def __post_init__(self):
        self.headings = iter(self.known["sections"])

    @property
    def known(self) -> dict[str, Any]:
        """What the book's page made of its references."""
        return self.references[self.name]

    def plain(self, text: str) -> str:
        """Return text without the book's markup.

        Raises:
            ValueError: If it holds a directive, a role or a label that is not known.
        """
        done = ""
        for piece in pieces(text):
            if isinstance(piece, Directive):
                done = f"{done.rstrip()}\n\n{self.directive(piece)}\n\n"
            elif piece.lstrip().startswith(("```", "~~~")):
                done += piece
            else:
                piece = re.sub(r"\n{3,}", "\n\n", PIECES.sub(self.piece, piece))
                done += piece.lstrip("\n") if done.endswith("\n\n") else piece
        return done.strip("\n")

    def directive(self, found: Directive) -> str:
        """Return a directive as plain Markdown, a paragraph of its own."""
        if found.name not in FORMS:
            raise ValueError(
                f"the directive {{{found.name}}} has no plain form: write one in "
                "scripts/plain_markdown.py, or use another directive"
            )
        return FORMS[found.name](self, found)

    def piece(self, found: re.Match) -> str:
        """Return one piece of a text: a role, a formula, a link, a heading."""
        if found["role"]:
            return self.role(f":{found['role']}:`{found['content']}`")
        if found["label"]:
            return self.equation(found["display"], found["label"])
        if found["link"]:
            return self.link(found["link"], found["rest"])
        if found["heading"]:
            return self.heading(found["level"], found["heading"])
        return "" if found["gone"] else found[0]

    def role(self, source: str) -> str:
        """Return what a role has become in the page."""
        source = re.sub(r"\s*\n\s*", " ", source)
        try:
            return self.resolved(self.known["roles"][source])
        except KeyError:
            raise ValueError(
                f"the role {source} is not known to the page: build the book anew, "
                "and if it stays unknown, write the text without it"
            ) from None

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
                return "#" + titled(section).replace(" ", "-").translate(STRAIGHT)
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

    def equation(self, formula: str, label: str) -> str:
        """Return a numbered formula, with a place that links lead to."""
        number = self.number(label)
        return f"{anchor(label)}\n\n$${formula.rstrip()} \\tag{{{number}}}\n$$"

    def number(self, label: str) -> str:
        """Return the number of a figure, a table, an equation or an exercise."""
        try:
            return self.known["numbers"][label]
        except KeyError:
            raise ValueError(
                f"{label!r} has no number in the page: build the book anew, and look "
                "whether the label stands there"
            ) from None

    def heading(self, level: str, text: str) -> str:
        """Return a heading with its number."""
        section = next(self.headings, {"number": "", "title": ""})
        text = PIECES.sub(self.piece, text)
        if letters(text) != letters(section["title"]):
            raise ValueError(
                f"the heading {text!r} is not the page's next one, "
                f"{section['title']!r}: build the book anew"
            )
        return f"{level} {section['number']}. {text}".replace(" . ", " ")


def anchor(label: str) -> str:
    """Return a place that links lead to."""
    return f'<a id="{label}"></a>'


def titled(section: dict[str, str]) -> str:
    """Return a heading as it is shown."""
    return f"{section['number']}. {section['title']}".removeprefix(". ")


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
        source = "".join(lines[start:end])
        if token.info.lstrip().startswith("{"):
            if token.level:
                raise ValueError(
                    f"{lines[start].strip()!r} stands inside a list or a quotation: "
                    "move it out of there"
                )
            yield directive(token.info, token.content)
        else:
            yield source
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


def exercise(page: Page, box: Directive) -> str:
    """Return the heading of an exercise."""
    return f"### Exercise {page.number(box.options['label'])}"


def solution(page: Page, box: Directive) -> str:
    """Return the line from which on a solution is gathered."""
    return f"{START}{page.number(box.argument)}"


def live_model(page: Page, box: Directive) -> str:
    """Return what stands where the page has a model that runs in the browser."""
    text = page.plain(box.body)
    if page.site:
        text = f"[Try it in the browser.]({page.site}{page.name}.html)\n\n{text}"
    return quoted("A model to try", text)


def train_here(page: Page, box: Directive) -> str:
    """Return what stands where the page trains two models."""
    text = page.plain(box.body)
    if page.site:
        address = f"{page.site}{page.name}.html#train-{box.argument}"
        text = f"[Train it in the browser.]({address})\n\n{text}"
    return quoted("Two models to train", text)


def bibliography(page: Page, box: Directive) -> str:
    """Return the list of references."""
    return "\n".join(
        f"- {page.resolved(entry)}" for entry in page.known["bibliography"]
    )


def predict(page: Page, box: Directive) -> str:
    """Return a question with a fold."""
    label, lines = box.options.get("label", ""), box.body.splitlines()
    return page.plain(predict_text(box.argument, label, lines))


def glossary(page: Page, box: Directive) -> str:
    """Return the glossary, a paragraph for each term."""
    ids = page.known["terms"]
    entries = re.findall(r"^(\S.*)\n((?:[ \t]+.*\n?|\n)+)", box.body + "\n", re.M)
    return "\n\n".join(
        f"{anchor(ids[term])}**{term}**: {page.plain(text).strip()}"
        for term, text in entries
    )


FORMS: dict[str, Callable[[Page, Directive], str]] = {
    "admonition": admonition,
    "bibliography": bibliography,
    "container": lambda page, box: page.plain(box.body),
    "exercise-end": lambda page, box: "",
    "exercise-start": exercise,
    "glossary": glossary,
    "live-model": live_model,
    "live-translator": live_model,
    "margin": admonition,
    "only": lambda page, box: page.plain(box.body) if page.site else "",
    "predict": predict,
    "solution-end": lambda page, box: END,
    "solution-start": solution,
    "train-here": train_here,
}
