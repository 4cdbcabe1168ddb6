"""Chapter 12: where the translator's cross-attention looks."""

from __future__ import annotations

from typing import NamedTuple

import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.analysis.maps import attention_maps
from attnbook.core import results
from attnbook.data.batching import IdPair, id_batch
from attnbook.pages.explorers.token_maps import Tokens, token_map
from attnbook.translation.translator import Translator


class TranslationWeights(NamedTuple):
    """A sentence, its translation and the weights between them."""

    source: list[str]  # S subwords, EOS included
    target: list[str]  # T
    weights: Tensor  # (L, H, T, S) of the decoder's cross-attentions


def translate_with_weights(translator: Translator, sentence: str) -> TranslationWeights:
    """Translate a sentence, and ask every cross head where it looked.

    Args:
        translator: The model and its subwords.
        sentence: Plain text.
    """
    subwords = translator.subwords
    [said] = translator([sentence])
    pair = IdPair(subwords.encode(sentence), subwords.encode(said))
    batch = id_batch([pair])
    maps = attention_maps(translator.model, batch.src, batch.tgt_in)
    cross = [w[0] for name, w in maps.items() if name.endswith("cross_attention")]
    return TranslationWeights(
        [*subwords.pieces(sentence), "<eos>"],
        [*subwords.pieces(said), "<eos>"],
        torch.stack(cross),
    )


def map_figure(found: TranslationWeights) -> Figure:
    """Draw the mean of all cross heads, (T, S)."""
    tokens = Tokens(tuple(found.source), (), tuple(found.target))
    return token_map(found.weights.mean((0, 1)), tokens, "cross-attention")


def print_heads() -> None:
    """Print how often each cross head looks where Model 1 aligns."""
    found = results.load("multi30k_probes")
    for layer, shares in enumerate(found["heads"], start=1):
        print(f"layer {layer}, by head:", *(f"{share:4.0%}" for share in shares))
    best = max(map(max, found["heads"]))
    print(
        f"best single head {best:.0%}, mean of all heads' weights {found['mean']:.0%}"
    )
    print(f"the diagonal, without a model {found['diagonal']:.0%}")
