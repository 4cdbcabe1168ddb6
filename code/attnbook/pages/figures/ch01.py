"""Figures and tables of chapter 1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS
from attnbook.experiments.recall import LENGTHS
from attnbook.pages.colours import COLOURS, DARK_GREY, INK, PALE_GREY, SKY
from attnbook.pages.curves import averaged, band, label_lines, logarithmic_x
from attnbook.pages.figures.exact_match import CURVES
from attnbook.pages.tables import shares, stored_runs
from attnbook.toy.data import SOURCE, TARGET
from attnbook.toy.language import (
    ADJECTIVES,
    DETERMINERS,
    NOUNS,
    VERBS,
    Pair,
    translate_by_rule,
)
from attnbook.toy.metrics import correct_tokens


def loss_figure(losses: Sequence[float], width: int = 20) -> Figure:
    """Draw the loss, averaged over every ``width`` steps, and what guessing reaches."""
    fig, ax = plt.subplots(figsize=(5.5, 3.0))
    steps, means = averaged(losses, width)
    ax.plot(steps, means)
    lines = {0: ("no source known", 0.08), 1: ("first clause known", -0.32)}
    for known, (label, above) in lines.items():
        level = guessing_loss(known)
        ax.axhline(level, color=PALE_GREY, linestyle="--", linewidth=1.5)
        ax.text(steps[-1], level + above, label, ha="right", color=INK)
    ax.set(xlabel="step", ylabel="loss, nats a word", ylim=(0, None))
    return fig


def guessing_loss(known: int) -> float:
    """Loss of a decoder that knows the grammar and the first clauses, no more.

    Mean over sentences of 1 to 4 clauses, nats a token. An unknown clause costs two
    phrases and a verb, each word guessed among those that may follow; that the sentence
    ends, or goes on, is guessed as well.

    Args:
        known: How many clauses it knows: 0 is a decoder without a source.
    """
    phrase = math.log(len(NOUNS) * (len(ADJECTIVES) + 1) * len(DETERMINERS))
    clause = 2 * phrase + math.log(len(VERBS))
    tokens = 2 * (2 + len(ADJECTIVES) / (len(ADJECTIVES) + 1)) + 2  # with ul or <eos>
    losses = [
        (max(n - known, 0) * clause + math.log(4)) / (n * tokens) for n in (1, 2, 3, 4)
    ]
    return sum(losses) / len(losses)


@torch.no_grad()
def print_right_by_kind(model: nn.Module, pairs: Sequence[Pair]) -> None:
    """Print the share of nouns, adjectives, … expected rightly, in one-clause pairs."""
    right, _ = correct_tokens(model, pairs)
    hits: dict[str, list[bool]] = {}
    for row, pair in zip(right.tolist(), pairs, strict=True):
        for hit, j in zip(row, pair.alignment, strict=False):  # EOS has no alignment
            hits.setdefault(_kind(pair.source[j]), []).append(hit)
    for kind, found in sorted(hits.items()):
        print(f"{kind:10} {sum(found) / len(found):4.0%}")


def _kind(word: str) -> str:
    kinds = {"noun": NOUNS, "adjective": ADJECTIVES, "verb": VERBS}
    return next((k for k, words in kinds.items() if word in words), "determiner")


@torch.no_grad()
def decoding_frames(
    model: nn.Module, sentence: str
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw what the decoder expects at each step, given the right words before it.

    Args:
        model: Trained; has ``start`` and ``step``.
        sentence: A sentence of the toy language.

    Returns:
        For each step a figure, its five most probable words as bars, a caption and an
        alternative text.
    """
    right = translate_by_rule(sentence).target
    state = model.start(torch.tensor([[*SOURCE.encode(sentence.split()), EOS]]))
    read = [BOS, *TARGET.encode(right)]
    figures, captions, alts = [], [], []
    for i, wanted in enumerate([*right, "<eos>"]):
        logits, state = model.step(torch.tensor([read[i]]), state)
        p, ids = logits.softmax(-1)[0].topk(5)
        words = [TARGET.words[j] for j in ids.tolist()]
        figures.append(_frame(words, p.tolist(), wanted))
        verdict = "right" if words[0] == wanted else f"the right word is {wanted}"
        captions.append(
            f"Read so far: {' '.join(right[:i]) or 'nothing'}. Most probable now: "
            f"{words[0]}, {p[0]:.2f} ({verdict})."
        )
        alts.append(f"Bars of the five most probable words: {shares(words, p)}.")
    return figures, captions, alts


def _frame(words: list[str], p: list[float], wanted: str) -> Figure:
    fig, ax = plt.subplots(figsize=(5.5, 2.5))
    colours = [COLOURS["target"] if word == wanted else PALE_GREY for word in words]
    ax.barh(words[::-1], p[::-1], color=colours[::-1])
    ax.set(xlim=(0, 1), xlabel="probability of the next word")
    ax.tick_params(left=False)
    return fig


def recall_shares(kind: str, steps: int, mixed: bool, which: str) -> list[list[float]]:
    """Per cent recalled, from the stored result: one row a seed, one entry a length."""
    runs = stored_runs("recall", kind=kind, steps=steps)
    columns = [
        [
            100 * run[which]
            for run in runs
            if run["length"] == length and (run["trained_on"] == "mixed") == mixed
        ]
        for length in LENGTHS
    ]
    return [*zip(*columns, strict=True)]


def recall_figure() -> Figure:
    """Draw how often the first and the last of L symbols are recalled, by L."""
    curves = [
        ("last, any", ("rnn", False, "last"), DARK_GREY),
        ("first, mixed, GRU", ("gru", True, "first"), COLOURS["source"]),
        ("first, mixed, RNN", ("rnn", True, "first"), SKY),
        ("first, GRU", ("gru", False, "first"), COLOURS["target"]),
        ("first, RNN", ("rnn", False, "first"), COLOURS["key"]),
    ]
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for label, (kind, mixed, which), colour in curves:
        runs = recall_shares(kind, 1500, mixed, which)
        band(ax, LENGTHS, runs, marker="o", color=colour, label=label)
    logarithmic_x(ax, LENGTHS)
    ax.set(xlabel="symbols in the sequence", ylabel="recalled, %", ylim=(-3, 103))
    label_lines(ax)
    return fig


def gradient_figure(norms: dict[str, Tensor]) -> Figure:
    """Draw gradient norms by distance from the end, on a logarithmic scale.

    Args:
        norms: For each label, one number a place, the last place last.
    """
    colours = [COLOURS["key"], SKY, COLOURS["source"]]
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for (label, values), colour in zip(norms.items(), colours, strict=True):
        relative = values.flip(0) / values[-1]
        ax.plot(range(len(values)), relative, color=colour, label=label)
    ax.set_yscale("log")
    ax.set(xlabel="words back from the end", ylabel="gradient, last word = 1")
    label_lines(ax)
    return fig


def print_by_clause(*names: str) -> None:
    """Print the share of words right in each clause of four: mean and range."""
    for name in names:
        runs = [run["by_clause"] for run in stored_runs(name)]
        print(f"{name}, {len(runs)} seeds")
        for place, found in enumerate(zip(*runs, strict=True), 1):
            span = f"{min(found):.0%} to {max(found):.0%}"
            print(f"  clause {place}: {fmean(found):.0%} of the words right ({span})")


def print_recall() -> None:
    """Print the mean share of first symbols recalled, by unit, training and length."""
    print(f"{'symbols':29}", *(f"{length:5}" for length in LENGTHS))
    for mixed, steps in ((False, 300), (False, 1500), (True, 1500)):
        for kind in ("rnn", "gru"):
            lengths = zip(*recall_shares(kind, steps, mixed, "first"), strict=True)
            cells = [f"{fmean(found):4.0f}%" for found in lengths]
            training = "lengths mixed" if mixed else "one length"
            print(f"{kind}, {steps:4} steps, {training:13}", *cells)


def by_clause_figure(*names: str) -> Figure:
    """Draw, for sentences of four clauses, the share of words right in each clause."""
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    places = (1, 2, 3, 4)
    for name in names:
        label, colour, _ = CURVES[name]
        runs = [[100 * s for s in run["by_clause"]] for run in stored_runs(name)]
        band(ax, places, runs, marker="o", color=colour, label=label)
    blind = [100 * blind_share()] * 4
    ax.plot(places, blind, color=PALE_GREY, linestyle="--", label="without a source")
    ax.set(
        xlabel="clause of the translation",
        ylabel="words right, %",
        xticks=places,
        ylim=(0, 100),
    )
    label_lines(ax)
    return fig


def blind_share() -> float:
    """Share of words right for a decoder that sees the words before, but no source.

    It knows the kind of each word from its place and guesses: a noun, one of 12; behind
    it an adjective or none, one of 7; behind an adjective a determiner, one of 3; a
    verb, one of 8.
    """
    adjective = len(ADJECTIVES) / (len(ADJECTIVES) + 1)  # how often there is one
    after_noun = 1 / (len(ADJECTIVES) + 1)
    phrase = 1 / len(NOUNS) + after_noun + adjective / len(DETERMINERS)
    right = 2 * phrase + 1 / len(VERBS)
    words = 2 * (2 + adjective) + 1
    return right / words
