"""Chapter 12: what Multi30k holds, and how it is cut into batches."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.pages.colours import COLOURS, SHADE, TEXT_COLOURS

WAYS = {
    "random": "drawn at random",
    "pooled": "like length, in pools",
    "tokens": "like length, by tokens",
}


def print_facts() -> None:
    """Print what was counted in Multi30k: sentences, words, words not seen before."""
    stored = results.load("multi30k_facts")
    pairs = stored["sentences"]
    print("pairs:", ", ".join(f"{name} {n:,}" for name, n in pairs.items()))
    rows = [stored["rows"][language] for language in ("en", "de")]
    print(f"{'':28}{'English':>9}{'German':>9}")
    for label, value in (
        ("words for training", lambda row: f"{row['words']:,}"),
        ("different ones", lambda row: f"{row['types']:,}"),
        ("of these, seen once", lambda row: f"{row['once'] / row['types']:.0%}"),
        ("words of val never seen", lambda row: _share(row, "unknown", "words")),
        (
            "sentences of val with one",
            lambda row: f"{row['val_sentences_unknown'] / pairs['val']:.0%}",
        ),
    ):
        _print_row(label, rows, value)


def print_places() -> None:
    """Print the places of a sentence as words, subwords and characters."""
    stored = results.load("multi30k_facts")
    rows = [stored["rows"][language] for language in ("en", "de")]
    print(f"{'places a sentence, mean':28}{'English':>9}{'German':>9}")
    for unit in ("words", "subwords", "characters"):
        _print_row(
            unit, rows, lambda row, unit=unit: f"{row['per_sentence'][unit]:.1f}"
        )
    _print_row("different characters", rows, lambda row: f"{row['characters']}")
    _print_row("val pieces without an id", rows, lambda row: f"{row['val_unk']}")


def _share(row: dict, part: str, whole: str) -> str:
    return f"{row[f'val_{part}'] / row[f'val_{whole}']:.1%}"


def _print_row(label: str, rows: Sequence[dict], value: Callable[[dict], str]) -> None:
    print(f"{label:28}{value(rows[0]):>9}{value(rows[1]):>9}")


def print_padding() -> None:
    """Print the share of pads in one pass over Multi30k, batched in four ways."""
    stored = results.load("multi30k_facts")
    names = {**WAYS, "sorted": "all sorted, by number"}
    for way, share in stored["padding"].items():
        print(f"{names[way]:23} {share:6.1%} of the places are pads")
    print("pairs a batch:", stored["pairs_per_batch"], "(by tokens: on average)")


def batches_figure() -> Figure:
    """Draw one stored batch of each kind, source and target, a row a pair."""
    stored = results.load("multi30k_facts")
    fig, axes = plt.subplots(len(WAYS), 2, sharex=True, sharey="row", figsize=(5.5, 6))
    for (left, right), (way, name) in zip(axes, WAYS.items(), strict=True):
        pairs = stored["shown"][way]
        sides = list(zip(*pairs, strict=True))  # lengths of sources, of targets
        for ax, side, lengths in zip(
            (left, right), ("source", "target"), sides, strict=True
        ):
            _draw_rows(ax, lengths, COLOURS[side])
        places = len(pairs) * sum(map(max, sides))
        pads = 1 - sum(map(sum, sides)) / places
        left.set_title(f"{name}: {len(pairs)} pairs, {pads:.0%} pads")
    for ax, side in zip(axes[-1], ("source", "target"), strict=True):
        ax.set_xlabel(f"places of the {side}", color=TEXT_COLOURS[side])
    return fig


def _draw_rows(ax: Axes, lengths: Sequence[int], colour: str) -> None:
    """Draw sentences as rows, filled up with pale pads to the longest."""
    rows = range(len(lengths))
    ax.barh(rows, max(lengths), height=1, color=SHADE)
    ax.barh(rows, lengths, height=1, color=colour)
    ax.set(ylim=(len(lengths) - 0.5, -0.5), yticks=[], xticks=[0, 10, 20, 30])
