"""Figures and tables of chapter 7."""

from __future__ import annotations

import math
from collections.abc import Sequence

import matplotlib as mpl
import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.nn.positions import frequencies, sinusoids
from attnbook.pages.colours import GREY, INK, PALE_GREY, SHADE, SKY
from attnbook.pages.curves import label_lines
from attnbook.pages.tables import mean_and_range, row, stored_runs
from attnbook.toy.single_attention import POSITION_KINDS
from attnbook.toy.tasks import N_SYMBOLS

RISING = mpl.colormaps["cividis"]  # from -1 to 1; reads in grey as well

# Clock hands

CLOCKS, CLOCK_WIDTH = 4, 16


def clock_frames(
    positions: Sequence[int] = tuple(range(16)),
) -> tuple[list, list, list]:
    """Draw, position by position, the first four hands and the numbers they give.

    Args:
        positions: One frame each.

    Returns:
        For each position a figure, a caption and an alternative text.
    """
    figures, captions, alts = [], [], []
    table = sinusoids(max(positions) + 1, CLOCK_WIDTH, dtype=torch.float64)
    for p in positions:
        figures.append(_clocks(p, table[p]))
        turns = [p * omega / (2 * math.pi) for omega in _hand_speeds()]
        captions.append(
            f"Position {p}: the first hand has made {turns[0]:.2f} turns, the fourth "
            f"{turns[3]:.2f}."
        )
        numbers = ", ".join(f"{x:.2f}" for x in table[p, : 2 * CLOCKS])
        alts.append(f"Position {p}: four clock hands; their numbers are {numbers}.")
    return figures, captions, alts


def _hand_speeds() -> list[float]:
    return frequencies(CLOCK_WIDTH, torch.float64)[:CLOCKS].tolist()


def _clocks(p: int, code: Tensor) -> Figure:
    fig, axes = plt.subplots(
        2, CLOCKS, figsize=(5.5, 2.4), gridspec_kw={"height_ratios": (5, 2)}
    )
    for i, (dial, cells) in enumerate(zip(*axes, strict=True)):
        _dial(dial)
        for earlier in range(max(p - 3, 0), p):  # where it came from
            _hand(dial, earlier * _hand_speeds()[i], PALE_GREY, 1.5)
        _hand(dial, p * _hand_speeds()[i], INK, 3)
        dial.set_title(f"pair {i}", loc="center")
        _cells(cells, code[2 * i : 2 * i + 2])
    return fig


def _dial(ax: Axes) -> None:
    ax.add_patch(plt.Circle((0, 0), 1, fill=False, color=GREY, linewidth=1.5))
    ax.plot([0, 0], [0.88, 1], color=GREY, linewidth=1.5)  # twelve o'clock
    ax.set(xlim=(-1.15, 1.15), ylim=(-1.15, 1.15), aspect="equal")
    ax.set_axis_off()


def _hand(ax: Axes, angle: float, colour: str, width: float) -> None:
    """A hand at an angle from twelve o'clock: its tip is (sine, cosine)."""
    tip = math.sin(angle), math.cos(angle)
    ax.plot(*zip((0, 0), tip, strict=True), color=colour, linewidth=width)


def _cells(ax: Axes, pair: Tensor) -> None:
    """Two numbers, the paler the larger, each below its name."""
    ax.imshow(pair[None].numpy(), vmin=-1, vmax=1, cmap=RISING, aspect="auto")
    for column, (name, value) in enumerate(zip(("sin", "cos"), pair, strict=True)):
        colour = "white" if value < 0.1 else "black"
        text = f"{value:.2f}".replace("-", "−")
        ax.text(column, 0, text, color=colour, ha="center", va="center")
        ax.text(column, -0.6, name, ha="center", va="bottom")
    ax.set_axis_off()


def rotation_figure(
    k: int = 3, starts: Sequence[int] = (0, 5, 11), pairs: Sequence[int] = (0, 1, 2)
) -> Figure:
    """Draw how k positions turn the hands of some pairs, from several positions on.

    Args:
        k: How many positions further.
        starts: The positions from which on.
        pairs: One row of clocks each.
    """
    fig, axes = plt.subplots(len(pairs), len(starts), figsize=(5.2, 5.2), squeeze=False)
    for clocks, i in zip(axes, pairs, strict=True):
        omega = _hand_speeds()[i]
        for ax, p in zip(clocks, starts, strict=True):
            _dial(ax)
            _arc(ax, p * omega, (p + k) * omega)
            _hand(ax, p * omega, GREY, 2)
            _hand(ax, (p + k) * omega, INK, 3)
        clocks[0].text(-1.3, 0, f"pair {i}", rotation=90, ha="right", va="center")
        turned = math.degrees(k * omega)
        clocks[-1].text(1.3, 0, f"{turned:.0f}°", ha="left", va="center")
    for ax, p in zip(axes[0], starts, strict=True):
        ax.set_title(f"{p} → {p + k}", loc="center")
    return fig


def _arc(ax: Axes, start: float, end: float) -> None:
    angles = torch.linspace(start, end, 60, dtype=torch.float64)
    ax.fill(
        [0, *(0.6 * angles.sin())], [0, *(0.6 * angles.cos())], color=SHADE, zorder=0
    )


# The table of sinusoids


def table_figure(n: int = 64, d: int = 64, pairs: Sequence[int] = (4, 8, 16)) -> Figure:
    """Draw the codes of n positions as a heat map, and below it some of their sines."""
    codes = sinusoids(n, d, dtype=torch.float64)
    fig, (top, bottom) = plt.subplots(
        2, sharex=True, figsize=(5.5, 5.4), gridspec_kw={"height_ratios": (3, 2)}
    )
    top.imshow(codes.T.numpy(), vmin=-1, vmax=1, cmap=RISING, aspect="auto")
    top.set(ylabel="number", yticks=[0, *(2 * i for i in pairs), d - 1])
    for line, i in enumerate(pairs):
        colour = RISING(0.3 * line)  # dark, then paler
        bottom.plot(codes[:, 2 * i], label=f"{2 * i}", color=colour)
    bottom.set(xlabel="position p", ylabel="value")
    bottom.set(ylim=(-1.1, 1.1), yticks=(-1, 0, 1))
    label_lines(bottom)
    return fig


def offset_figure(
    d: int = 64, starts: Sequence[int] = (100, 500, 1500), farthest: int = 60
) -> Figure:
    """Draw the dot product of the codes of p and p + k against k, for several p."""
    offsets = range(-farthest, farthest + 1)
    codes = sinusoids(max(starts) + farthest + 1, d, dtype=torch.float64)
    fig, ax = plt.subplots(figsize=(5.5, 3.2))
    looks = zip((6, 3, 1.2), (PALE_GREY, SKY, INK), strict=True)
    for p, (width, colour) in zip(starts, looks, strict=True):
        around = codes[p - farthest : p + farthest + 1]
        products = (around @ codes[p]).round(decimals=9)  # labels in this order
        ax.plot(offsets, products, linewidth=width, color=colour, label=f"p = {p}")
    ax.set(xlabel="distance k", ylabel="PE(p) · PE(p + k)", ylim=(0, None))
    label_lines(ax)
    return fig


# Inside and beyond the trained length

WIDTHS = 12, 16  # of the columns of tables


def runs_of(steps: int) -> dict[str, list[dict]]:
    """The stored runs of so many steps, for each kind of positions."""
    return {
        kind: stored_runs("positions", steps=steps, positions=kind)
        for kind in POSITION_KINDS
    }


def shares(run: dict, length: int = 24) -> Tensor:
    """Right answers of a stored run at each place, in per cent.

    Args:
        run: The run.
        length: Of the sequences: 12, as in training, or 24.

    Returns:
        (length,), mean of the answers that count; NaN at place 0, where none does.
    """
    rows = [
        [math.nan if x is None else x for x in answers]
        for answers in run[f"right_at_{length}"]
    ]
    return 100 * torch.tensor(rows).nanmean(-1)


def print_positions(steps: int) -> None:
    """Print how many answers are right inside and beyond: means over seeds, ranges."""
    columns = ("12 long, all", "24 long, 0–11", "24 long, 12–23")
    print(row(f"{steps} steps", columns, WIDTHS))
    for kind, runs in runs_of(steps).items():
        short = [shares(run, 12) for run in runs]
        long = [shares(run, 24) for run in runs]
        parts = short, [run[:12] for run in long], [run[12:] for run in long]
        print(row(kind, map(_over_places, parts), WIDTHS))


def print_farther() -> None:
    """Print how far the relative kinds go: means over seeds and ranges."""
    lengths = results.load("positions_farther")["lengths"]
    print(row("places", map(str, lengths), WIDTHS))
    for kind in ("relative", "rotary"):
        runs = stored_runs("positions_farther", positions=kind)
        columns = zip(*(run["right"] for run in runs), strict=True)  # one a length
        cells = (mean_and_range([100 * x for x in c], ".0f") for c in columns)
        print(row(kind, cells, WIDTHS))


def _over_places(runs: Sequence[Tensor]) -> str:
    """Mean over places of each run, then mean and range over runs."""
    return mean_and_range([run.nanmean().item() for run in runs], ".0f")


def positions_figure(steps: int) -> Figure:
    """Draw right answers by place, one panel for each kind of positions."""
    trained = results.load("positions")["length"]
    kinds = runs_of(steps)
    fig, axes = plt.subplots(len(kinds), sharex=True, sharey=True, figsize=(5.5, 7))
    for ax, (kind, runs) in zip(axes, kinds.items(), strict=True):
        ax.axvspan(-0.5, trained - 0.5, color=SHADE, lw=0)
        ax.axhline(100 / N_SYMBOLS, color=GREY, linewidth=1.2, linestyle=":")
        for run in runs:
            ax.plot(shares(run), color=INK, linewidth=1.2, marker=".", markersize=4)
        ax.set(title=kind, ylim=(0, 105), yticks=(0, 50, 100))
    axes[-1].set(xlabel="place", xlim=(-0.5, 23.5), xticks=range(0, 24, 4))
    fig.supylabel("right answers, %", size="medium")
    return fig
