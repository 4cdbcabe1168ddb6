"""Directives for models that run in the reader's browser.

    ```{live-model} bahdanau static_context
    :sentence: the old farmer sees a bird

    What stands below the figure.
    ```

Models of the toy language: the first one's attention is drawn, the others say their
translation beside it. If the first one has none, what it loses is crossed out.

    ```{live-translator} search
    :sentence: People are waiting at the station.
    :examples: A man bites a dog. | Two dogs run.
    :method: beam

    What stands below the figure.
    ```

The shipped translator, in one of `FORMS`; `light`, that of the front page, has a second
example, which the same model makes without attention; in `cache`, that of appendix A3,
the reader chooses what the decoder's cache keeps.

    ```{live-gaps} the old [M] sees a bird
    What stands below the figure.
    ```

The reader of appendix A1, which fills gaps.

    ```{train-here} no-mask
    What stands below the figure.
    ```

Two small Transformers that train in the page: a preset of
``attnbook/course/kit/playground/presets.toml``, or "free", where all can be chosen.

This side writes what stands there at first, and stays without JavaScript and in print,
from the templates in ``book/_templates``; the rest is in ``book/_static/live``. Only
pages with such a figure load its scripts (``book_setup``), and weights are loaded when
the reader asks.
"""

from __future__ import annotations

import hashlib
import json
import math
import re
from base64 import b64decode
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from dataclasses import asdict
from functools import cache
from pathlib import Path
from typing import Any

import torch
from docutils import nodes
from docutils.parsers.rst import directives
from jinja2 import Environment, FileSystemLoader, StrictUndefined
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from attnbook.analysis.head_ablation import without_heads
from attnbook.analysis.maps import attention_maps, cross_weights
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.a1.writing import MASK, TokenModel
from attnbook.course.kit.glosses import gloss_table
from attnbook.course.kit.html_tables import marked
from attnbook.course.kit.page_translator import (
    FOLDERS,
    PARTS,
    bytes_to_load,
    glosses,
    rounded_translator,
    translator_scripts,
    write_scripts,
)
from attnbook.course.kit.playground.data import PRESETS
from attnbook.course.kit.playground.presets import guess_of, page_data
from attnbook.course.kit.playground.setting import Setting
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.steps import token_log_probs
from attnbook.models.transformer import Transformer
from attnbook.nn.masks import key_mask
from attnbook.toy.data import SOURCE
from attnbook.toy.language import AND_TARGET, Pair, translate_by_rule
from attnbook.toy.metrics import attention_weights, greedy_translations
from attnbook.toy.models import load_toy_model
from attnbook.translation.evaluation import max_output_len

BOOK = Path(__file__).resolve().parents[1]
LIVE = BOOK / "_static" / "live"
templates = Environment(
    loader=FileSystemLoader(BOOK / "_templates"),
    autoescape=True,
    trim_blocks=True,
    lstrip_blocks=True,
    undefined=StrictUndefined,
)
templates.filters["marked"] = marked


def render(template: str, **given: Any) -> str:
    """Return a template of ``book/_templates``, filled in."""
    return templates.get_template(f"{template}.html").render(given)


def version_of(files: Iterable[Path], *texts: str) -> str:
    """Name the state of files and texts, so that a browser keeps no old ones."""
    digest = hashlib.sha256("".join(texts).encode())
    for path in sorted(files):
        digest.update(path.read_bytes())
    return digest.hexdigest()[:8]


class LiveFigure(SphinxDirective):
    """Puts a figure into the page, with its stored example, around the caption.

    The method `figure` of each kind returns the figure without its caption and end, or
    raises a ValueError if something is not as it must be.
    """

    required_arguments = 1
    final_argument_whitespace = True
    has_content = True

    def run(self) -> list[nodes.Node]:
        """Write the HTML around the caption."""
        try:
            opening = self.figure(self.arguments[0])
        except ValueError as problem:
            raise self.error(f"{self.name}: {problem}") from problem
        return [
            nodes.raw("", f"{opening}<figcaption>", format="html"),
            *self.parse_content_to_nodes(),
            nodes.raw("", "</figcaption></figure>", format="html"),
        ]


# --- Models of the toy language ---

TITLES = {
    "static_context": "Without attention",
    "bahdanau": "With attention",
    "transformer": "Transformer",
}
NO_MAP = "static_context"  # where it is the first, in chapter 1: no attention yet


class LiveModel(LiveFigure):
    """Models that translate the toy language."""

    option_spec = {"sentence": directives.unchanged_required}  # noqa: RUF012

    def figure(self, argument: str) -> str:
        """Check what was given, and return the figure."""
        names = argument.split()
        if unknown := [name for name in names if name not in TITLES]:
            raise ValueError(f"no model {unknown[0]!r}; choose among {[*TITLES]}")
        return model_figure(names, translate_by_rule(self.options.get("sentence", "")))


def model_figure(names: Sequence[str], pair: Pair) -> str:
    """Write what the models say, and a map.

    Args:
        names: Models; the attention of the first is drawn. If it has none, its words
            are glossed instead, and those that it loses are crossed out.
        pair: The sentence, with its right translation.
    """
    models = {name: load_toy_model(name).half().float() for name in names}
    said = {
        name: greedy_translations(model, [pair])[0] for name, model in models.items()
    }
    drawn, words = models[names[0]], said[names[0]]
    has_map, has_heads = names[0] != NO_MAP, isinstance(drawn, Transformer)
    titles = TITLES if has_map else {NO_MAP: "Its translation"}
    weigh = cross_weights if has_heads else attention_weights
    written = [Pair(pair.source, words, ())]
    weights = weigh(drawn, written)[0].tolist() if has_map else []  # (T, S)
    marked = mark if has_map else in_common
    found = zip(pair.alignment, in_common(pair.target, words), strict=True)
    return render(
        "live_model",
        titles=json.dumps({name: titles[name] for name in names}),
        sentence=" ".join(pair.source),
        version=version_of((LIVE / "data").glob("*.js")),
        layers=len(drawn.decoder) if has_heads else 0,
        heads=drawn.decoder[0].cross_attention.n_heads if has_heads else 0,
        gloss={} if has_map else gloss_table(),
        lost={place for place, good in found if not good},
        said=[
            (titles[name], [*zip(words, marked(words, pair.target), strict=True)])
            for name, words in said.items()
        ],
        right=pair.target,
        columns=(*pair.source, "<eos>"),
        rows=[
            (word, [round(100 * weight) for weight in row])
            for word, row in zip((*words, "<eos>"), weights, strict=has_map)
        ],
        framed=[*enumerate(pair.alignment)] if words == pair.target else [],
    )


def mark(said: Sequence[str], right: Sequence[str]) -> list[bool]:
    """Say which words are in their place: clause by clause, each word by word.

    The same as ``live.mark`` of ``language.js``.
    """
    expected = set(placed(right))
    return [place in expected for place in placed(said)]


def in_common(words: Sequence[str], others: Sequence[str]) -> list[bool]:
    """Say which words another text has, too, in the same order.

    The longest such list is the one that ``live.inCommon`` of ``language.js`` finds.
    """
    row: list[list[int]] = [[]] * (len(others) + 1)
    for i, word in enumerate(words):
        below: list[list[int]] = [[]]
        for j, other in enumerate(others):
            longer = max(row[j + 1], below[j], key=len)
            below.append([*row[j], i] if word == other else longer)
        row = below
    return [i in row[-1] for i in range(len(words))]


def placed(words: Sequence[str]) -> list[tuple[int, int, str]]:
    """Return each word with its clause and its place in the clause."""
    found = []
    clause = place = 0
    for word in words:
        found.append((clause, place if word != AND_TARGET else -1, word))
        clause, place = (clause + 1, 0) if word == AND_TARGET else (clause, place + 1)
    return found


# --- A model that fills gaps ---

GUESSES = 5  # as in gaps.js


class LiveGaps(LiveFigure):
    """The reader of appendix A1."""

    def figure(self, argument: str) -> str:
        """Return the figure with the reader's guesses for the gap of a sentence."""
        text = [*argument.split(), "<eos>"]
        words = [*SOURCE.words, "[M]"]
        ids = torch.tensor([[words.index(word) for word in text]])
        with torch.no_grad():
            logits = reader()(ids)[0, text.index("[M]"), :MASK]  # (V,)
        p, best = token_log_probs(logits).exp().topk(GUESSES)
        version = version_of((LIVE / "data").glob("*.js"))
        guesses = [*zip([words[i] for i in best], p.tolist(), strict=True)]
        return render("live_gaps", version=version, text=text, guesses=guesses)


@cache
def reader() -> TokenModel:
    """Read the model from the file that the page loads."""
    text = (LIVE / "data" / "reader.js").read_text(encoding="utf-8")
    spec = json.loads(text.removeprefix("live.receive(").removesuffix(");\n"))
    numbers = torch.frombuffer(bytearray(b64decode(spec["data"])), dtype=torch.float16)
    sizes = [math.prod(shape) for _, shape in spec["tensors"]]
    parts = zip(spec["tensors"], numbers.float().split(sizes), strict=True)
    model = TokenModel(key_mask)
    model.load_state_dict({path: part.view(shape) for (path, shape), part in parts})
    return model.eval()


# --- The translator ---

FORMS = ("light", "caption", "search", "cache")
METHODS = ("greedy", "beam", "sample")
WIDTH, ALPHA = 4, 0.6  # of the stored beam search: beam_search's own, as in view.js
SEEN = 0.03  # a line of less weight is left out, as in links.js

translator = cache(rounded_translator)


class LiveTranslator(LiveFigure):
    """The shipped translator."""

    option_spec = {  # noqa: RUF012
        "sentence": directives.unchanged_required,
        "examples": directives.unchanged,
        "method": lambda argument: directives.choice(argument, METHODS),
    }

    def figure(self, argument: str) -> str:
        """Check what was given, and return the figure."""
        sentence = self.options.get("sentence", "")
        if argument not in FORMS or not sentence:
            raise ValueError(
                f"the form is {argument!r}: choose among {', '.join(FORMS)}, and give "
                "an English :sentence:"
            )
        examples = [e.strip() for e in self.options.get("examples", "").split("|")]
        method = self.options.get("method", "greedy")
        return translator_figure(argument, sentence, [*filter(None, examples)], method)


def translator_figure(
    form: str, sentence: str, examples: Sequence[str], method: str = "greedy"
) -> str:
    """Write a translation, and its lines.

    Args:
        form: One of `FORMS`.
        sentence: English.
        examples: More sentences, offered as buttons.
        method: One of `METHODS`.
    """
    model, config = translator().model, translator().config
    src = torch.tensor([[*translator().subwords.encode(sentence), EOS]])
    longest = max_output_len(src.shape[1])
    found = beam_search(model, src, longest, WIDTH, ALPHA)
    ids = found.ids[0, 0] if method == "beam" else greedy(model, src, longest)[0]
    ids = [i for i in ids.tolist() if i]
    weights = mean_weights(src, ids)
    return render(
        "live_translator",
        form=form,
        method=method,
        sentence=sentence,
        examples=examples,
        layers=config.n_layers,
        heads=config.n_heads,
        german=glossed(ids),
        without=glossed(without_attention(src, longest)) if form == "light" else [],
        pair=pair() if form == "light" else [],
        hypotheses=[
            (translator().subwords.decode(ids), f"{score:.2f}".replace("-", "−"))
            for ids, score in zip(found.ids[0].tolist(), found.scores[0], strict=True)
            if method == "beam" and score > -torch.inf
        ],
        width=WIDTH,
        alpha=ALPHA,
        source=labels(src[0].tolist(), form),
        target=labels(ids, form),
        lines=[
            (i, j, w)
            for i, row in enumerate(weights)
            for j, w in enumerate(row)
            if w >= SEEN
        ],
    )


def mean_weights(src: torch.Tensor, ids: list[int]) -> list[list[float]]:
    """The attention to the source, (T, S): the mean over all heads from layer 2 on."""
    maps = attention_maps(translator().model, src, torch.tensor([[BOS, *ids[:-1]]]))
    cross = [w[0] for name, w in maps.items() if name.endswith("cross_attention")]
    return torch.stack(cross[1:]).mean((0, 1)).tolist()


def without_attention(src: torch.Tensor, longest: int) -> list[int]:
    """What the same model makes if its attention to the English gives nothing."""
    model = translator().model
    with ExitStack() as cut:
        for layer in model.decoder:
            attention = layer.cross_attention
            cut.enter_context(without_heads(attention, range(attention.n_heads)))
        return [i for i in greedy(model, src, longest)[0].tolist() if i]


BITES = "A man bites a dog.", "A dog bites a man."


def pair() -> list[tuple[str, list[tuple[str, str]]]]:
    """Two sentences of the same words, translated with their order and without."""
    return [
        ("ordered", [(english, german(english)) for english in BITES]),
        ("shuffled", [(english, german(english, ordered=False)) for english in BITES]),
    ]


def german(english: str, *, ordered: bool = True) -> str:
    """Translate greedily, with the positions of the English words or without them."""
    model, subwords = translator().model, translator().subwords
    src = torch.tensor([[*subwords.encode(english), EOS]])

    def kept(_: Any, given: tuple, named: dict, made: torch.Tensor) -> torch.Tensor:
        return made if ordered or named else given[0]

    # Of the two halves, only the one that writes names its position.
    with model.positions.register_forward_hook(kept, with_kwargs=True):
        ids = greedy(model, src, max_output_len(src.shape[1]))[0].tolist()
    return subwords.decode(ids)


def pieces_of(ids: list[int]) -> list[str]:
    """Write tokens as subwords."""
    return [translator().subwords.tokenizer.id_to_token(i) for i in ids]


def glossed(ids: list[int]) -> list[tuple[list[tuple[str, int]], str]]:
    """Return German words, each as its parts with their steps, and its gloss."""
    words: list[list[tuple[str, int]]] = []
    for step, piece in enumerate(pieces_of(ids)):
        if piece.startswith("<"):
            continue
        if piece.startswith("▁") or not words:
            words.append([])
        words[-1].append((piece.removeprefix("▁"), step))
    return [(parts, gloss("".join(text for text, _ in parts))) for parts in words]


def gloss(word: str) -> str:
    """The English word for a German one; "?" for what the training's captions lack."""
    bare = re.sub(r"^[\W_]+|[\W_]+$", "", word.lower())
    table = glosses()
    return table.get(bare, "?") if bare and table else ""


def labels(ids: list[int], form: str) -> list[str]:
    """Name subwords as view.js does; the readers of the front page know no tokens."""
    end = "(end)" if form == "light" else "<eos>"
    return [end if piece == "<eos>" else label(piece) for piece in pieces_of(ids)]


def label(piece: str) -> str:
    """A subword as it is written: what goes on a word begins with a dot."""
    if piece.startswith("▁"):
        return piece[1:] or "␣"
    return f"·{piece}" if piece[0].isalnum() else piece


@cache
def translator_data() -> dict[str, str]:
    """What the engine is told about the files with the weights."""
    texts = (text for name in FOLDERS for text in translator_scripts(name).values())
    return {
        "data-parts": str(PARTS),
        "data-bytes": str(bytes_to_load()),
        "data-back": str(bytes_to_load("back")),
        "data-version": version_of((), *texts),
    }


# --- Models that train ---

PAGE = "book/playground"
TOLD = {  # how a setting is said under the question; what is off is left out
    "layers": "{} layers",
    "heads": "{} heads",
    "key_width": "d_k = {}",
    "width": "D = {}",
    "positions": "{} positions",
    "causal": "causal mask",
    "skip": "skip connections",
    "norm": "norm {}",
    "feed_forward": "feed-forward networks",
    "rate": "a learning rate that falls from {} to 0",
    "steps": "{} steps",
}
PLAINLY = {
    "1 layers": "one layer",
    "1 heads": "one head",
    "none positions": "no positions",
    "norm none": "no norm",
}


class TrainHere(LiveFigure):
    """Two models that train side by side, and a question about them."""

    def figure(self, argument: str) -> str:
        """Check what was given, and return the figure."""
        if argument not in (*PRESETS, "free"):
            raise ValueError(
                f"no preset {argument!r}; choose among {[*PRESETS, 'free']}"
            )
        page = self.env.app.builder.get_relative_uri(self.env.docname, PAGE)
        preset = page_data()["presets"].get(argument)
        return render(
            "train_here",
            name=argument,
            page=page,
            version=version_of(
                (LIVE / "playground").glob("*.js"), json.dumps(page_data())
            ),
            preset=preset,
            options=page_data()["options"],
            dares=page_data()["dares"],
            shared=shared_settings(preset) if preset else "",
            chart=stored_chart(preset) if preset else {},
        )


def shared_settings(preset: dict[str, Any]) -> str:
    """Say how the two models are built and trained, but for what sets them apart."""
    differing = {key for run in preset["runs"] for key in run["setting"]}
    setting = asdict(Setting(**preset["setting"]))
    said = [
        text.format(setting[key])
        for key, text in TOLD.items()
        if key not in differing and setting[key]
    ]
    return ", ".join(PLAINLY.get(words, words) for words in said)


def stored_chart(preset: dict[str, Any]) -> dict[str, Any]:
    """Return the geometry of the stored runs' chart, with that of view.js.

    The mean of the runs is a line, and their range a band. The highest loss is above
    guessing, and above what the runs reach.
    """
    width, height, left = 380, 210, 34
    right, base = width - 12, height - 34
    guess = guess_of(preset["setting"]["task"])
    reached = max(stored["mean"][-1] for stored in preset["stored"])
    top = max(1.4 * guess, 1.2 * reached)

    def y(loss: float) -> float:
        return round(base - (base - 12) * min(loss, top) / top, 1)

    def line(losses: Sequence[float]) -> list[str]:
        step = (right - left) / len(losses)
        return [f"{left + (i + 0.5) * step:.0f} {y(x)}" for i, x in enumerate(losses)]

    return {
        **{"width": width, "height": height},
        **{"left": left, "right": right, "base": base},
        "grid": [(loss, y(loss)) for loss in range(0, int(top) + 1, 1 + (top >= 6))],
        "guess": y(guess),
        "means": ["L".join(line(run["mean"])) for run in preset["stored"]],
        "bands": [
            "L".join(line(run["low"]) + line(run["high"])[::-1])
            for run in preset["stored"]
        ],
    }


def write_data(app: Sphinx, exception: Exception | None) -> None:
    """Write what the pages' scripts get from Python, next to them."""
    if exception or app.builder.format != "html":
        return
    folder = Path(app.outdir) / "_static" / "live"
    write_scripts(folder / "translator" / "data")
    text = f"globalThis.playgroundData = {json.dumps(page_data())};\n"
    (folder / "playground" / "data.js").write_text(text, encoding="utf-8")


def setup(app: Sphinx) -> dict[str, bool]:
    """Register the directives with Sphinx."""
    app.add_directive("live-model", LiveModel)
    app.add_directive("live-gaps", LiveGaps)
    app.add_directive("live-translator", LiveTranslator)
    app.add_directive("train-here", TrainHere)
    app.connect("build-finished", write_data)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
