"""Chapter 5: a translator whose heads are switched off, on a caption that is typed."""

from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.analysis.head_ablation import without_heads
from attnbook.core import results
from attnbook.course.kit.explorers.charts import Axis, Bars, Series, numbers
from attnbook.course.kit.explorers.controls import Menu, Switch, TextBox
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.shipped import checked_caption, shipped_translator
from attnbook.course.kit.explorers.token_maps import KINDS
from attnbook.course.kit.explorers.views import View
from attnbook.data.batching import IdPair, id_batch

LAYERS, HEADS = 4, 4
CAPTIONS = (
    "Two children are being watched by their mother.",
    "A woman in a red hat is reading a book.",
)
ALL = "all"
CONTROLS = {
    "caption": TextBox("English caption", CAPTIONS[0], CAPTIONS[1:]),
    "kind": Menu("attention", tuple(KINDS), "cross-attention"),
    "layer": Menu("layer", (*(str(n) for n in range(1, LAYERS + 1)), ALL), "4"),
    **{f"head_{n}": Switch(f"head {n} on", n != 3) for n in range(1, HEADS + 1)},
}


class Original(NamedTuple):
    """A caption, its translation by the complete model, and what the model thinks."""

    source: str
    text: str
    tokens: tuple[str, ...]  # T, EOS included
    log_p: Tensor  # (T,) of the tokens, in nats


class Cut(NamedTuple):
    """What is left without some heads."""

    text: str  # the translation
    drops: tuple[float, ...]  # T, of the log-probabilities of the original's tokens


def heads_off_view(caption: str, kind: str, layer: str, **heads: bool) -> View:
    """The translation of a caption without some heads of one attention."""
    original = translated(caption)
    off = [n for n, on in enumerate(heads.values()) if not on]  # from 0
    found = cut(original, kind, layer, off)
    return cut_view(original.text, original.tokens, off, found)


def stored_view(caption: str, kind: str, layer: str, **heads: bool) -> View:
    """The same for one of the captions, as it was once computed and stored."""
    stored = results.load("heads_off")["captions"][caption]
    off = [n for n, on in enumerate(heads.values()) if not on]
    found = Cut(stored["text"], (0.0,) * len(stored["tokens"]))
    if off:
        found = Cut(*stored["cuts"][kind][layer][" ".join(map(str, off))])
    return cut_view(stored["text"], tuple(stored["tokens"]), off, found)


explore_heads_off = Explorer(heads_off_view, CONTROLS, on_page=stored_view)


def cut(original: Original, kind: str, layer: str, off: Sequence[int]) -> Cut:
    """Translate without some heads, counted from 0, of one layer or of all."""
    translator = shipped_translator()
    layers = range(LAYERS) if layer == ALL else [int(layer) - 1]
    with ExitStack() as stack:
        for number in layers:
            name = KINDS[kind].module.format(number)
            module = translator.model.get_submodule(name)
            stack.enter_context(without_heads(module, off))
        [text] = translator([original.source])
        drops = original.log_p - token_log_p(original.source, original.text)
    return Cut(text, numbers(drops.tolist()))


def cut_view(
    text: str, tokens: tuple[str, ...], off: Sequence[int], found: Cut
) -> View:
    """What is said and drawn of a translation without some heads."""
    said = f"With all heads: {text}"
    if off:
        which = (
            f"Without head{'s' * (len(off) > 1)} {', '.join(str(n + 1) for n in off)}"
        )
        now = "the same translation." if found.text == text else found.text
        said += f" {which}: {now} The loss on this caption rises by "
        said += f"{fmean(found.drops):z.2f} nats per token."
    named = zip(tokens, found.drops, strict=True)
    alt = "Nats lost: " + "; ".join(f"{token} {x:z.2f}" for token, x in named) + "."
    return View(said, (drops_chart(tokens, found.drops),), alt)


@lru_cache(maxsize=16)
def translated(caption: str) -> Original:
    """Translate a caption with all heads; a switch does not compute it anew."""
    source = checked_caption(caption)
    translator = shipped_translator()
    [text] = translator([source])
    tokens = (*translator.subwords.pieces(text), "<eos>")
    return Original(source, text, tokens, token_log_p(source, text))


@torch.no_grad()
def token_log_p(source: str, text: str) -> Tensor:
    """The log-probability of each token of a translation, and of its end: (T,)."""
    translator = shipped_translator()
    subwords = translator.subwords
    batch = id_batch([IdPair(subwords.encode(source), subwords.encode(text))])
    log_p = translator.model(batch.src, batch.tgt_in).log_softmax(-1)[0]  # (T, V)
    return log_p.gather(1, batch.tgt_out.T).squeeze(1)  # (T,)


def drops_chart(tokens: tuple[str, ...], drops: Sequence[float]) -> Bars:
    """By how much the log-probability of each token falls, one bar each."""
    low, high = min(-0.1, 1.1 * min(drops)), max(1.0, 1.1 * max(drops))
    step = next(k for k in (0.5, 1, 2, 5, 10) if high <= 5 * k or k == 10)
    ticks = tuple(step * k for k in range(int(high / step) + 1))
    return Bars(
        tokens,
        Axis("log-probability lost, nats", *numbers([low, high]), ticks),
        (Series(tuple(drops), "target"),),
        role="target",
        height=100 + 29 * len(tokens),
    )
