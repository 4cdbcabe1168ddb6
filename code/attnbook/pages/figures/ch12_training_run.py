"""Chapter 12: the training run, recorded or made anew: its facts, log and losses."""

from __future__ import annotations

import math
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnbook.core import results
from attnbook.pages.colours import COLOURS, GREY
from attnbook.pages.curves import label_lines
from attnbook.translation import trainer
from attnbook.translation.configs import config
from attnbook.translation.train_command import train

NAME = "multi30k_en_de"
"""The recorded run."""
LIVE = Path("runs/live")
TARGET = {"color": COLOURS["target"]}


def run(which: str, name: str = "multi30k-tiny", folder: Path = LIVE) -> dict:
    """Give a training run's results and log: the recorded one's, or a new one's.

    Args:
        which: "recorded" reads what comes with the package. "live" downloads the data
            and trains on the best device there is; called again, it goes on.
        name: Config of the live run.
        folder: Of the live run.

    Returns:
        What :func:`~attnbook.translation.report.finish` returns, and "log", the lines
        of the metrics.

    Raises:
        ValueError: If it is another word.
    """
    if which == "recorded":
        return results.load(NAME)
    if which == "live":
        log = folder / "metrics.jsonl"
        made = train(config(name), folder)
        return {**made, "log": trainer.read_metrics(log)}
    raise ValueError(f"RUN is {which!r}; choose recorded or live")


def scratch_folder() -> Path:
    """Make a folder for runs that are only looked at."""
    return Path(tempfile.mkdtemp())


def print_log(folder: Path) -> None:
    """Print the lines of a run's log, shortened."""
    for line in trainer.read_metrics(folder / "metrics.jsonl"):
        if "loss" in line:
            speed = f"{line['tokens_per_second']:,.0f} tokens/s"
            print(f"update {line['step']:3}  loss {line['loss']:.3f}  {speed}")
        else:
            print(
                f"epoch {line['epoch']:4}  validation loss "
                f"{line['validation_loss']:.3f}, BLEU {line['validation_bleu']:.1f}"
            )


def print_run(found: dict) -> None:
    """Print what a run was made by, and what it took."""
    made, versions = found["config"], found["versions"]
    print(f"on         {found['machine']}, {found['precision']}")
    print("with      ", ", ".join(f"{n} {v}" for n, v in versions.items()))
    print(f"commit     {found['commit']}")
    print(
        f"model      {made['n_layers']} + {made['n_layers']} layers, D = "
        f"{made['d_model']}, d_ff = {made['d_ff']}, {made['n_heads']} heads, "
        f"{'pre' if made['norm_first'] else 'post'}-norm,"
    )
    print(f"           {found['parameters']:,} parameters")
    print(
        f"training   {found['epochs']} epochs, {found['updates']:,} updates, "
        f"{found['seconds'] / 60:.0f} minutes,"
    )
    print(
        f"           {found['tokens_per_second']:,} target tokens a second, at most "
        f"{found['peak_memory_mb']:,} MB"
    )


def least_smoothed_loss(smoothing: float, n_words: int) -> float:
    """The smoothed loss of a model that knows the answer: nats per token."""
    rest = smoothing / n_words
    right = 1 - smoothing + rest
    return -right * math.log(right) - (n_words - 1) * rest * math.log(rest)


def curves_figure(found: dict) -> Figure:
    """Draw both losses by epoch, and below the validation BLEU."""
    passes = [line for line in found["log"] if "validation_loss" in line]
    steps = [line for line in found["log"] if "loss" in line]
    updates = passes[0]["step"] / passes[0]["epoch"]  # of an epoch
    epochs = [line["epoch"] for line in passes]
    floor = least_smoothed_loss(
        found["config"]["smoothing"], found["config"]["vocab_size"]
    )
    fig, (losses, score) = plt.subplots(2, sharex=True, figsize=(5.5, 5.4))
    for label, xs, ys, look in (
        (
            "training",
            [line["step"] / updates for line in steps],
            [line["loss"] for line in steps],
            {"color": GREY},
        ),
        ("validation", epochs, [line["validation_loss"] for line in passes], TARGET),
        ("least, smoothed", [0, epochs[-1]], [floor] * 2, {"color": GREY, "ls": ":"}),
    ):
        losses.plot(xs, ys, label=label, **look)
    losses.set(ylabel="loss, nats per token", ylim=(0, None), xlim=(0, None))
    label_lines(losses)
    score.plot(epochs, [line["validation_bleu"] for line in passes], **TARGET)
    score.set(ylabel="validation BLEU", xlabel="epochs", ylim=(0, None))
    score.xaxis.set_major_locator(MaxNLocator(integer=True))
    return fig


def print_gap() -> None:
    """Print training and validation loss measured alike: ``multi30k_scores``."""
    found = results.load("multi30k_scores")
    print(f"{'nats per token':24}training   validation")
    for row in found["losses"]:
        kept = ("smoothing", "dropout")
        name = " and ".join(entry for entry in kept if row[entry]) or "neither"
        print(f"{name:24}{row['train']:<11.2f}{row['val']:.2f}")
    print(f"(the first {found['loss_sentences']} sentences of each)")


def print_average() -> None:
    """Print validation BLEU by the number of epochs averaged: ``multi30k_average``."""
    print("mean of         greedy validation BLEU")
    shipped = results.load(NAME)["averaged_epochs"]
    for found in results.load("multi30k_average")["runs"]:
        number = found["epochs"]
        name = "the last epoch" if number == 1 else f"the last {number}"
        mark = "  shipped" if number == shipped else ""
        print(f"{name:15} {found['validation_bleu']:.2f}{mark}")
