"""Tells the pages' scripts what there is to be ticked: pages, predict boxes, exercises.

``book/_static/ticks.js`` reads it, and keeps in the browser what the reader has done.
``{exercise-list}`` lists all exercises, with what the first line of each says. The
chapters that a chapter needs become links.
"""

from __future__ import annotations

import json
import re
from html import escape
from itertools import groupby
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.util.docutils import SphinxDirective

from book_search import in_order, prose
from predict_box import predict_labels

# Chapters, laboratory pages, appendices.
TO_BE_READ = re.compile(r"book/(?:ch|lab|a)\d+_\w+")


# An exercise begins with its name, how hard it is, how long it takes, and its task, of
# which the list shows whole sentences.
LEAD = re.compile(
    r"(.+?) · (easy|medium|hard) · (\d+) minutes\. (.{50,}?[.?!:](?=\s|$)|.+)", re.S
)

# The page of a chapter or an appendix, and how a chapter names one that it needs.
CHAPTER = re.compile(r"book/(?:ch|(?=a))(a?)(\d+)_\w+")
NUMBER = re.compile(r"((?:chapter |appendix )?\bA?\d+\b)")

# What a reference is called until it is resolved, and what stands for it in the list.
REFERENCES = {
    r"\bfig-[\w-]+": "the figure",
    r"\beq-[\w-]+": "the equation",
    r"\btab-[\w-]+": "the table",
    r"(?: of)? ([a-z]+)\d{4}\b": lambda found: f" by {found[1].capitalize()}",
}


def exercises(env: BuildEnvironment) -> dict[str, str]:
    """Return the labels of all exercises, each with its page."""
    return {
        label: entry["docname"]
        for label, entry in getattr(env, "sphinx_exercise_registry", {}).items()
        if entry["type"].startswith("exercise")
    }


class ExerciseList(SphinxDirective):
    """``{exercise-list}``: a place for the list, which is made when all is read."""

    def run(self) -> list[nodes.Node]:
        """Return the place."""
        return [nodes.container(classes=["exercise-list"])]


def fill_list(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Put the list of all exercises into its place, page by page."""
    for place in doctree.findall(nodes.container):
        if "exercise-list" in place["classes"] and not place.children:
            found = sorted(exercises(app.env).items(), key=lambda one: in_order(one[1]))
            rows = []
            for other, labels in groupby(found, lambda item: item[1]):
                title = escape(app.env.titles[other].astext())
                rows.append(f'<tr><th colspan="5" scope="rowgroup">{title}</th></tr>')
                address = app.builder.get_relative_uri(page, other)
                read = app.env.get_doctree(other)
                rows += [row(read, label, address) for label, _ in labels]
            markup = f'<table class="exercises">{"".join(rows)}</table>'
            place += nodes.raw("", markup, format="html")


def row(read: nodes.document, label: str, address: str) -> str:
    """Return a row of the list: an exercise of a page that was read."""
    node = next(node for node in read.findall(nodes.Element) if label in node["ids"])
    texts = map(prose, node.findall(nodes.paragraph))
    name, level, minutes, task = next(filter(None, map(LEAD.match, texts))).groups()
    for key, words in REFERENCES.items():
        task = re.sub(key, words, task)
    task = escape(re.sub(":$", ".", re.sub("^the ", "The ", task)))
    task = re.sub(r"\b([A-Z])\^([A-Z])\b", r"\1<sup>\2</sup>", task)
    task = re.sub(r"\b([a-zA-Z])_([a-z])(?![a-z])", r"\1<sub>\2</sub>", task)
    link = f'<a href="{address}#{label}">{escape(name)}</a>'
    cells = link, level, f"{minutes} min", task
    return f'<tr data-exercise="{label}"><td>{"</td><td>".join(cells)}</td></tr>'


def link_needs(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Let the chapters that a chapter needs be links, in the box at its top."""
    pages = {
        f"{found[1].upper()}{int(found[2])}": name
        for name in app.env.found_docs
        if (found := CHAPTER.fullmatch(name))
    }
    for line in doctree.findall(nodes.paragraph):
        in_box = "chapter-box" in line.parent.get("classes", ())
        if not in_box or not line.astext().startswith("You need "):
            continue
        for text in [child for child in line if isinstance(child, nodes.Text)]:
            parts: list[nodes.Node] = []
            for words in NUMBER.split(text.astext()):
                name = pages.get(words.rpartition(" ")[2])
                parts.append(
                    link(app, page, name, words) if name else nodes.Text(words)
                )
            line.replace(text, parts)


def link(app: Sphinx, page: str, other: str, words: str) -> nodes.reference:
    """Return a link from a page to another, which tells that page's title."""
    address = app.builder.get_relative_uri(page, other)
    title = app.env.titles[other].astext()
    return nodes.reference("", words, internal=True, refuri=address, reftitle=title)


def add_parts(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Write the boxes and exercises of all pages into one, and load the scripts."""
    pages = filter(TO_BE_READ.fullmatch, sorted(app.env.found_docs))
    parts = {name: [] for name in pages}
    for label, place in (predict_labels(app.env) | exercises(app.env)).items():
        if place in parts:
            parts[place].append(label)
    text = json.dumps(parts).replace("<", r"\u003c")
    app.add_js_file(None, body=text, type="application/json", id="course-parts")
    for name in ("progress.js", "ticks.js"):
        app.add_js_file(name, loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.setup_extension("predict_box")
    app.add_directive("exercise-list", ExerciseList)
    app.connect("doctree-resolved", fill_list)
    app.connect("doctree-resolved", link_needs)
    # Before the scripts that use what these define.
    app.connect("html-page-context", add_parts, priority=400)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
