"""Figures and tables of appendix A1."""

from __future__ import annotations

from math import exp

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.a1.patches import in_other_order
from attnbook.course.kit.colours import DARK_GREY
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

# Writing

TRAININGS = {
    "gaps": ("gaps in whole texts: the reader", "full"),
    "gaps_asked_causal": ("the reader, writing under the causal mask", "full"),
    "gaps_followed": ("the reader, filling 16 gaps", "full"),
    "gaps_between": ("the reader, with length and end given", "full"),
    "one_gap": ("one gap in a whole text", "full"),
    "cut_later": ("one gap in a cut text, not at its end", "full"),
    "cut": ("one gap at the end of a cut text", "full"),
    "gaps_causal": ("gaps in whole texts", "causal"),
    "next_one": ("one next token in each text", "causal"),
    "next": ("all next tokens: the writer", "causal"),
}
"""Rows of the table by their names in the stored result."""


def writers_table() -> Table:
    """How many texts are sentences, by training and mask: stored."""
    runs, longer = stored_runs("writers"), stored_runs("writers_longer")
    rows = [
        (trained, mask, _shares(runs, key), _shares(longer, key))
        for key, (trained, mask) in TRAININGS.items()
    ]
    columns = [
        "trained on, and how it writes",
        "mask in training",
        Column("300 steps", "%", "correct", digits=1),
        Column("1,500 steps", "%", "correct", digits=1),
    ]
    return table(columns, rows)


def _shares(runs: list[dict], key: str) -> Spread | None:
    """Per cent over seeds, if it was measured."""
    return spread(100 * run[key] for run in runs) if key in runs[0] else None


# Captions


def perplexity_table() -> Table:
    """Perplexity of each subword, given those before it or all others: stored."""
    found = results.load("language_models")
    rows = [("trigram", "two before", exp(found["trigram"]["words"]))]
    for model, given in (
        ("decoder-only", "all before"),
        ("encoder-only", "all others"),
    ):
        runs = stored_runs("language_models", model=model)
        rows.append((model, given, spread(exp(run["words"]) for run in runs)))
    return table(
        ["model", "given", Column("perplexity", "per subword", digits=1)], rows
    )


def samples_table() -> Table:
    """Captions drawn from the decoder-only model: stored."""
    return table(
        ["written by the decoder-only model"],
        [(text,) for text in results.load("language_models")["samples"]],
    )


def gaps_table() -> Table:
    """What the encoder-only model puts into a gap: stored."""
    rows = []
    for gap in results.load("language_models")["gaps"]:
        guesses = ", ".join(f"{word} {100 * p:.0f} %" for word, p in gap["words"])
        rows.append((gap["text"], guesses))
    return table(["caption", "most probable subwords"], rows)


# Roles of words


def roles_table() -> Table:
    """Correct roles after training on few sentences: stored."""
    names = {"scratch": "random weights", "pre_trained": "pre-trained weights"}
    runs = [
        {"start": name, "right": run[key], **run}
        for key, name in names.items()
        for run in results.load("one_encoder")["roles"]
    ]
    right = Value("right", "%", 100, 1, "labelled for training")
    about = {"names": {"sentences": "{} sentences"}, "head": "the encoder begins with"}
    return pivot(runs, "start", "sentences", right, **about)


# Digits


def patches_figure(image: Tensor, patches: Tensor) -> Figure:
    """Draw an image with the borders of its patches, and the patches in a row."""
    fig, (left, right) = plt.subplots(
        1, 2, figsize=(5.5, 1.9), width_ratios=[1, 3.2], layout="constrained"
    )
    grey = {"cmap": "gray_r", "vmin": 0, "vmax": 1}
    left.imshow(image.numpy(), **grey)
    side = len(image) // 4
    for border in range(side, len(image), side):
        left.axhline(border - 0.5, color=DARK_GREY, lw=0.8)
        left.axvline(border - 0.5, color=DARK_GREY, lw=0.8)
    left.set(xticks=[], yticks=[], title="image", anchor="N")
    left.spines[:].set(visible=True, color=DARK_GREY, lw=0.8)
    for number, patch in enumerate(patches):
        across, down = number % 8, number // 8
        x, y = 1.35 * across, -1.9 * down
        right.imshow(patch.view(2, 2).numpy(), extent=(x, x + 1, y, y + 1), **grey)
        right.add_patch(
            plt.Rectangle((x, y), 1, 1, fill=False, color=DARK_GREY, lw=0.8)
        )
        right.text(x + 0.5, y - 0.1, f"{number + 1}", ha="center", va="top")
    right.set(xlim=(-0.2, 10.7), ylim=(-2.8, 1.2), title="sequence of patches")
    right.set_anchor("N")
    right.set_axis_off()
    return fig


def shuffled_figure(images: Tensor) -> Figure:
    """Draw images above, and below the same with their patches in another order."""
    g = torch.Generator().manual_seed(0)
    rows = (images, in_other_order(images, 2, g))
    fig, axes = plt.subplots(2, len(images), figsize=(5.5, 2.0), layout="constrained")
    for row, line in zip(rows, axes, strict=True):
        for image, ax in zip(row, line, strict=True):
            ax.imshow(image.numpy(), cmap="gray_r", vmin=0, vmax=1)
            ax.set(xticks=[], yticks=[])
            ax.spines[:].set(visible=True, color=DARK_GREY, lw=0.8)
    return fig


def digits_table() -> Table:
    """Digits classified correctly, by patch and order: stored."""
    found = results.load("one_encoder")
    methods = {
        (2, False): "ViT, patches of 2 × 2 pixels",
        (2, True): "ViT, the same in a random order",
        (4, False): "ViT, patches of 4 × 4 pixels",
    }
    runs = [
        {"method": methods[run["patch"], run["shuffled"]], "right": run["right"]}
        for run in found["digits"]
    ]
    runs.append({"method": "nearest training image", "right": found["nearest"]})
    return pivot(runs, "method", None, Value("right", "%", 100, 1, "correct"))
