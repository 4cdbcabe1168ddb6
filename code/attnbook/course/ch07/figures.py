"""Figures and tables of chapter 7."""

import math
from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor
from torch.nn import functional as F

from attnbook.core import results
from attnbook.core.vocabulary import PAD
from attnbook.course.kit.colours import (
    COLOURS,
    DARK_GREY,
    GREY,
    INK,
    PALE_GREY,
    SHADE,
    TEXT_COLOURS,
    contrast,
)
from attnbook.course.kit.curves import band, draw_arrow
from attnbook.course.kit.html_tables import Spread, Table, spread
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.nn.positions import frequencies, sinusoids
from attnbook.nn.rotary import rotate
from attnbook.toy.tasks import (
    N_SYMBOLS,
    TASK_VOCAB_SIZE,
    previous_symbols,
    random_symbols,
)

SIGNED = mpl.colormaps["RdBu_r"]
"""From -1, blue, to 1, red; 0 is white."""

# A translator without positions


ORDER = (
    Value("right", "of 560 sentences", name="nouns in the right order"),
    Value("same", "of 280 pairs", name="one translation for both"),
)
BLEU = Value("bleu", digits=1, name="BLEU")


def captions_table() -> Table:
    """Show what the translator does with sentences and their reversals: stored runs."""
    runs = stored_runs("captions_without_order")[:4]
    return pivot(runs, "kept", None, *ORDER, BLEU, head="positions in")


# Which position is farthest?


def farthest_figure() -> Figure:
    """Draw twelve points on a line, a parabola and a circle; in each, one wins."""
    p = torch.arange(12.0)
    u = 2 * p / 11 - 1
    shapes = {
        "p": (torch.stack([u, 0 * u + 0.4], -1), (1.0, 0.0)),
        "p and p²": (torch.stack([u, u**2], -1), (-0.55, -1.0)),
        "one hand": (torch.stack([p.cos(), p.sin()], -1), (math.cos(4), math.sin(4))),
    }
    fig, axes = plt.subplots(1, 3, figsize=(5.5, 2.3))
    for ax, (name, (points, query)) in zip(axes, shapes.items(), strict=True):
        direction = torch.tensor(query) / math.hypot(*query)
        best = int((points @ direction).argmax())
        draw_arrow(ax, (0.8 * direction).tolist(), "query")
        along = 0.5 * torch.stack([-direction[1], direction[0]])
        ends = torch.stack([points[best] - along, points[best] + along])
        ax.plot(*ends.T.tolist(), ":", color=INK, linewidth=1.5)
        ax.plot(*points.T.tolist(), "o", color=GREY, markersize=6)
        ax.plot(*points[best].tolist(), "o", color=COLOURS["key"], markersize=10)
        outside = (points[best] + 0.3 * direction).tolist()
        ax.text(*outside, str(best), ha="center", va="center")
        ax.set(xlim=(-1.3, 1.3), ylim=(-1.4, 1.3), aspect="equal")
        ax.set_title(name, loc="center")
        ax.set_axis_off()
    return fig


# Clock hands

CLOCKS, CLOCK_WIDTH = 4, 16


def clock_frames() -> tuple[list, list, list]:
    """Draw, position by position, the first four hands and the features they give."""
    figures, captions, alts = [], [], []
    encodings = sinusoids(16, CLOCK_WIDTH, dtype=torch.float64)
    for p in range(16):
        figures.append(_clocks(p, encodings[p]))
        turns = [p * omega / (2 * math.pi) for omega in _hand_speeds()]
        captions.append(
            f"Position {p}: hand 0 has made {turns[0]:.2f} turns, hand 3 has made "
            f"{turns[3]:.2f}."
        )
        features = ", ".join(f"{x:.2f}" for x in encodings[p, : 2 * CLOCKS])
        alts.append(f"Position {p}: four clock hands; their features are {features}.")
    return figures, captions, alts


def _hand_speeds() -> list[float]:
    return frequencies(CLOCK_WIDTH, torch.float64)[:CLOCKS].tolist()


def _clocks(p: int, encoding: Tensor) -> Figure:
    fig, axes = plt.subplots(
        2, CLOCKS, figsize=(5.5, 2.4), gridspec_kw={"height_ratios": (5, 2)}
    )
    for i, (dial, cells) in enumerate(zip(*axes, strict=True)):
        _dial(dial)
        for earlier in range(max(p - 3, 0), p):
            _hand(dial, earlier * _hand_speeds()[i], PALE_GREY, 1.5)
        _hand(dial, p * _hand_speeds()[i], INK, 3)
        dial.set_title(f"hand {i}", loc="center", pad=2)
        _cells(cells, encoding[2 * i : 2 * i + 2])
    return fig


def _dial(ax: Axes) -> None:
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, color=GREY, linewidth=1.5))
    ax.plot([0.88, 1], [0, 0], color=GREY, linewidth=1.5)  # three o'clock
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    ax.set_axis_off()


def _hand(ax: Axes, angle: float, colour: str, width: float) -> None:
    """A hand, counterclockwise from three o'clock: its tip is (cosine, sine)."""
    tip = math.cos(angle), math.sin(angle)
    ax.plot(*zip((0, 0), tip, strict=True), color=colour, linewidth=width)


def _cells(ax: Axes, pair: Tensor) -> None:
    """Two features, each below its name."""
    ax.imshow(pair[None].numpy(), vmin=-1, vmax=1, cmap=SIGNED, aspect="auto")
    for column, (name, value) in enumerate(zip(("sin", "cos"), pair, strict=True)):
        dark = contrast(SIGNED((value.item() + 1) / 2)) > 4.5
        colour = "white" if dark else "black"
        text = f"{value:.2f}".replace("-", "−")
        ax.text(column, 0, text, color=colour, ha="center", va="center")
        ax.text(column, -0.6, name, ha="center", va="bottom")
    ax.set_axis_off()


# The encodings as a map


def map_figure(n: int = 500, d: int = 32) -> Figure:
    """Draw the encodings of n positions as a heat map, a row for each dimension."""
    encodings = sinusoids(n, d, dtype=torch.float64)
    fig, ax = plt.subplots(figsize=(5.5, 4.2))
    image = ax.imshow(
        encodings.T.numpy(),
        vmin=-1,
        vmax=1,
        cmap=SIGNED,
        aspect="auto",
        interpolation="nearest",
    )
    ax.set(xlabel="position", ylabel="dimension", yticks=[*range(0, d, 8), d - 1])
    bar = fig.colorbar(image, location="right", ticks=(-1, 0, 1), aspect=30)
    bar.set_label("value")
    bar.outline.set_visible(False)
    return fig


# A shift is a rotation


def rotation_figure(k: int, starts: Sequence[int]) -> Figure:
    """Draw how k positions turn three hands, from several positions on."""
    fig, axes = plt.subplots(3, len(starts), figsize=(5.2, 5.6), squeeze=False)
    for i, clocks in enumerate(axes):
        omega = _hand_speeds()[i]
        for ax, p in zip(clocks, starts, strict=True):
            _dial(ax)
            _sector(ax, p * omega, (p + k) * omega)
            _hand(ax, p * omega, GREY, 2)
            _hand(ax, (p + k) * omega, INK, 3)
        clocks[0].text(-1.3, 0, f"hand {i}", rotation=90, ha="right", va="center")
        clocks[-1].text(1.3, 0.25, "turn by", ha="left", va="center")
        turned = math.degrees(k * omega)
        clocks[-1].text(1.3, -0.2, f"{turned:.0f}°", ha="left", va="center")
    for ax, p in zip(axes[0], starts, strict=True):
        ax.set_title(f"{p} → {p + k}", loc="center")
    lines = axes[0, 0].get_lines()[-2:]
    fig.legend(
        lines,
        ["position p", f"position p + {k}"],
        loc="outside lower center",
        ncols=2,
    )
    return fig


def _sector(ax: Axes, start: float, end: float) -> None:
    """The angle from one hand to the other, with an arrow head at its end."""
    angles = torch.linspace(start, end, 60, dtype=torch.float64)
    _wedge(ax, angles, 0.6)
    rim = [(0.6 * math.cos(a), 0.6 * math.sin(a)) for a in angles.tolist()]
    ax.plot(*zip(*rim[:-4], strict=True), color=DARK_GREY, linewidth=1.2)
    look = {"arrowstyle": "-|>", "color": DARK_GREY, "shrinkA": 0, "shrinkB": 0}
    ax.annotate("", rim[-1], rim[-8], arrowprops=look)


def _wedge(ax: Axes, angles: Tensor, radius: float) -> None:
    """A part of a disc between the first and the last angle."""
    x, y = radius * angles.cos(), radius * angles.sin()
    ax.fill([0, *x], [0, *y], color=SHADE, zorder=0)


# Rotary encodings

TURNED = ((0, 0), (3, 1), (6, 4))
"""Positions of query and key in the three panels."""


def rotary_figure() -> Figure:
    """Draw one query and one key, rotated for three pairs of positions."""
    fig, axes = plt.subplots(1, len(TURNED), figsize=(5.5, 2.6))
    for ax, (m, n) in zip(axes, TURNED, strict=True):
        turned = [
            rotate(torch.tensor([x], dtype=torch.float64), offset=p)[0]
            for x, p in (((2.0, 1.0), m), ((1.0, 3.0), n))
        ]
        start, end = (math.atan2(*x.flip(0).tolist()) for x in turned)
        turn = (end - start + math.pi) % (2 * math.pi) - math.pi  # the shorter way
        _wedge(ax, torch.linspace(start, start + turn, 40, dtype=torch.float64), 1.1)
        for x, role in zip(turned, ("query", "key"), strict=True):
            draw_arrow(ax, x.tolist(), role)
        ax.plot(0, 0, "o", color=INK, markersize=3)
        ax.set(xlim=(-3.4, 3.4), ylim=(-3.4, 3.4), aspect="equal", xticks=[], yticks=[])
        ax.spines[:].set_visible(False)
        ax.set_title(f"query at {m},\nkey at {n}", loc="center")
        ax.text(0, -3.6, f"score {turned[0] @ turned[1]:.2f}", ha="center", va="top")
    for role, (x, y) in {"query": (1.7, -0.5), "key": (-0.4, 2.6)}.items():
        axes[0].text(x, y, role, ha="center", color=TEXT_COLOURS[role])
    return fig


# Stored results: within and beyond the trained length

SCHEMES = {
    "sinusoidal": "sinusoidal",
    "learned": "learned",
    "rotary": "rotary (RoPE)",
    "relative": "relative bias",
}


def accuracy(run: dict, length: int = 24) -> Tensor:
    """Accuracy of a stored run at each position, in per cent."""
    return means_by_position(run[f"right_at_{length}"])


def means_by_position(rows: Sequence[Sequence[float | None]]) -> Tensor:
    """Mean over the answers that count at each position, in per cent."""
    numbers = [[math.nan if x is None else x for x in answers] for answers in rows]
    return 100 * torch.tensor(numbers).nanmean(-1)


def accuracy_over(
    kind: str, steps: int, length: int, part: slice = slice(None)
) -> Spread:
    """Accuracy over some positions: mean of the stored runs and range, in per cent."""
    runs = stored_runs("positions", steps=steps, positions=kind)
    return spread(accuracy(run, length)[part].nanmean().item() for run in runs)


def most_frequent_accuracy(length: int) -> float:
    """Accuracy of always predicting the most frequent other symbol, in per cent."""
    ids = random_symbols(2000, length, torch.Generator().manual_seed(99))
    one_hot = F.one_hot(ids, TASK_VOCAB_SIZE)  # (B, T, V)
    others = one_hot.sum(1, keepdim=True) - one_hot  # counts, without its own symbol
    targets = previous_symbols(ids).targets  # (B, T, K)
    correct = targets == others.argmax(-1)[..., None]
    return 100 * correct[targets != PAD].float().mean().item()


def hands_figure() -> Figure:
    """Draw accuracy by position at length 48 with one clock hand and with two."""
    fig, axes = plt.subplots(2, sharex=True, sharey=True, figsize=(5.5, 3.8))
    for ax, hands in zip(axes, (1, 2), strict=True):
        runs = stored_runs("clock_hands_at_48", hands=hands)
        curves = [means_by_position(run["right"])[1:].tolist() for run in runs]
        band(ax, range(1, 48), curves, COLOURS["source"])
        title = "one hand" if hands == 1 else "two hands"
        ax.set(title=title, ylim=(0, 105), yticks=(0, 50, 100), xlabel="", ylabel="")
        ax.set(xlim=(-0.5, 47.5), xticks=range(0, 48, 6))
    fig.supxlabel("position", size="medium")
    fig.supylabel("accuracy, %", size="medium")
    return fig


def scores_figure(as_trained: Tensor, averaged: Tensor, trained: int = 12) -> Figure:
    """Draw the positional scores of one head, (T, T), as trained and averaged."""
    high = as_trained[:trained, :trained].abs().max().item()
    fig, axes = plt.subplots(1, 2, sharey=True, figsize=(5.5, 3.2))
    for ax, scores in zip(axes, (as_trained, averaged), strict=True):
        image = ax.imshow(scores.numpy(), vmin=-high, vmax=high, cmap=SIGNED)
        frame = plt.Rectangle((-0.5, -0.5), trained, trained, fill=False, lw=2)
        ax.add_patch(frame)
        ax.set(xlabel="key position", xticks=range(0, 24, 6), yticks=range(0, 24, 6))
    axes[0].set(title="as trained", ylabel="query position")
    axes[1].set(title="averaged by distance")
    bar = fig.colorbar(image, ax=axes, location="right", aspect=30, shrink=0.8)
    bar.set_label("score")
    bar.outline.set_visible(False)
    return fig


def schemes_figure(steps: int = 1500) -> Figure:
    """Draw accuracy by position, one panel for each of four schemes."""
    trained = results.load("positions")["length"]
    fig, axes = plt.subplots(2, 2, sharex=True, sharey=True, figsize=(5.5, 4.4))
    for ax, (kind, name) in zip(axes.flat, SCHEMES.items(), strict=True):
        runs = stored_runs("positions", steps=steps, positions=kind)
        ax.axvspan(-0.5, trained - 0.5, color=SHADE, lw=0)
        ax.text(trained / 2 - 0.5, 50, "trained", ha="center", color=DARK_GREY)
        ax.axhline(100 / N_SYMBOLS, color=GREY, linewidth=1.2, linestyle=":")
        curves = [accuracy(run)[1:].tolist() for run in runs]
        band(ax, range(1, 24), curves, COLOURS["source"])
        ax.set(title=name, ylim=(0, 105), yticks=(0, 50, 100), xlabel="", ylabel="")
        ax.set(xlim=(-0.5, 23.5), xticks=range(0, 24, 6))
    axes[0, 1].text(23.5, 22, "chance", ha="right", color=DARK_GREY)
    fig.supxlabel("position", size="medium")
    fig.supylabel("accuracy, %", size="medium")
    return fig
