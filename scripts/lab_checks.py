"""What must hold for laboratory pages: one form for every section, and true links.

The form is in CONTRIBUTING.md. Every check yields one line for each place where it does
not hold.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

from nbformat import NotebookNode

NAME = re.compile(r"lab(\d\d)_")
SECTION = re.compile(r"^(?:\((?P<label>[\w-]+)\)=\n)?## (?P<heading>.+)$", re.MULTILINE)
NUMBERED = re.compile(r"(\d+)\.(\d+) (.+)")
PARTS = (
    "**Set-up.** ",
    "RESULT",
    "**Conclusion.** ",
    "**Limits.** ",
    "**To repeat.** ",
)
LONGEST_SETUP = 90  # words
LINK = re.compile(r"\{ref\}`Lab (\d+\.\d+) <([\w-]+)>`")
MENTION = re.compile(r"\bLab \d+\.\d+")


def text_with_results(notebook: NotebookNode) -> str:
    """Return the text of a page, with the word RESULT for each figure and table."""
    parts = []
    for cell in notebook.cells:
        if cell.cell_type == "markdown":
            parts.append(cell.source)
        elif cell.metadata.get("mystnb", {}).get("figure"):
            parts.append("RESULT")
    return "\n\n".join(parts)


def sections(notebook: NotebookNode) -> Iterator[tuple[str, str, str]]:
    """Yield the label, the heading and the text of every section."""
    text = text_with_results(notebook)
    found = [*SECTION.finditer(text)]
    ends = [*(match.start() for match in found), len(text)]
    for match, end in zip(found, ends[1:], strict=True):
        yield match["label"] or "", match["heading"], text[match.end() : end]


def check_form(name: str, notebook: NotebookNode) -> Iterator[str]:
    """Sections are numbered questions, with all their parts in order."""
    number = str(int(NAME.match(name)[1]))
    numbered = [s for s in sections(notebook) if s[1] != "References"]
    if not numbered:
        yield "no sections"
    for expected, (label, heading, text) in enumerate(numbered, 1):
        found = NUMBERED.fullmatch(heading)
        if not found or found.groups()[:2] != (number, str(expected)):
            yield f"{heading!r}: its number must be {number}.{expected}"
        if not heading.endswith("?"):
            yield f"{heading!r}: a heading asks a question"
        if not label.startswith(f"lab{number}-"):
            yield f"{heading!r}: put a label (lab{number}-…)= in the line above"
        yield from (f"{heading!r}: {problem}" for problem in missing(text))


def missing(text: str) -> Iterator[str]:
    """Yield what the text of a section lacks."""
    position = 0
    for part in PARTS:
        position = text.find(part, position)
        if position < 0:
            name = "a table or figure" if part == "RESULT" else part.strip("* .")
            yield f"lacks {name}, or has it in another place"
            return
    setup = text.partition(PARTS[0])[2].partition("\n\n")[0]
    if len(setup.split()) > LONGEST_SETUP:
        yield f"the set-up has more than {LONGEST_SETUP} words"
    if "`" not in text.partition(PARTS[-1])[2]:
        yield "no command repeats it"


def check_links(notebooks: Mapping[str, NotebookNode]) -> Iterator[str]:
    """`Lab 4.2` is a link, and leads to section 4.2.

    Args:
        notebooks: All notebooks of the book, by name.
    """
    labels = {
        label: NUMBERED.match(heading)
        for name, notebook in notebooks.items()
        if NAME.match(name)
        for label, heading, _ in sections(notebook)
    }
    numbers = {label: f"{m[1]}.{m[2]}" for label, m in labels.items() if m}
    for name, notebook in notebooks.items():
        for cell in notebook.cells:
            if cell.cell_type == "markdown":
                for number, label in LINK.findall(cell.source):
                    if numbers.get(label) != number:
                        yield f"{name}: Lab {number} leads to {label}, which is not it"
                for mention in MENTION.findall(LINK.sub("", cell.source)):
                    yield f"{name}: {mention} is no link: {{ref}}`{mention} <label>`"
