"""Chapter 5: a translator whose heads are switched off, on a caption that is typed."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import ExitStack
from functools import lru_cache
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.analysis.head_ablation import without_heads
from attnbook.course.kit.colours import COLOURS, INK, TEXT_COLOURS
from attnbook.course.kit.explorers.controls import Menu, Switch, TextBox
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.shipped import checked_caption, shipped_translator
from attnbook.course.kit.explorers.token_maps import KINDS
from attnbook.course.kit.explorers.views import View
from attnbook.data.batching import IdPair, id_batch

LAYERS, HEADS = 4, 4
SENTENCE = "Two children are being watched by their mother."
ALL = "all"
CONTROLS = {
    "caption": TextBox("English caption", SENTENCE),
    "kind": Menu("attention", tuple(KINDS), "cross-attention"),
    "layer": Menu("layer", (*(str(n) for n in range(1, LAYERS + 1)), ALL), "4"),
    **{f"head_{n}": Switch(f"head {n} on", n != 3) for n in range(1, HEADS + 1)},
}
CAPTION = (
    "**Most heads can be switched off one at a time without changing the "
    "translation.** Bars: the drop in the log-probability of each token of the "
    "translation made with all heads; a bar to the left is a rise."
)


class Original(NamedTuple):
    """A caption, its translation by the complete model, and what the model thinks."""

    source: str
    text: str
    tokens: tuple[str, ...]  # T, EOS included
    log_p: Tensor  # (T,) of the tokens, in nats


def explore_heads_off() -> object:
    """Let the reader switch off heads; see :func:`~.explorer.explore`.

    The model is the trained one that comes with the package.
    """
    return explore(heads_off_view, CONTROLS, caption=CAPTION)


def heads_off_view(caption: str, kind: str, layer: str, **heads: bool) -> View:
    """The translation of a caption without some heads of one attention."""
    original = translated(caption)
    off = [n for n, on in enumerate(heads.values()) if not on]  # from 0
    translator = shipped_translator()
    layers = range(LAYERS) if layer == ALL else [int(layer) - 1]
    with ExitStack() as stack:
        for number in layers:
            name = KINDS[kind].module.format(number)
            module = translator.model.get_submodule(name)
            stack.enter_context(without_heads(module, off))
        [text] = translator([original.source])
        drops = original.log_p - token_log_p(original.source, original.text)
    said = f"With all heads: {original.text}"
    if off:
        which = (
            f"Without head{'s' * (len(off) > 1)} {', '.join(str(n + 1) for n in off)}"
        )
        found = "the same translation." if text == original.text else text
        said += f" {which}: {found} The loss on this caption rises by "
        said += f"{drops.mean():z.2f} nats per token."

    named = zip(original.tokens, drops.tolist(), strict=True)
    alt = "Nats lost: " + "; ".join(f"{token} {x:.2f}" for token, x in named) + "."
    return View(said, drop_figure(original.tokens, drops), alt)


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


def drop_figure(tokens: Sequence[str], drops: Tensor) -> Figure:
    """Draw by how much the log-probability of each token falls, one bar each."""
    rows = range(len(tokens))
    fig, ax = plt.subplots(figsize=(5.5, 1 + 0.29 * len(tokens)))
    ax.barh(rows, drops.tolist(), color=COLOURS["target"], height=0.6)
    ax.axvline(0, color=INK, linewidth=1)
    low, high = min(0.0, drops.min().item()), max(0.0, drops.max().item())
    ax.set_xlim(min(1.1 * low, -0.1), max(1.1 * high, 1.0))
    ax.set_yticks(rows, tokens, color=TEXT_COLOURS["target"])
    ax.set_ylim(len(tokens) - 0.4, -0.6)  # the first token on top
    ax.tick_params("y", length=0)
    ax.set_xlabel("log-probability lost, nats")
    return fig
