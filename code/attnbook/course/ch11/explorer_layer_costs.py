"""Chapter 11: what a layer costs in work, in sequential steps and in path length."""

from __future__ import annotations

import math
from typing import NamedTuple

from attnbook.analysis.complexity import (
    attention_work,
    convolution_work,
    recurrent_work,
)
from attnbook.course.ch11.first_symbol import exponential_dilations
from attnbook.course.kit.explorers.charts import Axis, Bars, Series, numbers
from attnbook.course.kit.explorers.controls import Menu, Slider, Stops
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.html_tables import Column, Table, table

LENGTHS = (
    *(64, 128, 256, 512, 576, 640, 704, 768, 1024, 1536, 2048, 2304, 2560, 2816, 3072),
    *(4096, 4608, 5120, 5632, 6144, 8192, 9728, 10240, 10752, 12288, 16384),
)
CONTROLS = {
    "n": Stops("positions n", LENGTHS, 256),
    "d": Menu("width d", ("64", "256", "512", "1024"), "256"),
    "k": Slider("kernel width k", 3, 9, 3, 2),
}


class Cost(NamedTuple):
    """What one kind of layer, or a stack, costs."""

    linear: int  # multiply-adds that grow with n
    square: int  # and with n²
    steps: int  # sequential
    path: int | None  # the longest one, if all positions are connected


def explore_layer_costs() -> object:
    """Let the reader choose length and width; see :func:`~.explorer.explore`."""
    return explore(layer_costs_view, CONTROLS)


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
    return View(said, (_chart(costs),), alt, _table(costs))


on_page = layer_costs_view


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


def _chart(costs: dict[str, Cost]) -> Bars:
    """A bar for each kind; the part that grows with n² has a colour of its own."""
    linear = numbers(cost.linear / 1e6 for cost in costs.values())
    square = numbers(cost.square / 1e6 for cost in costs.values())
    work = [cost.linear + cost.square for cost in costs.values()]
    most = max(work) / 1e6
    step = 10 ** int(math.log10(most))
    step *= next(k for k in (0.2, 0.5, 1, 2, 5) if most / (k * step) <= 4)
    ticks = numbers(step * k for k in range(int(most / step) + 1))
    return Bars(
        tuple(costs),
        Axis("million multiply-adds", 0, *numbers([1.25 * most]), ticks),
        (Series(linear, "sky", "grows with n"), Series(square, "ink", "with n²")),
        notes=tuple(map(_millions, work)),
        across=True,
        stacked=True,
        height=300,
    )


def _table(costs: dict[str, Cost]) -> Table:
    rows = [(kind, cost.steps, cost.path) for kind, cost in costs.items()]
    heads = ["layer", Column("sequential", "steps"), Column("longest path", "steps")]
    return table(heads, rows)
