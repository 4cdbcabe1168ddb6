"""Writes what the search of the book reads: its sections, terms and functions.

The file is a script, so that a page opened from a file may load it, and is loaded at
the first search.  It sets ``bookIndex``: ``pages`` with address, title and kind (see
`KINDS`); ``entries`` with page, anchor, title, key words (what is
explained there), prose and weight; ``names``: other names of the glossary's terms.
``book/_static/search_ranking.js`` says what comes first.
"""

from __future__ import annotations

import json
import re
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx

from glossary_notes import introductions
from prose import explained, prose

FILE = "search_index.js"
KINDS = {  # by the name of the page; what comes first in a list of results
    r"(ch\d\d|a\d)_": 0,
    r"glossary$": 1,
    r"(lab\d\d_|playground|intro)": 2,
    r"": 3,
}
# A section of this name speaks of what another one teaches; None: it is left out.
WEIGHTS = {
    **{"References": None, "Further reading": 0.2, "Exercises": 0.2, "Projects": 0.3},
    **{"The answer": 0.4, "Check against PyTorch": 0.4},
}
APPENDIX = 0.8  # of the weight of a chapter, which teaches the same earlier
OBJECTS = {"function", "class", "exception", "data"}
ALSO = re.compile(r"\bAlso: ([^.]*)\.|^([A-Z]{2,4})\. ")
Entry = list[Any]


def collect(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Keep the entries of a page until all are written, and for the next build."""
    if app.builder.name != "html":
        return
    kind = next(kind for name, kind in KINDS.items() if re.match(name, page[5:]))
    entries = list(sections(app, doctree, page))
    if kind == 1:
        entries += terms(doctree)
    if kind == 3:
        entries += objects(doctree)
    title = entries[0][1] if entries else ""
    found = {"page": [app.builder.get_target_uri(page), title, kind]}
    path = kept(app, page)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(found | {"entries": entries}), encoding="utf-8")


def kept(app: Sphinx, page: str) -> Path:
    """Return the file that holds the entries of a page."""
    return Path(app.doctreedir) / "search" / f"{page}.json"


def sections(app: Sphinx, doctree: nodes.document, page: str) -> Iterator[Entry]:
    """Yield the sections of a page, each without those in it."""
    numbers = app.env.toc_secnumbers.get(page, {})
    weight_of_page = APPENDIX if re.match(r"book/a\d_", page) else 1
    for count, section in enumerate(doctree.findall(nodes.section)):
        if not (titles := [part for part in section if isinstance(part, nodes.title)]):
            continue
        title = prose_of_title(titles[0])
        if (weight := WEIGHTS.get(title, 1)) is None:
            continue
        anchor = section["ids"][0] if count else ""
        number = numbers.get(f"#{anchor}" if anchor else "")
        if number:
            title = f"{'.'.join(map(str, number))} {title}"
        own = [part for part in section if not isinstance(part, nodes.section)]
        text = " ".join(filter(None, map(prose, own)))
        keys = sorted({key for part in own for key in explained(part)})
        yield [anchor, title, ";".join(keys), text, weight * weight_of_page]


def prose_of_title(title: nodes.title) -> str:
    """Return the text of a heading."""
    return prose(nodes.inline("", "", *title.deepcopy().children))


def terms(doctree: nodes.document) -> Iterator[Entry]:
    """Yield the terms of the glossary, each with its definition."""
    for item in doctree.findall(nodes.definition_list_item):
        term, *_, definition = item.children
        title = prose_of_title(term)
        yield [term["ids"][0], title, title, prose(definition), 1]


def objects(doctree: nodes.document) -> Iterator[Entry]:
    """Yield functions and classes, each with the first paragraph on it."""
    for desc in doctree.findall(addnodes.desc):
        signature, content = desc[0], desc[-1]
        if desc["objtype"] in OBJECTS and signature["ids"]:
            first = next(content.findall(nodes.paragraph), None)
            name = signature["ids"][0]
            yield [name, signature["fullname"], "", prose(first) if first else "", 1]


def other_names(entries: list[Entry]) -> Iterator[tuple[str, str]]:
    """Yield other names of terms, as their definitions give them, with the term."""
    terms = {term for _, term, *_ in entries}
    for _, term, _, definition, _ in entries:
        for names in ALSO.findall(definition):
            for name in "".join(names).split(", "):
                if name not in terms:
                    yield name, term


def write(app: Sphinx, failure: Exception | None) -> None:
    """Write the index of all pages."""
    if failure or app.builder.name != "html":
        return
    index: dict[str, list] = {"pages": [], "entries": [], "names": []}
    introduced = defaultdict(list)
    for term, section in introductions(app.env).items():
        introduced[section.page, section.anchor].append(term)
    for page in sorted(app.env.found_docs):
        found = json.loads(kept(app, page).read_text(encoding="utf-8"))
        for anchor, title, keys, *rest in found["entries"]:
            keys = ";".join(filter(None, [keys, *introduced.get((page, anchor), ())]))
            index["entries"].append([len(index["pages"]), anchor, title, keys, *rest])
        if found["page"][2] == 1:
            index["names"] = list(other_names(found["entries"][1:]))
        index["pages"].append(found["page"])
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir) / "_static" / FILE
    path.write_text(f"const bookIndex = {text};\n", encoding="utf-8")


def replace_sphinx_search(app: Sphinx) -> None:
    """Let Sphinx write neither its own index nor its own page with results."""
    if app.builder.name == "html":
        app.builder.search = False


def search_page(app: Sphinx) -> Iterator[tuple[str, dict, str]]:
    """Add the page that shows all results."""
    yield "search", {"title": "Search"}, "search.html"


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.add_css_file("search.css")
    app.add_js_file("search.js", loading_method="defer")
    app.connect("builder-inited", replace_sphinx_search)
    app.connect("doctree-resolved", collect, priority=950)
    app.connect("html-collect-pages", search_page)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
