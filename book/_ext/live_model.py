"""The directive ``live-model``: a trained model that runs in the reader's browser.

    ```{live-model} bahdanau static_context
    :sentence: the old farmer sees a bird

    What stands below the figure.
    ```

The first model's attention is drawn; the others say their translation beside it. This
side writes the example that stands there at first, and stays without JavaScript; the
rest is in ``book/_static/live``.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from html import escape
from pathlib import Path
from typing import Any

import torch
from docutils import nodes
from docutils.parsers.rst import directives
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.analysis.maps import cross_weights
from attnbook.models.transformer import Transformer
from attnbook.toy.language import AND_TARGET, Pair, translate_by_rule
from attnbook.toy.metrics import attention_weights, greedy_translations
from attnbook.toy.models import load_toy_model

LIVE = Path(__file__).resolve().parents[1] / "_static" / "live"
SCRIPTS = ("numbers", "recurrent", "transformer", "language", "map", "widget")
TITLES = {
    "static_context": "Without attention",
    "bahdanau": "With attention",
    "transformer": "Transformer",
}
MEAN = ", mean of several heads"  # as map.js writes it


class LiveModel(SphinxDirective):
    """Puts the figure into the page, with its stored example."""

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True
    option_spec = {"sentence": directives.unchanged_required}  # noqa: RUF012

    def run(self) -> list[nodes.Node]:
        """Check what was given and write the HTML around the caption."""
        names = self.arguments[0].split()
        unknown = [name for name in names if name not in TITLES]
        if unknown:
            raise self.error(f"no live model {unknown[0]!r}; choose among {[*TITLES]}")
        try:
            pair = translate_by_rule(self.options.get("sentence", ""))
        except ValueError as problem:
            raise self.error(f"option 'sentence': {problem}") from problem
        opening = f"{stored_example(names, pair)}<figcaption>"
        caption = self.parse_content_to_nodes()
        return [_html(opening), *caption, _html("</figcaption></figure>")]


def _html(text: str) -> nodes.raw:
    return nodes.raw("", text, format="html")


def stored_example(names: Sequence[str], pair: Pair) -> str:
    """Write the figure without its caption and end: what the models say, and a map.

    Args:
        names: Models; the first has attention, which is drawn.
        pair: The sentence, with its right translation.
    """
    sentence = " ".join(pair.source)
    models = {name: load_toy_model(name).half().float() for name in names}
    said = {
        name: greedy_translations(model, [pair])[0] for name, model in models.items()
    }
    rows = "".join(
        f'<dt>{TITLES[name]}</dt><dd><span lang="art-x-toy">'
        f"{_marked(words, pair.target)}</span>"
        f'<span class="live-score">{_score(words, pair.target)}</span></dd>'
        for name, words in said.items()
    )
    titles = json.dumps({name: TITLES[name] for name in names})
    drawn, words = models[names[0]], said[names[0]]
    alignment = pair.alignment if words == pair.target else ()
    of_heads = isinstance(drawn, Transformer)
    return f"""<figure class="live-model" data-models="{escape(titles)}"
data-sentence="{escape(sentence)}" data-version="{version()}"{_maps(drawn)}>
<div class="live-said" role="status"><p>An example: <em>{escape(sentence)}</em></p>
<dl>{rows}<dt>Right</dt>
<dd><span lang="art-x-toy">{" ".join(pair.target)}</span></dd></dl></div>
<p class="live-caption">Attention weights in hundredths{MEAN * of_heads}. One row per
query, one column per token attended to. The query of a row comes from the token before
it.{" A frame marks the word that is translated." * bool(alignment)}</p>
<div class="live-map" tabindex="0" role="region" aria-label="Attention map">
{attention_table(drawn, Pair(pair.source, words, alignment))}
</div>
<noscript><p>With JavaScript switched on, you translate sentences of your own
here.</p></noscript>
"""


def _maps(model: torch.nn.Module) -> str:
    """Say how many layers and heads there are to choose from."""
    if not isinstance(model, Transformer):
        return ""
    heads = model.decoder[0].cross_attention.n_heads
    return f' data-layers="{len(model.decoder)}" data-heads="{heads}"'


def attention_table(model: torch.nn.Module, pair: Pair) -> str:
    """Write where a model looks while it says the target of a pair; frame its words."""
    weigh = cross_weights if isinstance(model, Transformer) else attention_weights
    weights = weigh(model, [pair])[0]  # (T, S)
    columns = "".join(
        f'<th scope="col" class="live-source"><span>{escape(word)}</span></th>'
        for word in (*pair.source, "<eos>")
    )
    frames = {(i, j) for i, j in enumerate(pair.alignment)}
    words = zip((*pair.target, "<eos>"), weights.tolist(), strict=True)
    rows = "\n".join(
        f'<tr><th scope="row" class="live-target">{escape(word)}</th>'
        + "".join(_cell(w, framed=(i, j) in frames) for j, w in enumerate(row))
        + "</tr>"
        for i, (word, row) in enumerate(words)
    )
    return f"""<table aria-label="Attention map">
<thead><tr><td></td>{columns}</tr></thead>
<tbody>
{rows}
</tbody></table>"""


def _cell(weight: float, *, framed: bool) -> str:
    percent = round(100 * weight)
    named = ' class="live-aligned"' * framed
    return f'<td{named} style="--weight: {percent}">{percent}</td>'


def mark(said: Sequence[str], right: Sequence[str]) -> list[bool]:
    """Say which words are in their place: clause by clause, each word by word.

    The same as ``live.mark`` of ``language.js``.
    """
    expected = set(_placed(right))
    return [place in expected for place in _placed(said)]


def _placed(words: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return each word with its clause and its place in the clause."""
    placed = []
    clause = place = 0
    for word in words:
        placed.append((clause, place if word != AND_TARGET else -1, word))
        clause, place = (clause + 1, 0) if word == AND_TARGET else (clause, place + 1)
    return placed


def _marked(said: Sequence[str], right: Sequence[str]) -> str:
    return " ".join(
        word if good else f"<s>{word}</s>"
        for word, good in zip(said, mark(said, right), strict=True)
    )


def _score(said: Sequence[str], right: Sequence[str]) -> str:
    return f"{sum(mark(said, right))} of {len(right)} words right"


def version() -> str:
    """Name the state of the models' files, so that a browser keeps no old ones."""
    digest = hashlib.sha256()
    for path in sorted((LIVE / "data").glob("*.js")):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


def add_files(
    app: Sphinx, page: str, template: str, context: dict[str, Any], doctree: Any
) -> None:
    """Let a page with a live model load its scripts and its style; no other page."""
    body = context.get("body", "")
    if 'class="live-model' not in body:
        return
    app.add_css_file("live/live.css")
    for name in SCRIPTS:
        app.add_js_file(f"live/{name}.js", loading_method="defer")
    if "live-clicks" in body:
        app.add_js_file("live/ch02_clicks.js", loading_method="defer")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directive with Sphinx."""
    app.add_directive("live-model", LiveModel)
    app.connect("html-page-context", add_files)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
