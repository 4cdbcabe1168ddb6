"""What makes the build twice as quick and changes no page.

Sphinx and its extensions do some work again and again.  Each part of this module lets
one of them do it once.
"""

from __future__ import annotations

import ast
import atexit
import gc
import os
import re
import sys
from functools import cache

import torch
from bs4 import BeautifulSoup
from bs4.element import Tag
from docutils import nodes
from pybtex import plugin
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.environment.adapters import toctree
from sphinx_codeautolink.extension import block, resolve
from sphinx_codeautolink.parse import ImportTrackerVisitor, Name

from attnbook.core.threads import set_threads


def copy_titles_only() -> None:
    """Let the side bar be made without the sections of all pages.

    For every page, Sphinx copies the sections of all other pages, only to throw them
    away: the side bar shows titles.
    """
    standard_entry = toctree._toctree_standard_entry

    def entry(title: str, page: str, depth: int, toc: nodes.bullet_list, *others):
        return standard_entry(title, page, depth, titles_of(toc), *others)

    toctree._toctree_standard_entry = entry


@cache
def titles_of(toc: nodes.bullet_list) -> nodes.bullet_list:
    """Return a page's table of contents without its sections, with its subpages."""
    toc = toc.deepcopy()
    for item in toc.children:
        if len(item) > 1:
            if subpages := list(item.findall(addnodes.toctree)):
                item[1][:] = subpages
            else:
                item.pop(1)
    return toc


class CellReader:
    """Finds the names in a page's code, reading each cell once.

    sphinx-codeautolink hands over each cell with all earlier ones in front, and then
    looks at the names of the last one only.
    """

    def __init__(self):
        self.visitor = None  # knows what the names in `read` stand for
        self.read = ""

    def parse_names(self, source: str, node: nodes.Node) -> list[Name]:
        """Take the place of the function of that name: return the last cell's names."""
        if self.visitor is None or not source.startswith(f"{self.read}\n"):
            self.visitor = ImportTrackerVisitor(node)
            new, lines_before = source, 0
        else:
            new = source[len(self.read) + 1 :]
            lines_before = self.read.count("\n") + 1
        self.visitor.accessed = []
        self.visitor.visit(ast.increment_lineno(ast.parse(new), lines_before))
        self.read = source
        return self.visitor.accessed


class CodeBlocks:
    """A page as sphinx-codeautolink reads and writes it: no more than its code.

    It parses whole pages, and writes them from what it has parsed.
    """

    BLOCK = re.compile(
        r'(<div class="[^"]*?(?:highlight-|doctest)[^"]*">\s*<div class="highlight">'
        r"<pre>.*?</pre></div>\s*</div>)",
        re.DOTALL,
    )
    BETWEEN = "\n<!-- the next block of code -->\n"

    def __init__(self, page: str):
        parts = self.BLOCK.split(page)  # text, block, text, …, text
        self.text = parts[::2]
        self.soup = BeautifulSoup(self.BETWEEN.join(parts[1::2]), "html.parser")

    def find_all(self, *wanted: str, **attributes: dict[str, str]) -> list[Tag]:
        """Find elements of the code."""
        return self.soup.find_all(*wanted, **attributes)

    def __str__(self):
        """Put the blocks of code back into the page."""
        blocks = str(self.soup).split(self.BETWEEN) if len(self.text) > 1 else []
        between = zip(blocks, self.text[1:], strict=True)
        return "".join([self.text[0], *(part for pair in between for part in pair)])


def parse(markup: str, parser: str) -> CodeBlocks | BeautifulSoup:
    """Take the place of BeautifulSoup, which also parses lines of code."""
    whole = markup.lstrip().startswith("<!DOCTYPE")
    return CodeBlocks(markup) if whole else BeautifulSoup(markup, parser)


def read_again(
    app: Sphinx, env: BuildEnvironment, added: set, changed: set, removed: set
) -> list[str]:
    """Name the pages that depend on what differs from the last build without fault.

    Sphinx itself reads a page with a fault once, and then takes it for known.
    """
    names = {*os.environ.get("BOOK_CHANGED", "").splitlines()}
    return [
        page
        for page in env.all_docs
        if names & {env.doc2path(page, base=False), *env.dependencies[page]}
    ]


def write_in_two(app: Sphinx, env: BuildEnvironment) -> None:
    """Let two processes write the pages; only Linux copies a process safely.

    Reading is over: not all extensions can say whether two may read.
    """
    if sys.platform == "linux" and (os.cpu_count() or 1) > 1:
        app.parallel = 2


def setup(app: Sphinx) -> dict[str, bool]:
    """Put all of the above in the place of what was slow."""
    # Half of the time went into looking for garbage among millions of objects, nearly
    # all of them in use until the end.
    gc.disable()
    atexit.register(gc.freeze)  # nor at the end, which would take as long as ten pages
    # On busy cores, threads that wait for each other compute for minutes what one
    # computes in seconds: the data of the explorers.
    set_threads()
    app.connect("env-get-outdated", read_again)
    app.connect("env-check-consistency", write_in_two)
    copy_titles_only()
    block.parse_names = CellReader().parse_names
    block.BeautifulSoup = parse
    block.format_title = cache(block.format_title)
    # sphinx-codeautolink would import what torch does for type checkers: its compiler.
    resolve.populated_modules.add(id(torch))
    # pybtex searches all installed packages for each citation.
    plugin.entry_points = cache(plugin.entry_points)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
