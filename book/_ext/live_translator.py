"""The directive ``live-translator``: the shipped translator in the reader's browser.

    ```{live-translator} search
    :sentence: People are waiting at the station.
    :examples: A man bites a dog. | Two dogs run.
    :method: beam

    What stands below the figure.
    ```

Forms are ``light`` (the front page), ``caption`` and ``search``. This side writes the
example that stands there at first, and stays without JavaScript and in print, and the
files with the weights, also of a second model, which translates back; the rest is in
``book/_static/live/translator``. The light form has a second example, which the same
model makes without attention. A page loads the engine if ``data-translator`` stands in
it, and a model's weights when the reader asks.
"""

from __future__ import annotations

import hashlib
import json
import re
from contextlib import ExitStack
from functools import cache
from html import escape
from pathlib import Path
from typing import Any

import torch
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.analysis.head_ablation import without_heads
from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.kit.page_translator import (
    FOLDERS,
    PARTS,
    bytes_to_load,
    glosses,
    rounded_translator,
    translator_scripts,
    write_scripts,
)
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.translation.evaluation import max_output_len

MARK = "data-translator"
LOADS = (
    *("live/numbers", "live/transformer", "live/map"),
    *(f"live/translator/{n}" for n in ("subwords", "search", "engine")),
    *(f"live/translator/{n}" for n in ("links", "tree", "stored", "view")),
)
FORMS = ("light", "caption", "search")
METHODS = ("greedy", "beam", "sample")
WIDTH, ALPHA = 4, 0.6  # of the stored beam search: beam_search's own, as in view.js
SEEN = 0.03  # a line of less weight is left out, as in links.js

translator = cache(rounded_translator)


def _method(argument: str) -> str:
    return directives.choice(argument, METHODS)


class LiveTranslator(SphinxDirective):
    """Puts the figure into the page, with its stored example."""

    required_arguments = 1
    has_content = True
    option_spec = {  # noqa: RUF012
        "sentence": directives.unchanged_required,
        "examples": directives.unchanged,
        "method": _method,
    }

    def run(self) -> list[nodes.Node]:
        """Check what was given and write the HTML around the caption."""
        form, sentence = self.arguments[0], self.options.get("sentence", "")
        if form not in FORMS or not sentence:
            raise self.error(
                f"live-translator {form!r}: choose among {', '.join(FORMS)}, and give "
                "an English :sentence:"
            )
        examples = [e.strip() for e in self.options.get("examples", "").split("|")]
        opening = stored_example(
            form, sentence, [*filter(None, examples)], self.options.get("method")
        )
        caption = self.parse_content_to_nodes()
        return [
            nodes.raw("", f"{opening}<figcaption>", format="html"),
            *caption,
            nodes.raw("", "</figcaption></figure>", format="html"),
        ]


def stored_example(
    form: str, sentence: str, examples: list[str], method: str | None = None
) -> str:
    """Write the figure without its caption and end: a translation, and its lines.

    Args:
        form: One of :data:`FORMS`.
        sentence: English.
        examples: More sentences, offered as buttons.
        method: One of :data:`METHODS`, by default greedy.
    """
    method = method or "greedy"
    model = translator().model
    src = torch.tensor([[*translator().subwords.encode(sentence), EOS]])
    longest = max_output_len(src.shape[1])
    found = beam_search(model, src, longest, WIDTH, ALPHA)
    ids = found.ids[0, 0] if method == "beam" else greedy(model, src, longest)[0]
    ids = [i for i in ids.tolist() if i]
    source, pieces = pieces_of(src[0].tolist()), pieces_of(ids)
    weights = mean_weights(src, ids)
    config = translator().config
    size = f'data-layers="{config.n_layers}" data-heads="{config.n_heads}"'
    caption, without, target = CAPTION, "", pieces
    if form == "light":
        source, target = named_end(source), named_end(pieces)
        caption, size = LIGHT_CAPTION, ""
        without = without_attention(src, longest)
    return f"""<figure class="live-model live-translator tr-{form}" {MARK}
data-form="{form}" data-method="{method}" data-sentence="{escape(sentence)}"
data-examples="{escape(json.dumps(examples))}" {size}>
<div class="tr-said"><p class="tr-english">{escape(sentence)}</p>
{glossed(pieces)}</div>
{hypotheses(found) if method == "beam" else ""}
<p class="live-caption">{caption}</p>
<div class="live-map">{links(source, target, weights)}</div>
{without}
<noscript><p>With JavaScript switched on, you translate sentences of your own
here.</p></noscript>
"""


CAPTION = """A word on the right attends to those on the left as it is generated. The
wider a line, the larger the weight (mean of several heads)."""
LIGHT_CAPTION = "The wider a line, the more the German word looks at the English one."


def pieces_of(ids: list[int]) -> list[str]:
    """Write tokens as subwords."""
    return [translator().subwords.tokenizer.id_to_token(i) for i in ids]


def mean_weights(src: torch.Tensor, ids: list[int]) -> list[list[float]]:
    """The attention to the source, (T, S): the mean over all heads from layer 2 on."""
    maps = attention_maps(translator().model, src, torch.tensor([[BOS, *ids[:-1]]]))
    cross = [w[0] for name, w in maps.items() if name.endswith("cross_attention")]
    return torch.stack(cross[1:]).mean((0, 1)).tolist()


def named_end(pieces: list[str]) -> list[str]:
    """Name the end of a sentence as view.js does, for readers who know no tokens."""
    return ["▁(end)" if piece == "<eos>" else piece for piece in pieces]


def without_attention(src: torch.Tensor, longest: int) -> str:
    """Write what the same model makes if its attention to the English gives nothing.

    Below it, view.js puts the controls.
    """
    model = translator().model
    with ExitStack() as cut:
        for layer in model.decoder:
            attention = layer.cross_attention
            cut.enter_context(without_heads(attention, range(attention.n_heads)))
        ids = [i for i in greedy(model, src, longest)[0].tolist() if i]
    german = glossed(pieces_of(ids))
    return f"""<template class="tr-without">{german}</template>
<div class="tr-place"></div>"""


def hypotheses(found: Any) -> str:
    """Write the translations that a beam search has found, with their scores."""
    rows = "".join(
        f'<tr><td lang="de">{escape(translator().subwords.decode(ids))}</td>'
        f"<td>{score:.2f}</td></tr>".replace("-", "−")
        for ids, score in zip(found.ids[0].tolist(), found.scores[0], strict=True)
        if score > -torch.inf
    )
    return f"""<div class="tr-tree tr-stored"><table class="tr-hypotheses"><thead><tr>
<th scope="col">Found by beam search, W = {WIDTH}, α = {ALPHA}</th>
<th scope="col">score</th></tr></thead><tbody>{rows}</tbody></table></div>"""


def glossed(pieces: list[str]) -> str:
    """Write German words, each with its gloss below, and the step that completes it."""
    words: list[tuple[str, int]] = []
    for step, piece in enumerate(pieces):
        if piece.startswith("<"):
            continue
        if piece.startswith("▁") or not words:
            words.append(("", step))
        words[-1] = (words[-1][0] + piece.removeprefix("▁"), step)
    spans = "".join(
        f'<span class="tr-word" data-step="{step}">'
        f'<span lang="de">{escape(word)}</span>'
        f'<span class="tr-gloss">{escape(gloss(word)) or "&nbsp;"}</span></span>'
        for word, step in words
    )
    return f'<p class="tr-german">{spans}</p>'


def gloss(word: str) -> str:
    """The English word for a German one; "?" for what the training's captions lack."""
    bare = re.sub(r"^[\W_]+|[\W_]+$", "", word.lower())
    table = glosses()
    return table.get(bare, "?") if bare and table else ""


def label(piece: str) -> str:
    """A subword as it is written: what goes on a word begins with a dot."""
    if piece.startswith("▁"):
        return piece[1:] or "␣"
    return f"·{piece}" if piece[0].isalnum() else piece


def links(source: list[str], target: list[str], weights: list[list[float]]) -> str:
    """Write two columns of words and the lines between them, as links.js does."""
    height = max(len(source), len(target))

    def column(pieces: list[str], name: str) -> str:
        items = "".join(
            f"<li{f' data-step={step}' * (name == 'live-target')}>"
            f"{escape(label(piece))}</li>"
            for step, piece in enumerate(pieces)
        )
        return f'<ol class="{name}">{items}</ol>'

    lines = "".join(
        f'<line x1="0" y1="{j + 0.5}" x2="100" y2="{i + 0.5}" data-step="{i}" '
        f'style="--weight: {w:.3f}"></line>'
        for i, row in enumerate(weights)
        for j, w in enumerate(row)
        if w >= SEEN
    )
    return f"""<div class="tr-links" style="--rows: {height}">
{column(source, "live-source")}<svg viewBox="0 0 100 {height}"
preserveAspectRatio="none" aria-hidden="true">{lines}</svg>
{column(target, "live-target")}</div>"""


@cache
def version() -> str:
    """Name the state of the weights' files, so that a browser keeps no old ones."""
    texts = (text for name in FOLDERS for text in translator_scripts(name).values())
    digest = hashlib.sha256("".join(texts).encode())
    return digest.hexdigest()[:8]


def add_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let a page that runs the translator load its scripts and style; no other page."""
    if MARK not in context.get("body", ""):
        return
    for name in ("live/live.css", "live/translator/translator.css"):
        app.add_css_file(name)
    given = {
        "data-parts": str(PARTS),
        "data-bytes": str(bytes_to_load()),
        "data-back": str(bytes_to_load("back")),
        "data-version": version(),
    }
    for name in LOADS:
        more = given if name.endswith("/engine") else {}
        app.add_js_file(f"{name}.js", loading_method="defer", **more)


def write_weights(app: Sphinx, exception: Exception | None) -> None:
    """Write the files with the weights, next to the scripts that load them."""
    if exception or app.builder.format != "html":
        return
    write_scripts(Path(app.outdir) / "_static" / "live" / "translator" / "data")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("live-translator", LiveTranslator)
    app.connect("html-page-context", add_files)
    app.connect("build-finished", write_weights)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
