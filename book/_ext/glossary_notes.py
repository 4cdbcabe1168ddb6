"""The glossary: where each term is introduced, letters to jump to, and notes on pages.

A page that links to terms carries their definitions, hidden, for
``book/_static/glossary.js`` to show beside the link.
"""

from __future__ import annotations

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.transforms.post_transforms import SphinxPostTransform

from book_search import PAGES, Section, anchors_of_terms, introductions

GLOSSARY = "book/glossary"


def complete_glossary(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Say in each entry where the term is introduced, and put letters at the top."""
    if page != GLOSSARY:
        return
    places, letters = introductions(app.env), {}
    for item in doctree.findall(nodes.definition_list_item):
        term, definition = item[0], item[-1]
        anchor = term["ids"][0]
        letters.setdefault(term.astext()[0].upper(), anchor)
        name = next(
            name for name, at in anchors_of_terms(app.env).items() if at == anchor
        )
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
        anchors = anchors_of_terms(self.env)
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
    app.add_js_file("glossary.js", loading_method="defer")
    app.add_post_transform(AddNotes)
    app.connect("doctree-resolved", complete_glossary)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
