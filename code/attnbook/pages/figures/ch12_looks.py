"""Chapter 12: where the translator looks, what it knows, what its parts are worth."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.analysis.maps import attention_maps
from attnbook.core import results
from attnbook.data.batching import IdPair, id_batch
from attnbook.experiments.toy_ablation import CHANGES
from attnbook.pages.style import COLOURS, INK, TEXT_COLOURS, WEIGHTS, label_lines
from attnbook.translation.translator import Translator

GREY = "#8C959F"


class Look(NamedTuple):
    """A sentence, its translation and the weights between them."""

    source: list[str]  # S subwords, EOS included
    target: list[str]  # T
    weights: Tensor  # (L, H, T, S) of the decoder's cross-attentions


def look(translator: Translator, sentence: str) -> Look:
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
    return Look(
        [*subwords.pieces(sentence), "<eos>"],
        [*subwords.pieces(said), "<eos>"],
        torch.stack(cross),
    )


def map_figure(found: Look) -> Figure:
    """Draw the mean of all cross heads, (T, S)."""
    weights = found.weights.mean((0, 1))
    fig, ax = plt.subplots(figsize=(5.5, 1.7 + 0.3 * len(found.target)))
    ax.imshow(weights.numpy(), cmap=WEIGHTS, vmin=0, vmax=1, aspect="auto")
    ax.xaxis.tick_top()
    ax.set_xticks(
        range(len(found.source)),
        found.source,
        rotation=60,
        ha="left",
        rotation_mode="anchor",
        color=TEXT_COLOURS["source"],
    )
    ax.set_yticks(range(len(found.target)), found.target, color=TEXT_COLOURS["target"])
    ax.tick_params(length=0)
    return fig


# Parts and their worth


def print_ablation() -> None:
    """Print mean and range of the seeds of ``toy_ablation``."""
    stored = results.load("toy_ablation")
    print(f"{'':18}{'exact match, %':27}validation loss")
    for name in CHANGES:
        runs = [run for run in stored["runs"] if run["change"] == name]
        shares = [100 * run["exact"]["2"] for run in runs]
        losses = [run["validation_loss"] for run in runs]
        print(f"{name:18}{_range(shares, '.0f'):27}{_range(losses, '.3f')}")


def _range(values: Sequence[float], form: str) -> str:
    mean, low, high = (f"{x:{form}}" for x in (fmean(values), min(values), max(values)))
    return f"{mean} ({low}–{high})"


# What the layers know


def probes_figure() -> Figure:
    """Draw what linear probes read off each layer: ``multi30k_probes``."""
    probes = results.load("multi30k_probes")["probes"]
    colours = {
        "itself": COLOURS["source"],
        "its translation": COLOURS["target"],
        "the one before": GREY,
        "the one after": INK,
    }
    fig, ax = plt.subplots(figsize=(5.5, 3.8))
    for name, colour in colours.items():
        splits = [p["by_layer"] for p in probes if p["label"] == name]
        means = [100 * fmean(layer) for layer in zip(*splits, strict=True)]
        ax.plot(range(len(means)), means, marker="o", color=colour, label=name)
    ax.set(ylim=(0, 103), ylabel="probe right, %", xlabel="encoder layers passed")
    ax.set_xticks(range(len(means)))
    label_lines(ax)
    return fig


def print_probes() -> None:
    """Print the probes' means over splits by layer, and what needs no layer."""
    probes = results.load("multi30k_probes")["probes"]
    layers = len(probes[0]["by_layer"])
    heads = "".join(f"{i:5}" for i in range(layers))
    print(f"{'layers passed':17}{heads}   subword alone   a guess")
    for name in dict.fromkeys(p["label"] for p in probes):
        some = [p for p in probes if p["label"] == name]
        means = (fmean(p["by_layer"][i] for p in some) for i in range(layers))
        cells = "".join(f"{mean:5.0%}" for mean in means)
        rest = (fmean(p[entry] for p in some) for entry in ("by_subword", "chance"))
        alone, guess = (f"{share:.0%}" for share in rest)
        print(f"{name:17}{cells}   {alone:16}{guess}")


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
