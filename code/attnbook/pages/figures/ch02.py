"""Figures of chapter 2."""

from __future__ import annotations

from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS
from attnbook.models.bahdanau import Bahdanau
from attnbook.pages.colours import COLOURS, TEXT_COLOURS
from attnbook.pages.figures.alignment_maps import alignment_map
from attnbook.pages.heat_maps import colour_bar, heat_map
from attnbook.pages.tables import shares
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import Pair, translate_by_rule

# What an annotation has read


def annotations_figure(moved: dict[str, Tensor], words: Sequence[str]) -> Figure:
    """Draw how far each annotation moves when a source word is changed.

    Args:
        moved: For each title a matrix (S, S) of distances: at [j, k] that of annotation
            j when word k is changed.
        words: The S words.

    Returns:
        The figure, one panel a title, side by side; cells of exactly 0 are white and
        say so.
    """
    fig, axes = plt.subplots(1, len(moved), figsize=(5.5, 3.6), sharey=True)
    for ax, (title, distances) in zip(axes, moved.items(), strict=True):
        # The root lets small distances be told from none.
        shades = (distances / distances.max()).sqrt()
        zeros = [["" if x else "0" for x in row] for row in distances.tolist()]
        look = {"linewidths": 2, "linecolor": "white", "vmax": 1.1, "square": True}
        rows = [f"$h_{j + 1}$" for j in range(len(words))]
        heat_map(ax, shades, rows=rows, columns=words, notes=zeros, **look)
        ax.set_title(title, pad=8)
        ax.set_xlabel("word changed")
    axes[0].set_ylabel("annotation")
    return fig


# Where it looks


def alignment_figure(weights: Tensor, pair: Pair) -> Figure:
    """Draw the weights of one sentence; a frame marks where each word should look.

    Args:
        weights: (T, S), EOS included; what exceeds the pair's length is left out.
        pair: The pair.
    """
    rows, columns = len(pair.target) + 1, len(pair.source) + 1  # with EOS
    fig, ax = plt.subplots(figsize=(5.5, 2.2 + 0.27 * rows))
    alignment_map(ax, 100 * weights[:rows, :columns], pair, least=5, vmax=100)
    ax.xaxis.tick_top()
    ax.xaxis.set_label_position("top")
    ax.tick_params("x", length=0)
    colour_bar(ax, "weight, %")
    return fig


@torch.no_grad()
def attention_frames(
    model: Bahdanau, sentence: str
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw, step by step, where the decoder looks and what it then expects.

    Args:
        model: Trained.
        sentence: A sentence of the toy language.

    Returns:
        For each step of greedy decoding a figure, a caption and an alternative text.
    """
    words = [*sentence.split(), "<eos>"]
    longest = len(translate_by_rule(sentence).target) + 1
    state = model.start(torch.tensor([[*SOURCE.encode(words[:-1]), EOS]]))
    token, said = torch.tensor([BOS]), []
    figures, captions, alts = [], [], []
    while token != EOS and len(said) < longest:
        logits, state = model.step(token, state)
        p, ids = logits.softmax(-1)[0].topk(5)
        names = [TARGET.words[j] for j in ids.tolist()]
        guesses = dict(zip(names, p.tolist(), strict=True))
        weights = state.weights[0].tolist()
        figures.append(_attention_frame(words, weights, guesses))
        looks = sorted(zip(weights, words, strict=True), reverse=True)[:2]
        captions.append(_caption(said, looks, guesses))
        alts.append(_alt(looks, guesses))
        token = ids[:1]
        said.append(next(iter(guesses)))
    return figures, captions, alts


def _caption(said: list[str], looks: list[tuple], guesses: dict[str, float]) -> str:
    (weight, source), (target, share) = looks[0], next(iter(guesses.items()))
    return (
        f"Said so far: {' '.join(said) or 'nothing'}. It looks at {source} "
        f"({weight:.2f}) and says {target} ({share:.2f})."
    )


def _alt(looks: list[tuple], guesses: dict[str, float]) -> str:
    weights, words = zip(*looks, strict=True)
    most, next_ = shares(words, weights), shares(guesses, guesses.values())
    return f"Above, bars of the weights, largest: {most}. Below, next words: {next_}."


def _attention_frame(
    words: list[str], weights: list[float], guesses: dict[str, float]
) -> Figure:
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.5, 4.8), height_ratios=(1, 1.1))
    places = range(len(words))
    top.bar(places, weights, color=COLOURS["source"])
    upright = 90 if len(words) > 8 else 0  # or they would run into each other
    top.set_xticks(places, words, color=TEXT_COLOURS["source"], rotation=upright)
    top.set(ylim=(0, 1), ylabel="weight", yticks=(0, 0.5, 1))
    bottom.barh([*guesses][::-1], [*guesses.values()][::-1], color=COLOURS["target"])
    bottom.tick_params(axis="y", labelcolor=TEXT_COLOURS["target"])
    bottom.set(xlim=(0, 1), xlabel="probability of the next word")
    for ax in (top, bottom):
        ax.tick_params(length=0)
    return fig


# Is a weight an explanation?


def weight_and_effect_figure(
    weights: Tensor, effects: dict[str, Tensor], pair: Pair
) -> Figure:
    """Draw the weights, and below them the effects of removing each place.

    Args:
        weights: (T, S).
        effects: As :func:`occlusion_effects` returns them.
        pair: The pair they all belong to.
    """
    panels = {
        "weight, %": (100 * weights, 5, 100, ".0f"),
        "nats lost if hidden at this step": (effects["hidden"], 0.1, 10, ".1f"),
        "nats lost if replaced in the source": (effects["replaced"], 0.1, 10, ".1f"),
    }
    fig, axes = plt.subplots(3, 1, figsize=(5.5, 8.6), sharex=True)
    for ax, (title, panel) in zip(axes, panels.items(), strict=True):
        alignment_map(ax, panel[0], pair, *panel[1:])
        ax.set_title(title)
        ax.label_outer()
    return fig
