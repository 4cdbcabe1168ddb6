"""Figures and tables of chapter 12: the training run, and what came out of it."""

from __future__ import annotations

import math
import tempfile
from collections.abc import Sequence
from pathlib import Path
from textwrap import fill

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnbook.core import results
from attnbook.data import multi30k
from attnbook.pages.style import COLOURS, INK, label_lines
from attnbook.translation import trainer
from attnbook.translation.configs import config
from attnbook.translation.train_command import train

GREY = "#8C959F"
NAME = "multi30k_en_de"
LIVE = Path("runs/live")

# The run


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
    log = found["log"]
    epochs = [line for line in log if "validation_loss" in line]
    updates = epochs[0]["step"] / epochs[0]["epoch"]  # of an epoch
    trainer = [line for line in log if "loss" in line]
    fig, (losses, score) = plt.subplots(2, sharex=True, figsize=(5.5, 5.4))
    losses.plot(
        [line["step"] / updates for line in trainer],
        [line["loss"] for line in trainer],
        color=GREY,
        label="training",
    )
    numbers = [line["epoch"] for line in epochs]
    losses.plot(
        numbers,
        [line["validation_loss"] for line in epochs],
        color=COLOURS["target"],
        label="validation",
    )
    made = found["config"]
    floor = least_smoothed_loss(made["smoothing"], made["vocabulary"])
    losses.plot(
        [0, numbers[-1]], [floor, floor], ":", color=GREY, label="least, smoothed"
    )
    losses.set(ylabel="loss, nats per token", ylim=(0, None), xlim=(0, None))
    label_lines(losses)
    score.plot(
        numbers, [line["validation_bleu"] for line in epochs], color=COLOURS["target"]
    )
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


# Scores


def print_scores(found: dict) -> None:
    """Print BLEU by test set and decoding, cased and lowercased, and the signature."""
    print(f"{'':26}greedy    beam of 5")
    for split, scores in found["scores"].items():
        for case in ("cased", "lowercased"):
            greedy, beam = (
                scores[f"{how}, {case}"]["bleu"] for how in ("greedy", "beam")
            )
            print(f"{f'{_test(split)}, {case}':26}{greedy:<10.1f}{beam:.1f}")
    for case in ("cased", "lowercased"):
        print(f"{case}: {scores[f'beam, {case}']['signature']}")


BEST_FOUND = {"test_2016_flickr": 41.02}
"""English to German, text only, trained on Multi30k alone, lowercased: Wu et al. 2021,
from the README of LividWo/Revisit-MMT."""


def print_beside(found: dict) -> None:
    """Print the lowercased scores beside the best published ones that we found."""
    print("lowercased   this run   best found")
    for split, scores in found["scores"].items():
        ours = scores["beam, lowercased"]["bleu"]
        lead = f"{_test(split):13}{ours:<11.1f}"
        if split not in BEST_FOUND:
            print(f"{lead}none we could check")
            continue
        best = BEST_FOUND[split]
        side = "above" if ours >= best else "below"
        print(f"{lead}{best:.1f}: {abs(best - ours):.1f} {side}")


def _test(split: str) -> str:
    return "test " + split.removeprefix("test_").removesuffix("_flickr")


def print_scorings() -> None:
    """Print one output's BLEU by several rules: ``multi30k_scores``."""
    for row in results.load("multi30k_scores")["scorings"]:
        print(f"{row['rule']:36}{row['bleu']:5.1f}")


def print_comparison() -> None:
    """Print greedy decoding beside the beam: ``multi30k_scores``."""
    stored = results.load("multi30k_scores")
    found = stored["comparison"]
    bleu, gain, p = found["bleu"], found["bleu"] - found["other"], found["p_value"]
    print(f"beam {bleu:.1f}; on sentences drawn anew ± {stored['margin']:.1f}")
    print(f"beam less greedy {gain:+.1f}")
    least = 1 / 1001  # of 1,000 draws
    says = "p ≤ 0.001" if p <= least else f"p = {p:.3f}"
    print(f"by chance alone so large a difference: {says}")


def print_alphas(found: dict) -> None:
    """Print the validation BLEU by length penalty, and which was taken."""
    for alpha, score in found["validation_bleu_by_alpha"].items():
        taken = "  taken" if float(alpha) == found["alpha"] else ""
        print(f"α = {float(alpha):3.1f}: validation BLEU {score:.2f}{taken}")


def beams_figure() -> Figure:
    """Draw BLEU and time by the width of the beam: ``multi30k_beams``."""
    runs = results.load("multi30k_beams")["runs"]
    widths = [run["width"] for run in runs]
    fig, axes = plt.subplots(2, sharex=True, figsize=(5.5, 4.6))
    for ax, entry, label in zip(
        axes, ("bleu", "seconds"), ("BLEU", "processor time, s"), strict=True
    ):
        values = [run[entry] for run in runs]
        ax.plot(widths, values, marker="o", color=COLOURS["target"])
        ax.set_ylabel(label)
    scores = [run["bleu"] for run in runs]
    axes[0].set_ylim(min(scores) - 1, max(scores) + 1)
    axes[1].set(ylim=(0, None), xlabel="width of the beam", xticks=widths)
    return fig


def print_average() -> None:
    """Print validation BLEU by the number of epochs averaged: ``multi30k_average``."""
    print("mean of         greedy validation BLEU")
    shipped = results.load(NAME)["averaged_epochs"]
    for found in results.load("multi30k_average")["runs"]:
        number = found["epochs"]
        name = "the last epoch" if number == 1 else f"the last {number}"
        mark = "  shipped" if number == shipped else ""
        print(f"{name:15} {found['validation_bleu']:.2f}{mark}")


# Where it fails


def lengths_figure() -> Figure:
    """Draw BLEU by length of the source: ``multi30k_scores``."""
    groups = results.load("multi30k_scores")["by_length"]
    words = [f"{g['first']}–{g['last']}" for g in groups]
    words[0], words[-1] = f"to {groups[0]['last']}", f"{groups[-1]['first']} on"
    names = [f"{w}\n({g['sentences']})" for w, g in zip(words, groups, strict=True)]
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    bars = ax.bar(
        names,
        [g["bleu"] for g in groups],
        yerr=[g["margin"] for g in groups],
        error_kw={"ecolor": INK, "capsize": 4},
        color=COLOURS["target"],
    )
    ax.bar_label(bars, [f"{g['bleu']:.0f}" for g in groups], padding=2)
    ax.margins(y=0.15)
    ax.set(ylabel="BLEU", xlabel="words of the source (sentences)")
    return fig


def print_worst(numbers: Sequence[int]) -> None:
    """Print some stored translations; beside them source and reference, if at hand.

    Args:
        numbers: Of sentences of the test set of 2016.
    """
    split = "test_2016_flickr"
    said = results.load(f"{NAME}_hypotheses")[split]["beam"]
    sides = {"ours": said}
    if multi30k.available():
        english, german = (multi30k.sentences(split, x) for x in ("en", "de"))
        sides = {"English": english, "ours": said, "right": german}
    for number in numbers:
        for name, sentences in sides.items():
            lead = f"{f'{number} {name}':12}"
            text = lead + sentences[number]
            indent, dots = " " * 12, " …"
            print(
                fill(text, 79, subsequent_indent=indent, max_lines=3, placeholder=dots)
            )
