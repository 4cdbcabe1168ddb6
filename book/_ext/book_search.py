"""The search of the book: its index, and what it is made from.

The index is a script, so that a page opened from a file may load it, and is loaded at
the first search. It sets ``bookIndex``: ``pages`` with address, title and kind (see
`KINDS` and `WORK`); ``entries`` with page, anchor, title, key words (what is explained
there), prose and weight; ``names``: other names of things, with those of the book.
``book/_static/search.js`` says what comes first.

The prose of a page is shown without code, mark-up and formulas. What a prediction or a
solution keeps back is left out: a search must not tell it.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable, Iterator
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from docutils import nodes
from pybtex.richtext import Text
from sphinx import addnodes
from sphinx.application import Sphinx
from sphinx.environment import BuildEnvironment

from references import kept_pages, titled_sections

FILE = "search_index.js"
KINDS = {  # by the name of the page; what comes first in a list of results
    r"(ch\d\d|a\d)_": 0,
    r"glossary$": 1,
    r"(lab\d\d_|playground|intro)": 2,
    r"": 3,
}
WORK = 4  # that is cited, on the page that cites it first
# A section of this name speaks of what another one teaches; None: it is left out.
WEIGHTS = {
    **{"References": None, "Further reading": 0.2, "Exercises": 0.2, "Projects": 0.3},
    **{"The answer": 0.4, "Check against PyTorch": 0.4},
}
APPENDIX = 0.8  # of the weight of a chapter, which teaches the same earlier
OBJECTS = {"function", "class", "exception", "data"}
ALSO = re.compile(r"\bAlso: ([^.]*)\.|^([A-Z]{2,4})\. |中文：([^。]*)。")
Entry = list[Any]

# What readers may ask for, and what the book calls it; the glossary gives more names.
NAMES = (
    ("sqrt", "square root", "√"),
    ("square root", "√"),
    ("warmup", "warm-up"),
    ("key value cache", "cache"),
    ("mha", "multi-head attention"),
    ("gpt", "decoder-only"),
    ("bert", "encoder-only"),
    ("complexity", "operations"),
    ("weight tying", "tied weights"),
    ("shared embeddings", "tied weights"),
    ("pre ln", "pre-norm"),
    ("post ln", "post-norm"),
    ("feedforward", "feed-forward"),
    ("tokenizer", "subword"),
    ("tokenization", "subword"),
    ("batch size", "by tokens"),
    ("beam width", "beam search"),
    ("beam size", "beam search"),
    ("number of heads", "how many heads"),
    ("exploding gradients", "gradient clipping", "exploded"),
    ("mixed precision", "bfloat16"),
    ("betas", "β"),
    ("noam", "warm-up"),
    ("scheduler", "schedule"),
    ("multihead", "multi-head"),
    ("cosine similarity", "dot product"),
    ("qkᵀ", "scaled dot-product attention"),
    ("interpretability", "explain"),
    ("explanation", "explain"),
    ("visualization", "alignment map"),
    ("debug", "silent bug"),
    ("debugging", "silent bug"),
    ("unit test", "test"),
)


def collect(app: Sphinx, doctree: nodes.document, page: str) -> None:
    """Keep the entries of a page until all are written."""
    if app.builder.name != "html":
        return
    kind = next(kind for name, kind in KINDS.items() if re.match(name, page[5:]))
    entries = list(entries_of_sections(app, doctree, page))
    if kind == 1:
        entries += terms(doctree)
    if kind == 3:
        entries += objects(doctree)
    title = entries[0][1] if entries else ""
    found = {"page": [app.builder.get_target_uri(page), title, kind]}
    vars(app).setdefault("search_entries", {})[page] = found | {"entries": entries}


def entries_of_sections(
    app: Sphinx, doctree: nodes.document, page: str
) -> Iterator[Entry]:
    """Yield the sections of a page, each without those in it."""
    weight_of_page = APPENDIX if re.match(r"book/a\d_", page) else 1
    for section, anchor, heading, number in titled_sections(app.env, doctree, page):
        title = prose_of_title(heading)
        if (weight := WEIGHTS.get(title, 1)) is None:
            continue
        own = [part for part in section if not isinstance(part, nodes.section)]
        text = " ".join(filter(None, map(prose, own)))
        keys = sorted({key for part in own for key in explained(part)})
        yield [
            *(anchor, f"{number} {title}".strip(), ";".join(keys), text),
            weight * weight_of_page,
        ]


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
            for name in re.split(r", |、", "".join(names)):
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
    pages = kept_pages(app, "search.json", getattr(app, "search_entries", {}))
    for page, found in pages.items():
        for anchor, title, keys, *rest in found["entries"]:
            keys = ";".join(filter(None, [keys, *introduced.get((page, anchor), ())]))
            index["entries"].append([len(index["pages"]), anchor, title, keys, *rest])
        if found["page"][2] == 1:
            index["names"] = [*NAMES, *other_names(found["entries"][1:])]
        index["pages"].append(found["page"])
    for page, *entry in works(app):
        url, title, _ = pages[page]["page"]
        index["entries"].append([len(index["pages"]), *entry])
        index["pages"].append([url, title, WORK])
    text = json.dumps(index, ensure_ascii=False, separators=(",", ":"))
    path = Path(app.outdir) / "_static" / FILE
    path.write_text(f"const bookIndex = {text};\n", encoding="utf-8")


def works(app: Sphinx) -> Iterator[Entry]:
    """Yield the works that are cited: each with the page that cites it first."""
    citations = app.env.get_domain("cite").citations
    first = {}
    for one in sorted(
        citations, key=lambda one: in_order(one.bibliography_key.docname)
    ):
        first.setdefault(one.key, one)
    for one in first.values():
        names = [" ".join(who.last_names) for who in one.entry.persons["author"]]
        text = f"{', '.join(names)}, {one.entry.fields['year']}."
        title, text = (
            str(Text.from_latex(x)) for x in (one.entry.fields["title"], text)
        )
        yield [one.bibliography_key.docname, one.citation_id, title, "", text, 1]


# --- Where each term of the glossary is introduced ---

PAGES = re.compile(r"book/(ch|a\d|lab)\d*_")
BOXES = nodes.section, nodes.Admonition  # boxes say what is to come
REPEATING = WEIGHTS.keys() - {"Check against PyTorch"}


class Section(NamedTuple):
    """A section of a chapter, without those in it."""

    page: str
    anchor: str
    title: str
    number: str
    text: str
    explained: set[str]


@cache
def introductions(env: BuildEnvironment) -> dict[str, Section]:
    """Return the section that introduces each term, as far as there is one.

    It is the one that has the term as its heading, or else the first that explains it
    (see `explained`), or at least uses it.
    """
    pages = sorted(filter(PAGES.match, env.found_docs), key=in_order)
    known = [section for page in pages for section in sections_of(env, page)]
    terms, found = anchors_of_terms(env), {}
    for term in terms:
        clear = clearness(term, terms)
        best = max(known, key=clear)
        if clear(best):
            found[term] = best
    return found


def anchors_of_terms(env: BuildEnvironment) -> dict[str, str]:
    """Return the glossary's terms in small letters, each with its anchor."""
    objects = env.get_domain("std").objects.items()
    return {name.lower(): at[1] for (kind, name), at in objects if kind == "term"}


def in_order(page: str) -> tuple[bool, bool, str]:
    """Put the chapters before the appendix, and the laboratory last."""
    return page.startswith("book/lab"), page.startswith("book/a"), page


def clearness(term: str, terms: Iterable[str]) -> Any:
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
    last = ""
    doctree = env.get_doctree(page)
    for section, anchor, heading, number in titled_sections(env, doctree, page):
        title, last = prose_of_title(heading), number or last
        if title not in REPEATING:
            parts = [part for part in section if not isinstance(part, BOXES)]
            text = " ".join(map(prose, parts))
            terms = {term for part in parts for term in explained(part)}
            yield Section(page, anchor, title, last, text, terms)


# --- Prose ---

# What is no prose, or would give an answer away.
LEFT_OUT = (
    *(nodes.comment, nodes.Invisible, nodes.literal_block, nodes.citation),
    *(nodes.image, nodes.raw, nodes.table, nodes.title),
)
LEFT_OUT_NAMES = {"Cover", "Fold", "solution_node", "glossary", "desc"}
LEFT_OUT_CLASSES = {
    *("cell_input", "glossary-notes", "glossary-place"),
    *("predict-answers", "predict-title", "solution"),
}
LONGEST_TERM = 4  # words in bold; more are a sentence

SIGNS = {
    **{"sqrt": "√", "cdot": "·", "times": "×", "to": "→", "infty": "∞", "top": "ᵀ"},
    **{"le": "≤", "ge": "≥", "approx": "≈", "ne": "≠", "sum": "∑", "in": "∈"},
    **{"dots": "…", "ldots": "…", "cdots": "…", "mid": "|", "pm": "±", "odot": "⊙"},
    **{"left": "", "right": "", "quad": " ", "lVert": "‖", "rVert": "‖", "leq": "≤"},
    **{"varepsilon": "ε", "varphi": "φ", "circ": "∘", "partial": "∂", "tilde": ""},
    **{"overleftarrow": "", "overrightarrow": "", "hat": "", "bar": "", "tfrac": ""},
}


def prose(node: nodes.Node) -> str:
    """Return the text of a node and of all in it that is prose."""
    return re.sub(r"\s+", " ", "".join(pieces(node))).strip()


def pieces(node: nodes.Node) -> list[str]:
    """Return the text in pieces, with a space after each block."""
    if isinstance(node, nodes.Text):
        return [node.astext()]
    if isinstance(node, nodes.math):
        return [plain_formula(node.astext())]
    if isinstance(node, nodes.math_block):
        return [" … "]
    if is_left_out(node):
        return [" "]
    found = [piece for child in node.children for piece in pieces(child)]
    return found if isinstance(node, nodes.Inline) else [*found, " "]


def is_left_out(node: nodes.Node) -> bool:
    """Say whether a node is something else than prose."""
    return (
        isinstance(node, LEFT_OUT)
        or type(node).__name__ in LEFT_OUT_NAMES
        or bool(LEFT_OUT_CLASSES & {*node.get("classes", ())})
    )


def explained(part: nodes.Node) -> Iterator[str]:
    """Yield what a passage explains.

    That is what it links to the glossary or sets in bold, and an abbreviation in
    brackets behind it.
    """
    if is_left_out(part) or isinstance(part, nodes.Admonition):
        return
    for link in part.findall(addnodes.pending_xref):
        if link["reftype"] == "term":
            yield link["reftarget"]
    for strong in part.findall(nodes.strong):
        in_caption = isinstance(strong.parent, nodes.caption)
        if not in_caption and len(strong.astext().split()) <= LONGEST_TERM:
            yield strong.astext()
            behind = strong.next_node(nodes.Text, descend=False, siblings=True)
            if behind and (short := re.match(r" \((\w+)", behind.astext())):
                yield short[1]


def plain_formula(latex: str) -> str:
    r"""Write a short formula as text: ``\sqrt{d_k}`` is √d_k."""
    text = re.sub(r"\\textcolor\{[^}]*\}", "", latex)
    text = re.sub(r"\\t?frac\{([^{}]*)\}\{([^{}]*)\}", r"\1/\2", text)
    text = re.sub(r"\\([a-zA-Z]+)", sign, text)
    text = re.sub(r"\\[,;! ]|~", " ", text).replace("^ᵀ", "ᵀ")
    return re.sub(r"[{}\\]", "", text).replace("-", "−")


def sign(command: re.Match[str]) -> str:
    """Return the sign or the words that a command of LaTeX stands for."""
    name = command[1]
    if name in SIGNS:
        return SIGNS[name]
    size = "SMALL" if name.islower() else "CAPITAL"
    try:
        return unicodedata.lookup(f"GREEK {size} LETTER {name.upper()}")
    except KeyError:  # an operator, such as \log and \tanh, or a font
        is_font = name.startswith(("math", "text", "operatorname", "bold"))
        return "" if is_font else name


# --- Sphinx ---


def replace_sphinx_search(app: Sphinx) -> None:
    """Let Sphinx write neither its own index nor its own page with results."""
    if app.builder.name == "html":
        app.builder.search = False


def setup(app: Sphinx) -> dict[str, bool]:
    """Register all of the above with Sphinx."""
    app.add_js_file("search.js", loading_method="defer")
    app.connect("builder-inited", replace_sphinx_search)
    app.connect("doctree-resolved", collect, priority=950)
    app.connect("build-finished", write)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
