"""Chapter 12: how good the translations are: BLEU, decoding, and where they fail."""

from __future__ import annotations

from collections.abc import Sequence
from textwrap import fill

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.data import multi30k
from attnbook.pages.colours import COLOURS, INK
from attnbook.pages.figures.ch12_training_run import NAME


def print_scores() -> None:
    """Print BLEU and chrF of the shipped model's stored translations, and signatures.

    By test set and decoding, cased and lowercased: ``multi30k_headline``.
    """
    print(f"{'':26}greedy           beam of 5")
    print(f"{'':26}BLEU    chrF     BLEU    chrF")
    for split, scores in results.load("multi30k_headline")["scores"].items():
        for case in ("cased", "lowercased"):
            numbers = [
                f"{scores[f'{how}, {case}'][metric]:.1f}"
                for how in ("greedy", "beam")
                for metric in ("bleu", "chrf")
            ]
            places = "{:8}{:9}{:8}{}".format(*numbers)
            print(f"{f'{_test(split)}, {case}':26}{places}")
    for case in ("cased", "lowercased"):
        for metric, signature in (("BLEU", "signature"), ("chrF", "chrf_signature")):
            print(f"{metric}, {case}: {scores[f'beam, {case}'][signature]}")


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
