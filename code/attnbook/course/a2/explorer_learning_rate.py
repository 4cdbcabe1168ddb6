"""Appendix A2: any of the blocks, at any of the learning rates, while it trains."""

from attnbook.core import results
from attnbook.course.a2.figures import PARTS
from attnbook.course.kit.explorers.charts import Axis, Line, Lines, numbers
from attnbook.course.kit.explorers.controls import Menu
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.course.kit.tables import stored_runs

BLOCKS = {
    "post-norm, as in 2017": "post_norm",
    "pre-norm baseline": "pre_norm",
    **{f"baseline with {label}": name for name, label in PARTS.items()},
    "today": "today",
    "today, with experts": "experts",
}
"""What the reader chooses, and the stored variant."""
RATES = {f"{rate:g}": rate for rate in (0.001, 0.003, 0.01, 0.03)}
CONTROLS = {
    "block": Menu("block", tuple(BLOCKS), "post-norm, as in 2017"),
    "rate": Menu("learning rate", tuple(RATES), "0.03"),
}
MOST = 3.2
"""Nats, a little more than any stored loss."""


def learning_rate_view(block: str, rate: str) -> View:
    """Training losses of three seeds, and what is left of them on held-out texts."""
    name = f"block_{BLOCKS[block]}"
    runs = stored_runs(name, learning_rate=RATES[rate])
    excess = sorted(f"{run['excess'][0]:.3f}" for run in runs)
    alike = excess[0] == excess[-1]
    nats = f"{excess[0]}" if alike else f"{excess[0]} to {excess[-1]}"
    said = f"After training, the excess loss on held-out texts is {nats} nats" + (
        " per character with every seed." if alike else " per character."
    )
    steps = results.load(name)["steps"]
    width = steps // len(runs[0]["losses"])

    def nats_at(step: int, digits: int) -> str:
        each = sorted(f"{run['losses'][step]:.{digits}f}" for run in runs)
        low, high = each[0], each[-1]
        return f"at {low}" if low == high else f"between {low} and {high}"

    alt = (
        f"Three lines of the training loss, in means of {width} steps: they begin "
        f"{nats_at(0, 1)} nats and end {nats_at(-1, 2)} nats."
    )
    last = len(runs[0]["losses"]) - 1
    ticks = (0, (last + 1) // 2, last)
    names = tuple(f"{width * (tick + 1)}" for tick in ticks)
    chart = Lines(
        Axis("step", 0, last, ticks, names),
        Axis("training loss (nats)", 0, MOST, (0, 1, 2, 3)),
        tuple(Line(numbers(run["losses"])) for run in runs),
        height=230,
    )
    return View(said, (chart,), alt)


explore_learning_rate = Explorer(learning_rate_view, CONTROLS)
