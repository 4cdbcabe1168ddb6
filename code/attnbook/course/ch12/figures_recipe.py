"""Chapter 12: the paper's learning rate by width and by length of the warm-up."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.course.kit.colours import INK
from attnbook.course.kit.curves import label_lines
from attnbook.translation.schedules import noam_learning_rate


def learning_rates_figure(last: int = 20_000) -> Figure:
    """Draw the learning rate for three widths, and for three lengths of warm-up."""
    fig, (widths, warmups) = plt.subplots(2, sharex=True, figsize=(5.5, 5.6))
    steps = range(1, last + 1, 50)
    for ax, cases in (
        (widths, [(d, 4000, f"D = {d}") for d in (128, 512, 1024)]),
        (warmups, [(512, w, f"{w:,}") for w in (1000, 4000, 16000)]),
    ):
        for (d_model, warmup, label), look in zip(cases, ("--", "-", ":"), strict=True):
            found = [1000 * noam_learning_rate(step, d_model, warmup) for step in steps]
            ax.plot(steps, found, look, color=INK, label=label)
        ax.set(xlim=(0, last), ylim=(0, None), ylabel="learning rate × 10³")
    widths.set_title("warm-up of 4,000 updates")
    warmups.set(title="D = 512, by updates of warm-up", xlabel="update")
    warmups.set_xticks([0, 5000, 10_000, 15_000, 20_000])
    warmups.xaxis.set_major_formatter("{x:,.0f}")
    label_lines(widths)
    _label_peaks(warmups)
    return fig


def _label_peaks(ax: Axes) -> None:
    """Write each label at its line's peak: at the right end they all meet."""
    for line in ax.get_lines():
        x, y = max(zip(*line.get_data(), strict=True), key=lambda point: point[1])
        ax.annotate(line.get_label(), (x, y), (6, 2), textcoords="offset points")
    ax.set_ylim(0, 1.12 * ax.dataLim.ymax)
