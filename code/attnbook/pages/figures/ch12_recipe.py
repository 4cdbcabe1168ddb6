"""Chapter 12: what is trained for, and how fast: label smoothing, learning rates."""

from __future__ import annotations

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.pages.colours import COLOURS, GREY, INK, TEXT_COLOURS, text_colour
from attnbook.pages.curves import label_lines
from attnbook.pages.tables import mean_and_range, stored_runs
from attnbook.translation.schedules import noam_learning_rate

# Label smoothing


def smoothing_runs(samples: str | int) -> dict[float, list[dict]]:
    """Stored runs on fresh samples or on few, by amount of smoothing."""
    where = {"name": "smoothing_known", "samples": samples}
    amounts = sorted({run["smoothing"] for run in stored_runs(**where)})
    return {a: stored_runs(**where, smoothing=a) for a in amounts}


def print_smoothing() -> None:
    """Print perplexity and accuracy by ε: mean of the seeds, least and greatest."""
    stored = results.load("smoothing_known")
    best = stored["best"]
    print(f"the language itself: perplexity {best['perplexity']:.2f},", end=" ")
    print(f"first choice right {best['accuracy']:.1%}")
    few = next(r["samples"] for r in stored["runs"] if r["samples"] != "fresh")
    for samples, title in (("fresh", "fresh samples"), (few, f"{few:,} samples")):
        print(f"{title:16} {'perplexity':22} first choice right")
        for amount, runs in smoothing_runs(samples).items():
            found = [run["perplexity"] for run in runs]
            perplexity = mean_and_range(found, ".2f", " to ")
            accuracy = [f"{run['accuracy']:.1%}" for run in runs]
            between = " to ".join(sorted({min(accuracy), max(accuracy)}))
            print(f"  ε = {amount:<10} {perplexity:22} {between}")


def smoothing_figure() -> Figure:
    """Draw one smoothed target, and below perplexity by ε, on fresh samples and few."""
    fig, (bars, fresh, few) = plt.subplots(
        3, figsize=(5.5, 7.2), gridspec_kw={"height_ratios": [0.8, 1, 1]}
    )
    _target_bars(bars)
    stored = results.load("smoothing_known")
    number = next(r["samples"] for r in stored["runs"] if r["samples"] != "fresh")
    limit = {float(a): x["perplexity"] for a, x in stored["limit"].items()}
    fresh.plot([*limit], [*limit.values()], color=GREY)
    fresh.text(0.21, limit[0.1], "line: by formula", color=text_colour(GREY))
    _perplexity_dots(fresh, "fresh", "trained on fresh samples")
    _perplexity_dots(few, number, f"trained on {number:,} samples, again and again")
    few.axhline(stored["best"]["perplexity"], color=GREY, linewidth=1.2)
    few.text(0.3, stored["best"]["perplexity"] + 0.5, "the language itself", ha="right")
    few.set(xlabel="label smoothing ε")
    fig.align_ylabels()
    return fig


def _target_bars(ax: Axes, words: int = 8, right: int = 3, amount: float = 0.1) -> None:
    """Draw the two targets of a word among eight, plain and smoothed."""
    plain = [float(word == right) for word in range(words)]
    smoothed = [(1 - amount) * x + amount / words for x in plain]
    at = range(words)
    ax.bar([x - 0.2 for x in at], plain, 0.4, color=GREY)
    ax.bar([x + 0.2 for x in at], smoothed, 0.4, color=COLOURS["target"])
    ax.text(right - 0.5, 0.8, "ε = 0", ha="right", color=INK)
    ax.text(right + 0.5, 0.8, f"ε = {amount}", color=TEXT_COLOURS["target"])
    ax.text(0.2, 0.06, f"{smoothed[0]:g} each", color=TEXT_COLOURS["target"])
    ax.set(title=f"what is called right, {words} words", xlabel="word")
    ax.set(xticks=list(at), ylim=(0, 1.05))


def _perplexity_dots(ax: Axes, samples: str | int, title: str) -> None:
    for amount, runs in smoothing_runs(samples).items():
        found = [run["perplexity"] for run in runs]
        ax.plot([amount] * len(found), found, "o", color=COLOURS["target"])
    ax.set(title=title, ylabel="perplexity", xticks=[0, 0.1, 0.2, 0.3])


# The learning rate


def rates_figure(last: int = 20_000) -> Figure:
    """Draw the paper's rate for three widths, and for three lengths of warm-up."""
    fig, (widths, warmups) = plt.subplots(2, sharex=True, figsize=(5.5, 5.6))
    steps = range(1, last + 1, 50)
    for ax, cases in (
        (widths, [(d, 4000, f"D = {d}") for d in (128, 512, 1024)]),
        (warmups, [(512, w, f"{w:,}") for w in (1000, 4000, 16000)]),
    ):
        for (d_model, warmup, label), look in zip(cases, ("--", "-", ":"), strict=True):
            rates = [1000 * noam_learning_rate(step, d_model, warmup) for step in steps]
            ax.plot(steps, rates, look, color=INK, label=label)
        ax.set(xlim=(0, last), ylim=(0, None), ylabel="rate, thousandths")
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
