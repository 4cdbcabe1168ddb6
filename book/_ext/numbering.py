"""Numbers of figures and tables that Sphinx alone would not give.

A cell whose output is a table names it in its metadata as if it were a figure, with a
name that begins with ``tab-``. Such figures become tables here: Table 4.1, its caption
above it.

On a page that belongs to no chapter, what has a number is counted from 1, after the
name of the page: Fig. L4.1 in Lab 4, Fig. A1.1 in appendix A1, Fig. 1 on the mask card
and on the page of silent bugs.
Sphinx would count on from page to page, since the sections there have no numbers.
"""

from __future__ import annotations

import re
from copy import deepcopy

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms import SphinxTransform
from sphinx.writers.html5 import HTML5Translator

PREFIX = "tab-"
PAGE = re.compile(r"(?:^|/)(?:(lab|a)0?(\d+)_|(?:mask_card|silent_bugs)$)")


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


def restore(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Give Sphinx its own numbers, or it would write the pages anew each time."""
    env.toc_fignumbers = getattr(env, "counted_on", env.toc_fignumbers)
    return []


def count_from_one(app: Sphinx, env: BuildEnvironment) -> list[str]:
    """Count what has a number on each such page from 1, after the name of the page."""
    env.counted_on = deepcopy(env.toc_fignumbers)
    for page, kinds in env.toc_fignumbers.items():
        if found := PAGE.search(page):
            name = [f"{found[1][0].upper()}{found[2]}"] if found[1] else []
            for numbers in kinds.values():
                for place, node in enumerate(sorted(numbers, key=numbers.get), 1):
                    numbers[node] = (*name, place)
    return []


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the node and what makes it; count after Sphinx has counted."""
    as_figure = HTML5Translator.visit_figure, HTML5Translator.depart_figure
    app.add_enumerable_node(numbered_table, "table", html=as_figure)
    app.add_transform(NumberTables)
    app.connect("env-get-updated", restore, priority=100)
    app.connect("env-get-updated", count_from_one, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
