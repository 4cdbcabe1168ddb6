"""Chapter 12: the learning rate, and the recorded training run or a new one."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY, INK, SHADE
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.translation import run_folder
from attnbook.translation.configs import config
from attnbook.translation.schedules import noam_learning_rate
from attnbook.translation.train_command import default_config, train


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
        ax.annotate(line.get_label(), (x, y), (6, 4), textcoords="offset points")
    ax.set_ylim(0, 1.12 * ax.dataLim.ymax)


# The run


NAME = "multi30k_en_de"
"""The recorded run."""
LIVE = Path("runs/live")
TARGET = {"color": COLOURS["target"]}


def run(which: str, name: str | None = None, folder: Path = LIVE) -> dict:
    """Give a training run's results and log: the recorded one's, or a new one's."""
    if which == "recorded":
        return results.load(NAME)
    if which == "live":
        made = train(config(name or default_config("auto")), folder)
        return {**made, "log": run_folder.read_metrics(folder / "metrics.jsonl")}
    raise ValueError(f"RUN is {which!r}; choose recorded or live")


def run_table(found: dict) -> Table:
    """Show where a run was made, its model, and what it took."""
    made = found["config"]
    layers = f"{made['n_layers']} + {made['n_layers']} layers"
    norm = "pre-norm" if made["norm_first"] else "post-norm"
    sizes = f"D = {made['d_model']}, d_ff = {made['d_ff']}, {made['n_heads']} heads"
    speed = found["tokens_per_second"]
    rows = [
        ("machine", f"{found['machine']}, {found['precision']}"),
        ("software", ", ".join(f"{n} {v}" for n, v in found["versions"].items())),
        ("commit", found["commit"]),
        ("model", f"{layers}, {sizes}, {norm}"),
        ("parameters", f"{found['parameters']:,}"),
        ("training", f"{found['epochs']} epochs, {found['updates']:,} updates"),
        ("time", f"{found['seconds'] / 60:.0f} minutes"),
        ("speed", f"{speed:,} target tokens per second"),
        ("memory", f"at most {found['peak_memory_mb']:,} MB"),
    ]
    return table(["property", "value"], rows)


def smoothed_floor(smoothing: float, n_tokens: int) -> float:
    """The least smoothed loss of a vocabulary of that size, in nats per token."""
    rest = smoothing / n_tokens
    right = 1 - smoothing + rest
    return -right * math.log(right) - (n_tokens - 1) * rest * math.log(rest)


def training_losses(
    log: Sequence[dict], least: int = 50
) -> tuple[list[int], list[float]]:
    """Join short stretches of a log, such as those at the end of an epoch."""
    steps: list[int] = []
    means: list[float] = []
    start = before = 0
    total = 0.0
    for line in (line for line in log if "loss" in line):
        step = line["step"]
        total += (step - before) * line["loss"]
        before = step
        if step - start >= least:
            steps.append(step)
            means.append(total / (step - start))
            start, total = step, 0.0
    return steps, means


def curves_figure(found: dict) -> Figure:
    """Draw both losses by epoch, and below the validation BLEU."""
    passes = [line for line in found["log"] if "validation_loss" in line]
    updates = passes[0]["step"] / passes[0]["epoch"]  # of an epoch
    epochs = [line["epoch"] for line in passes]
    steps, means = training_losses(found["log"])
    made = found["config"]
    floor = smoothed_floor(made["smoothing"], made["vocab_size"])
    fig, (losses, score) = plt.subplots(2, sharex=True, figsize=(5.5, 5.6))
    for label, xs, ys, look in (
        ("training", [step / updates for step in steps], means, {"color": GREY}),
        ("validation", epochs, [line["validation_loss"] for line in passes], TARGET),
        ("lower bound", [0, epochs[-1]], [floor] * 2, {"color": GREY, "ls": ":"}),
    ):
        losses.plot(xs, ys, label=label, **look)
    losses.set(ylabel="loss, nats per token", ylim=(0, None), xlim=(0, None))
    label_lines(losses)
    score.plot(epochs, [line["validation_bleu"] for line in passes], **TARGET)
    score.set(ylabel="validation BLEU", xlabel="epoch", ylim=(0, None))
    averaged = found["averaged_epochs"]
    first = epochs[-1] - averaged + 0.5
    for ax in (losses, score):
        ax.axvspan(first, epochs[-1] + 0.5, color=SHADE, zorder=0, lw=0)
    text = f"{averaged} epochs\naveraged"
    middle = (first + epochs[-1] + 0.5) / 2
    score.text(middle, 3, text, ha="center", va="bottom")
    score.xaxis.set_major_locator(MaxNLocator(integer=True))
    return fig


def gap_table() -> Table:
    """Show training and validation loss, measured alike: ``multi30k_scores``."""
    rows = []
    for row in results.load("multi30k_scores")["losses"]:
        kept = [entry for entry in ("smoothing", "dropout") if row[entry]]
        rows.append((" and ".join(kept) or "neither", row["train"], row["val"]))
    sides = ("training sentences", "validation sentences")
    heads = [Column(name, "nats per token", digits=2) for name in sides]
    return table(["measured with", *heads], rows)
