"""Chapter 11: what a layer costs in work, in sequential steps and in path length."""

from __future__ import annotations

from typing import NamedTuple

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.analysis.complexity import (
    attention_work,
    convolution_work,
    recurrent_work,
)
from attnbook.course.kit.colours import INK, PALE_GREY, SKY
from attnbook.course.kit.explorers.controls import Menu, Slider
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import Column, table
from attnbook.toy.last_position import exponential_dilations

CONTROLS = {
    "n": Slider("positions n", 64, 16384, 256, 64),
    "d": Menu("width d", ("64", "256", "512", "1024"), "256"),
    "k": Slider("kernel width k", 3, 9, 3, 2),
}
CAPTION = (
    "**Short sequences favour self-attention; on long ones, its quadratic part costs "
    "more than anything else.** Multiply-adds by formula. *GRU*: unidirectional. "
    "*Dilated stack*: enough convolutions, with dilations 1, k, k² …, to connect all "
    "n positions; a single convolution sees only k of them."
)


class Cost(NamedTuple):
    """What one kind of layer, or a stack, costs."""

    linear: int  # multiply-adds that grow with n
    square: int  # and with n²
    steps: int  # sequential
    path: int | None  # the longest one, if all positions are connected


def explore_layer_costs() -> object:
    """Let the reader choose length and width; see :func:`~.explorer.explore`."""
    return explore(layer_costs_view, CONTROLS, caption=CAPTION)


def layer_costs_view(n: int, d: str, k: int) -> View:
    """The costs of each kind of layer."""
    costs = layer_costs(n, int(d), k)
    work = {kind: cost.linear + cost.square for kind, cost in costs.items()}
    own = work["self-attention"]
    said = (
        f"Self-attention takes {own / work['GRU']:.2f} times the work of the GRU and "
        f"{own / work['dilated stack']:.2f} times that of the dilated stack; "
        f"{100 * costs['self-attention'].square / own:.0f} % of it grows with n²."
    )
    alt = " ".join(
        f"{kind}: {_millions(number)} million multiply-adds."
        for kind, number in work.items()
    )
    return View(said, _figure(costs), alt, _table(costs))


def layer_costs(n: int, d: int, k: int) -> dict[str, Cost]:
    """Costs by kind of layer."""
    square = attention_work(n, d, projections=False)
    layers = len(exponential_dilations(n, k))
    one = convolution_work(n, d, k)
    return {
        "self-attention": Cost(attention_work(n, d) - square, square, 1, 1),
        "GRU": Cost(recurrent_work(n, d), 0, n, n),
        "dilated stack": Cost(layers * one, 0, layers, layers),
        "one convolution": Cost(one, 0, 1, None),
    }


def _millions(work: int) -> str:
    return f"{work / 1e6:,.1f}" if work < 1e8 else f"{work / 1e6:,.0f}"


def _figure(costs: dict[str, Cost]) -> Figure:
    """A bar for each kind; the part that grows with n² has a colour of its own."""
    fig, ax = plt.subplots(figsize=(5.5, 3.0))
    kinds = [*costs]
    linear = [c.linear / 1e6 for c in costs.values()]
    square = [c.square / 1e6 for c in costs.values()]
    ax.barh(kinds, linear, color=SKY, height=0.6, label="grows with n")
    ax.barh(kinds, square, left=linear, color=INK, height=0.6, label="with n²")
    for kind, cost in costs.items():
        total = (cost.linear + cost.square) / 1e6
        text = f" {_millions(cost.linear + cost.square)}"
        ax.text(total, kind, text, va="center")
    ax.set(
        xlabel="million multiply-adds",
        xlim=(0, 1.3 * max(map(sum, zip(linear, square, strict=True)))),
    )
    ax.invert_yaxis()
    ax.tick_params("y", length=0)
    ax.spines["left"].set_color(PALE_GREY)
    ax.xaxis.set_major_locator(plt.MaxNLocator(3))
    ax.xaxis.set_major_formatter("{x:,.0f}")
    fig.legend(loc="outside upper center", ncols=2)
    return fig


def _table(costs: dict[str, Cost]) -> str:
    rows = [(kind, cost.steps, cost.path) for kind, cost in costs.items()]
    heads = ["layer", Column("sequential", "steps"), Column("longest path", "steps")]
    return table(heads, rows)._repr_html_()
