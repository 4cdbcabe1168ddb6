"""The glossary: where each term is introduced, letters to jump to, and notes on pages.

A page that links to terms carries their definitions, hidden, for
``book/_static/glossary.js`` to show beside the link.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import NamedTuple

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

from prose import explained, prose

GLOSSARY = "book/glossary"
PAGES = re.compile(r"book/(ch|a\d|lab)\d*_")
LEFT_OUT = nodes.section, nodes.Admonition  # boxes say what is to come
# Sections that speak of what another one has introduced.
REPEATING = {"The answer", "Exercises", "Further reading", "References", "Projects"}


class Section(NamedTuple):
    """A section of a chapter, without those in it."""

    page: str
    anchor: str
    title: str
    number: str
    text: str
    explained: set[str]


def terms_of(env: BuildEnvironment) -> dict[str, str]:
    """Return the glossary's terms in small letters, each with its anchor."""
    objects = env.get_domain("std").objects.items()
    return {name.lower(): at[1] for (kind, name), at in objects if kind == "term"}


@cache
def introductions(env: BuildEnvironment) -> dict[str, Section]:
    """Return the section that introduces each term, as far as there is one.

    It is the one that has the term as its heading, or else the first that explains it
    (see `explained`), or at least uses it.
    """
    pages = sorted(filter(PAGES.match, env.found_docs), key=in_order)
    known = [section for page in pages for section in sections_of(env, page)]
    terms, found = terms_of(env), {}
    for term in terms:
        clear = clearness(term, terms)
        best = max(known, key=clear)
        if clear(best):
            found[term] = best
    return found


def in_order(page: str) -> tuple[bool, bool, str]:
    """Put the chapters before the appendix, and the laboratory last."""
    return page.startswith("book/lab"), page.startswith("book/a"), page


def clearness(term: str, terms: Iterable[str]) -> Callable[[Section], float]:
    """Return a function that says how clearly a section introduces a term: 0 to 3.

    As a part of a longer one of the terms, the word is another. A laboratory counts
    only for what no chapter speaks of.
    """
    longer = [name for name in terms if name.startswith(f"{term} ")]
    others = "".join(rf"(?!{name.removeprefix(term)})" for name in longer)
    word = re.compile(rf"\b{re.escape(term)}s?\b{others}", re.IGNORECASE)
    heading = re.compile(rf"(an? |the )?{word.pattern}", re.IGNORECASE)

    def clear(at: Section) -> float:
        explains = any(map(word.fullmatch, at.explained))
        if heading.fullmatch(at.title) or (explains and word.search(at.title)):
            level = 3
        elif explains:
            level = 2
        else:
            level = bool(word.search(f"{at.title}. {at.text}"))
        return level / 4 if at.page.startswith("book/lab") else level

    return clear


def sections_of(env: BuildEnvironment, page: str) -> Iterator[Section]:
    """Yield the sections of a page that may introduce something."""
    numbers = env.toc_secnumbers.get(page, {})
    number = ""
    for count, section in enumerate(env.get_doctree(page).findall(nodes.section)):
        titles = [part for part in section if isinstance(part, nodes.title)]
        title = prose(nodes.inline("", "", *titles[0].deepcopy())) if titles else ""
        anchor = section["ids"][0] if count else ""
        own = numbers.get(f"#{anchor}" if anchor else "")
        number = ".".join(map(str, own)) if own else number
        if not title or title in REPEATING:
            continue
        parts = [part for part in section if not isinstance(part, LEFT_OUT)]
        text = " ".join(map(prose, parts))
        terms = {term for part in parts for term in explained(part)}
        yield Section(page, anchor, title, number, text, terms)


def complete_glossary(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Say in each entry where the term is introduced, and put letters at the top."""
    if page != GLOSSARY:
        return
    places, letters = introductions(app.env), {}
    for item in doctree.findall(nodes.definition_list_item):
        term, definition = item[0], item[-1]
        anchor = term["ids"][0]
        letters.setdefault(term.astext()[0].upper(), anchor)
        name = next(name for name, at in terms_of(app.env).items() if at == anchor)
        if section := places.get(name):
            definition[-1] += [nodes.Text(" "), introduced_in(app, section)]
    links = "".join(f'<a href="#{at}">{letter}</a>' for letter, at in letters.items())
    markup = f'<nav class="glossary-letters" aria-label="Letters">{links}</nav>'
    glossary = next(doctree.findall(addnodes.glossary))
    glossary.insert(0, nodes.raw("", markup, format="html"))


def introduced_in(app: Sphinx, section: Section) -> nodes.inline:
    """Return the words that lead to a section."""
    address = app.builder.get_relative_uri(GLOSSARY, section.page)
    if section.anchor:
        address += f"#{section.anchor}"
    name = PAGES.match(section.page)[1]
    number = section.number or ("Lab" if name == "lab" else name.upper())
    title = section.title.removeprefix(f"{number}: ").removeprefix("Lab ")
    link = nodes.reference("", f"{number} {title}", refuri=address, internal=True)
    words = nodes.Text("Introduced in ")
    return nodes.inline("", "", words, link, classes=["glossary-place"])


class AddNotes(SphinxPostTransform):
    """Puts the definitions of the linked terms at the end of a page."""

    default_priority = 5  # before links are resolved, and before KeepSources
    formats = ("html",)

    def run(self, **others: object) -> None:
        """Copy them, each once."""
        page = self.env.docname
        links = self.document.findall(addnodes.pending_xref)
        linked = [link["reftarget"] for link in links if link["reftype"] == "term"]
        if page == GLOSSARY or not linked or GLOSSARY not in self.env.found_docs:
            return
        anchors = terms_of(self.env)
        wanted = {anchors.get(term.lower()) for term in linked}
        notes = nodes.container(classes=["glossary-notes"])
        for item in self.env.get_doctree(GLOSSARY).findall(nodes.definition_list_item):
            term, definition = item[0], item[-1]
            if (anchor := term["ids"][0]) in wanted:
                name = nodes.strong("", *term.deepcopy().children)
                copied = definition.deepcopy().children
                for link in (link for part in copied for link in part.findall()):
                    if isinstance(link, addnodes.pending_xref):
                        link.rawsource, link["refdoc"] = "", page
                note = nodes.container(ids=[f"note-{anchor}"])
                note += [nodes.paragraph("", "", name), *copied]
                notes += note
        self.document += notes


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.add_css_file("glossary.css")
    app.add_js_file("glossary.js", loading_method="defer")
    app.add_post_transform(AddNotes)
    app.connect("doctree-resolved", complete_glossary)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
