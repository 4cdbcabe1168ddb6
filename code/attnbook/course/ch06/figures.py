"""Figures and tables of chapter 6."""

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.kit.colours import INK, SHADE, TEXT_COLOURS
from attnbook.course.kit.heat_maps import (
    PALE_LINES,
    WHITE_LINES,
    heat_map,
    numbers_from,
)
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.nn.masks import padding_mask, target_mask

# Masks as maps


def draw_mask(ax: Axes, mask: Tensor, tokens: tuple[list[str], list[str]]) -> None:
    """Draw a Boolean matrix as cells, dark where it is True."""
    rows, columns = tokens
    heat_map(
        ax,
        mask,
        rows=rows,
        columns=columns,
        turn=0,
        cmap=[SHADE, "#57606A"],
        square=True,
        **WHITE_LINES,
    )


# The leak test


def broken_masks(ids: Tensor) -> dict[str, tuple[Tensor, Tensor]]:
    """Six wrong masks of one padded sentence, and the correct ones."""
    t, real = ids.shape[1], padding_mask(ids)[0]
    every = torch.ones(t, t, dtype=torch.bool)
    encoder, decoder = real & every, target_mask(ids)[0, 0]
    return {
        "no causal mask": (encoder, decoder),
        "transposed": (decoder.T & real, decoder),
        "one too many": (every.tril(1) & real, decoder),
        "one too few": (every.tril(-1) & real, decoder),
        "no padding mask": (every, encoder),
        "padding as rows": (real[:, None] & every, encoder),
    }


def detector_figure(panels: dict[str, tuple[Tensor, Tensor]], real: int) -> Figure:
    """Draw which outputs depend on which keys, next to what a mask should allow.

    A cross marks a leak: the output changes with a key that it must not depend on. A
    ring marks what is lost: it should change, and does not.
    """
    size = len(next(iter(panels.values()))[0])
    names = [str(i + 1) if i < real else "–" for i in range(size)]
    rows = -(-len(panels) // 3)
    fig, axes = plt.subplots(rows, 3, squeeze=False, figsize=(5.5, 0.5 + 2.1 * rows))
    for ax, (title, (moved, wanted)) in zip(axes.flat, panels.items(), strict=True):
        left = ax in axes[:, 0]
        draw_mask(ax, moved, (names if left else [], names))
        ax.set_title(title)
        for i, j in (moved != wanted).nonzero().tolist():
            mark, colour = ("×", "white") if moved[i, j] else ("○", INK)
            place = {"ha": "center", "va": "center_baseline", "size": "large"}
            ax.text(j + 0.5, i + 0.5, mark, color=colour, **place)
    for ax in axes[-1]:
        ax.set_xlabel("key changed", color=TEXT_COLOURS["key"])
    for ax in axes[:, 0]:
        ax.set_ylabel("output", color=TEXT_COLOURS["query"])
    return fig


def influence_figure(moved: Tensor, words: list[str]) -> Figure:
    """Draw how far each output moves with each input, (T, T)."""
    fig, ax = plt.subplots(figsize=(4.4, 4.2))
    heat_map(
        ax,
        moved,
        rows=words,
        columns=words,
        roles=("query", "key"),
        titles=("output at", "input changed"),
        notes=numbers_from(moved, 0.1, ".1f"),
        square=True,
        **PALE_LINES,
    )
    return fig


# The language models

LANGUAGE_MODELS = {"key_mask": "full attention", "target_mask": "causal attention"}


def losses_table() -> Table:
    """Show both models' losses with and without later words: stored."""
    found = results.load("next_word")
    runs = [{**run, "model": LANGUAGE_MODELS[run["mask"]]} for run in found["runs"]]
    nothing = {"loss": None, "grammatical": None}
    for name, loss in (
        ("bigram table: which word follows which", found["last_word_loss"]),
        ("the grammar, known exactly", found["least_loss"]),
    ):
        runs.append({"model": name, "loss_word_by_word": loss, **nothing})
    about = {"unit": "nats per word", "digits": 3, "group": "loss on new sentences"}
    return pivot(
        runs,
        "model",
        None,
        Value("loss", name="at once", **about),
        Value("loss_word_by_word", name="word by word", **about),
        Value("grammatical", "of 200 samples", name="sentences"),
    )


# Padding

BATCHES = {
    "1": "1, so no padding",
    "2 in file order": "2",
    "8 in file order": "8",
    "32 in file order": "32",
    "32 sorted by length": "32, sorted by length",
}


def padding_table() -> Table:
    """Show what the translator loses without its padding mask, by batch: stored."""
    runs = [stored_runs("padding_captions", batches=name)[0] for name in BATCHES]
    values = changed_and_bleu(192, runs[0]["bleu"])
    head = "captions in a batch"
    return pivot(runs, "batches", None, *values, names={"batches": BATCHES}, head=head)


def changed_and_bleu(captions: int, intact: float = 0) -> tuple[Value, Value]:
    """How many translations of so many captions changed, and their BLEU.

    Given the BLEU with all masks, it is the difference to that.
    """
    changed = Value("changed", f"of {captions}", name="translations changed")
    if not intact:
        return changed, Value("bleu", digits=1, name="BLEU")
    change = Value(lambda run: run["bleu"] - intact, digits=1, name="change in BLEU")
    return changed, change


# The causal mask at inference

LAYERS = {"none": "none", "4": "4, the last", "1": "1, the first", "all": "1 to 4"}
"""Those that the chapter shows, of the translator's four."""


def layers_table(translator: str = "shipped") -> Table:
    """Show what a translator loses without causal mask, layer by layer: stored."""
    runs = [
        stored_runs("mask_by_layer", translator=translator, layers=name)[0]
        for name in LAYERS
    ]
    precisions = [
        Value(("precisions", n - 1), "%", 1, 0, name, "precision, runs of")
        for n, name in ((1, "1 word"), (4, "4 words"))
    ]
    length = Value("length_ratio", "÷ reference length", digits=2, name="length")
    values = *changed_and_bleu(300, runs[0]["bleu"]), *precisions, length
    head = "layers without mask"
    return pivot(runs, "layers", None, *values, names={"layers": LAYERS}, head=head)
