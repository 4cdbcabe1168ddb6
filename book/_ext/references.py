"""Writes down how the page resolves its references: ``_build/references.json``.

The notebooks that readers open have no Sphinx that could number a figure or find the
page behind ``{term}`` and ``{cite:t}``. They are made from this file, so that they say
what the page says. It holds the address of the published book, if there is one, and for
each page

- ``sections``: number, title and ids of each heading, in their order,
- ``roles``: what each role has become, by its source, such as ``:eq:`eq-context```,
- ``numbers``: the numbers of figures, tables, equations and exercises, by their label,
- ``terms``: the ids of the terms that it explains,
- ``bibliography``: the entries of its list of references.

Texts are Markdown. Links to other places of the book are written
``page:book/ch02_bahdanau#id``.
"""

from __future__ import annotations

import json
import posixpath
from collections import ChainMap
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment
from sphinx.transforms.post_transforms import SphinxPostTransform

FILE = "references.json"
INTERNAL = "page:"
SIGNS = str.maketrans({sign: f"\\{sign}" for sign in r"\`*_[]<"})


class reference_source(nodes.inline):  # noqa: N801, as all of docutils' nodes
    """Keeps the source of a role round what it is resolved to."""


class KeepSources(SphinxPostTransform):
    """Wraps each role that Sphinx resolves, just before it does."""

    default_priority = 9  # Sphinx' ReferencesResolver has 10

    def run(self, **kwargs: Any) -> None:
        """Wrap them all."""
        roles = addnodes.pending_xref, addnodes.download_reference
        for node in list(self.document.findall(lambda n: isinstance(n, roles))):
            if node.rawsource:
                wrapper = reference_source(role=node.rawsource)
                node.replace_self(wrapper)
                wrapper += node


def write_down(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Collect a page's references, and take the wrappers away again."""
    papers = addresses_of_papers(app)

    def links(node: nodes.Element) -> str:
        return in_markdown(node, page, papers)

    roles = {}
    for wrapper in list(doctree.findall(reference_source)):
        text = links(wrapper)
        if wrapper["role"].startswith(":cite"):  # brackets would look like a link
            text = text.replace(r"\[", "(").replace(r"\]", ")")
        roles[wrapper["role"]] = text
        wrapper.replace_self(wrapper.children)
    vars(app).setdefault("book_references", {})[page] = {
        "sections": [
            {"number": number, "title": title.astext(), "ids": section["ids"]}
            for section, _, title, number in titled_sections(app.env, doctree, page)
        ],
        "roles": roles,
        "numbers": dict(numbers(app, doctree, page)),
        "terms": {
            term.astext(): term["ids"][0] for term in doctree.findall(nodes.term)
        },
        "bibliography": [
            "".join(map(links, entry.children[1:]))
            for entry in doctree.findall(nodes.citation)
        ],
    }


def titled_sections(
    env: BuildEnvironment, doctree: nodes.document, page: str
) -> Iterator[tuple[nodes.section, str, nodes.title, str]]:
    """Yield the sections of a page with their anchor, title and number, if any."""
    known = env.toc_secnumbers.get(page, {})
    for count, section in enumerate(doctree.findall(nodes.section)):
        # The section of a fold begins with what opens it.
        if titles := [part for part in section if isinstance(part, nodes.title)]:
            anchor = section["ids"][0] if count else ""
            number = known.get(f"#{anchor}" if anchor else "") or ()
            yield section, anchor, titles[0], dotted(number)


def numbers(
    app: Sphinx, doctree: nodes.document, page: str
) -> Iterator[tuple[str, str]]:
    """Yield the labels of a page with their numbers."""
    counted = ChainMap(*app.env.toc_fignumbers.get(page, {}).values())
    for node in doctree.findall(nodes.Element):
        if node["ids"] and (number := counted.get(node["ids"][0])):
            for label in (node.get("label"), *node["names"], *node["ids"]):
                if label:
                    yield label, dotted(number)


def dotted(number: tuple[int, ...]) -> str:
    """Write a number as it stands in the page."""
    return ".".join(map(str, number))


def addresses_of_papers(app: Sphinx) -> dict[tuple[str, str], str]:
    """Return where the works of each page's list can be read, by page and id.

    The ids are made anew on each page. A work that is not on the web has no address.
    """
    found = {}
    for citation in app.env.get_domain("cite").citations:
        fields = citation.entry.fields
        doi = f"https://doi.org/{fields['doi']}" if "doi" in fields else ""
        place = citation.bibliography_key.docname, citation.citation_id
        found[place] = fields.get("url", doi)
    return found


def in_markdown(node: nodes.Node, page: str, papers: dict[tuple[str, str], str]) -> str:
    """Write a resolved piece of text as Markdown."""
    if isinstance(node, nodes.Text):
        return node.astext().translate(SIGNS)
    if isinstance(node, nodes.literal):
        text = f"`{node.astext()}`"
    elif isinstance(node, nodes.math):
        text = f"${node.astext()}$"
    else:
        text = "".join(in_markdown(child, page, papers) for child in node.children)
    # A file to download lies beside the page; a notebook names it.
    link = isinstance(node, nodes.reference)
    link = link and not isinstance(node, addnodes.download_reference)
    if link and (to := address(node, page, papers)):
        return f"[{text}]({to})"
    signs = {nodes.emphasis: "*", nodes.strong: "**"}.get(type(node), "")
    return f"{signs}{text}{signs}"


def address(
    node: nodes.reference, page: str, papers: dict[tuple[str, str], str]
) -> str:
    """Say where a link leads: to a paper, another site, or a place of the book."""
    uri = node.get("refuri") or f"#{node['refid']}"
    if "://" in uri or uri.startswith("mailto:"):
        return uri
    path, _, anchor = uri.partition("#")
    there = posixpath.normpath(posixpath.join(posixpath.dirname(page), path))
    there = there.removesuffix(".html") if path else page
    if (there, anchor) in papers:
        return papers[there, anchor]
    return f"{INTERNAL}{there}#{anchor}".removesuffix("#")


def kept_pages(app: Sphinx, file: str, new: dict[str, Any]) -> dict[str, Any]:
    """Return what was found on each page, and keep it beside the folder of the pages.

    Pages that were not written anew are as an earlier build found them.

    Args:
        app: Sphinx, at the end of a build.
        file: The name to keep it under.
        new: What this build has found, by page.
    """
    path = Path(app.outdir).parent / file
    known = json.loads(path.read_text("utf-8"))["pages"] if path.exists() else {}
    known |= new
    pages = {page: known[page] for page in sorted(app.env.found_docs & {*known})}
    found = {"site": app.config.html_baseurl, "pages": pages}
    text = json.dumps(found, ensure_ascii=False, indent=1)
    path.write_text(f"{text}\n", encoding="utf-8")
    return pages


def store(app: Sphinx, failure: Exception | None) -> None:
    """Write the file."""
    if failure is None and app.builder.name == "html":
        kept_pages(app, FILE, getattr(app, "book_references", {}))


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.add_post_transform(KeepSources)
    app.connect("doctree-resolved", write_down, priority=900)
    app.connect("build-finished", store)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
