"""Chapter 1: which source words the context holds, for a sentence that is typed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor, nn

from attnbook.analysis.occlusion import context_changes
from attnbook.course.kit.colours import COLOURS, TEXT_COLOURS
from attnbook.course.kit.explorers.controls import TextBox
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View
from attnbook.toy.language import translate_by_rule

SENTENCE = "the old farmer sees a bird and this young queen hears the big dog"
HALVES = ("left to right", "right to left")
FAINT = 0.45  # opacity of the bars of the second half


def explore_context(models: Mapping[str, nn.Module], caption: str) -> object:
    """Let the reader type a sentence; see :func:`~.explorer.explore`."""
    controls = {"sentence": TextBox("sentence", SENTENCE)}
    return explore(partial(context_view, models), controls, caption=caption)


def context_view(models: Mapping[str, nn.Module], sentence: str) -> View:
    """How much each word changes the two halves of each model's context."""
    pair = translate_by_rule(sentence.lower().rstrip(" ."))
    changes = {
        name: context_changes(model.encoder, pair, parts=2)[:-1]  # (S, 2)
        for name, model in models.items()
    }
    most = "; ".join(
        f"{name}: {pair.source[int(of.nan_to_num().mean(1).argmax())]}"
        for name, of in changes.items()
    )
    alt = " ".join(f"{name}: {_row(pair.source, of)}." for name, of in changes.items())
    alt = f"Relative changes of the halves {' and '.join(HALVES)}. {alt}"
    return View(f"Largest change: {most}.", _figure(pair.source, changes), alt)


def _row(words: tuple[str, ...], changes: Tensor) -> str:
    """The changes in words, for those who cannot see them."""
    return ", ".join(
        f"{word} {one:.1f} and {other:.1f}"
        for word, (one, other) in zip(words, changes.tolist(), strict=True)
        if not math.isnan(one)
    )


def _figure(words: tuple[str, ...], changes: Mapping[str, Tensor]) -> Figure:
    """One panel for each model, two bars for each word."""
    size = (5.5, 1.3 + 1.15 * len(changes))
    fig, axes = plt.subplots(
        len(changes), 1, figsize=size, sharex=True, sharey=True, squeeze=False
    )
    for ax, (name, of) in zip(axes[:, 0], changes.items(), strict=True):
        for half, label in enumerate(HALVES):
            ax.bar(
                [j + 0.4 * half - 0.2 for j in range(len(words))],
                # Rounded, so that the last digits of a machine change no pixel.
                of[:, half].nan_to_num().round(decimals=2).tolist(),
                width=0.4,
                color=COLOURS["source"],
                alpha=1 if half == 0 else FAINT,
                label=label,
            )
        ax.set_title(name, loc="left")
    highest = max(float(of.nan_to_num().max()) for of in changes.values())
    axes[0, 0].set_ylim(0, max(1.2, 1.05 * highest))
    handles, labels = axes[0, 0].get_legend_handles_labels()
    labels = [f"reads {label}" for label in labels]
    fig.legend(handles, labels, ncols=2, loc="outside upper center")
    look = {"rotation": 90, "color": TEXT_COLOURS["source"]}
    axes[-1, 0].set_xticks(range(len(words)), words, **look)
    fig.supylabel("relative change of c")
    return fig
