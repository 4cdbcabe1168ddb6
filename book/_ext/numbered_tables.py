"""Tables of results with a number: Table 4.1, its caption above it.

A cell whose output is a table names it in its metadata as if it were a figure, with a
name that begins with ``tab-``. Here such figures become tables.
"""

from __future__ import annotations

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

PREFIX = "tab-"


class numbered_table(nodes.figure):  # noqa: N801, as docutils writes its nodes
    """A figure that Sphinx counts among the tables."""


class NumberTables(SphinxTransform):
    """Makes tables of the figures whose name says so."""

    default_priority = 400  # before Sphinx collects what can be referred to

    def apply(self) -> None:
        """Replace them, and put each caption above its table."""
        for figure in [*self.document.findall(nodes.figure)]:
            if any(name.startswith(PREFIX) for name in figure["names"]):
                made = numbered_table("", **figure.attributes)
                captions = [c for c in figure if isinstance(c, nodes.caption)]
                others = [c for c in figure if c not in captions]
                made += captions + others
                figure.replace_self(made)
                for identifier in made["ids"]:
                    self.document.ids[identifier] = made


def visit(self: HTML5Translator, node: numbered_table) -> None:
    """Open the table as a figure."""
    self.visit_figure(node)


def depart(self: HTML5Translator, node: numbered_table) -> None:
    """Close it."""
    self.depart_figure(node)


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the node and what makes it."""
    app.add_enumerable_node(numbered_table, "table", html=(visit, depart))
    app.add_transform(NumberTables)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
