"""Passages that are folded on the page, with the code and the figures in them.

A Markdown cell with the tag ``fold`` begins with a heading. What follows up to the next
heading lies in a closed box on the page, whose title is the heading. JupyterLab shows
the heading and the passage.
"""

from __future__ import annotations

import json
import re

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform
from sphinx.util.docutils import SphinxDirective

TAG = "fold"
HEADING = re.compile(r"^(#+ .+)$", re.MULTILINE)
MARK = "```{fold-this-section}\n```"
OPENING = '<details class="book-fold"><summary>'
CLOSING = '</summary><div class="book-fold-body">', "</div></details>"


class fold_mark(nodes.Invisible, nodes.Element):  # noqa: N801
    """Stands in a section that is to be folded."""


class FoldThisSection(SphinxDirective):
    """Writes the mark; notebooks have the tag in its place."""

    def run(self) -> list[nodes.Node]:
        """Return the mark."""
        return [fold_mark()]


def write_marks(app: Sphinx, page: str, content: list[str]) -> None:
    """Write a mark below the heading of each cell that has the tag."""
    if not app.env.doc2path(page).endswith(".ipynb") or f'"{TAG}"' not in content[0]:
        return
    notebook = json.loads(content[0])
    for cell in notebook["cells"]:
        if TAG in cell["metadata"].get("tags", []):
            text = "".join(cell["source"])
            cell["source"] = HEADING.sub(rf"\1\n\n{MARK}\n", text, count=1)
    content[0] = json.dumps(notebook)


class FoldSections(SphinxPostTransform):
    """Puts the sections with a mark into boxes that open and close."""

    default_priority = 700
    formats = ("html",)

    def run(self, **others: object) -> None:
        """Write what opens and closes a box around the title and the rest."""
        for mark in [*self.document.findall(fold_mark)]:
            section = mark.parent
            section.remove(mark)
            title, *rest = section.children
            between, end = (nodes.raw("", part, format="html") for part in CLOSING)
            opening = nodes.raw("", OPENING, format="html")
            section.children = [opening, title, between, *rest, end]
            for child in section.children:
                child.parent = section


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.add_node(fold_mark)
    app.add_directive("fold-this-section", FoldThisSection)
    app.connect("source-read", write_marks)
    app.add_post_transform(FoldSections)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
