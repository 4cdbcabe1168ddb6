"""Figures and tables of chapter 12: data, loss and learning rate."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.pages.drawings.diagram import Diagram
from attnbook.pages.style import COLOURS, INK, TEXT_COLOURS, label_lines, text_colour
from attnbook.translation.schedules import noam_learning_rate

GREY = "#8C959F"
PALE = "#E3E6EA"

# The way of a batch


def batch_diagram() -> Diagram:
    """Draw the way of a batch in training, from sentences to an update."""
    d = Diagram(
        370,
        474,
        alt=(
            "A column of boxes joined by arrows: sentence pairs as text, subwords, "
            "batch by tokens, Transformer, smoothed loss, one update. From the batch "
            "ids (B, S) and (B, T) go to the Transformer, logits (B, T, V) go to the "
            "loss. A rate from the schedule goes into the update, and an arrow leads "
            "from the update back to the Transformer, the one dark box."
        ),
    )
    x, size = 170, {"width": 150, "height": 42}
    way = [d.text("sentence pairs", x, 22)]
    names = ("clean text", "subwords", "batch by tokens", "Transformer")
    for row, name in enumerate((*names, "smoothed loss", "update by Adam"), start=1):
        way.append(d.box(name, x, 18 + 71 * row, filled=name == names[-1], **size))
    labels = ("", "", "ids", "(B, S), (B, T)", "(B, T, V)", "a number")
    for above, below, label in zip(way, way[1:], labels, strict=False):
        d.arrow(above, below, label=label)
    update, transformer = way[-1], way[4]
    edge = x + 75
    d.arrow(
        (edge, update.y),
        (edge + 95, update.y),
        (edge + 95, transformer.y),
        (edge, transformer.y),
    )
    d.text("weights", edge + 57, update.y - 52)
    d.arrow(d.text("rate", 34, update.y), update)
    return d


# What the data holds

WAYS = {
    "random": "drawn at random",
    "pooled": "like length, in pools",
    "tokens": "like length, by tokens",
}


def print_facts() -> None:
    """Print what was counted in Multi30k: sentences, words, words not seen before."""
    stored = results.load("multi30k_facts")
    pairs = stored["sentences"]
    print("pairs:", ", ".join(f"{name} {n:,}" for name, n in pairs.items()))
    rows = [stored["rows"][language] for language in ("en", "de")]
    print(f"{'':28}{'English':>9}{'German':>9}")
    for label, value in (
        ("words for training", lambda row: f"{row['words']:,}"),
        ("different ones", lambda row: f"{row['types']:,}"),
        ("of these, seen once", lambda row: f"{row['once'] / row['types']:.0%}"),
        ("words of val never seen", lambda row: _share(row, "unknown", "words")),
        (
            "sentences of val with one",
            lambda row: f"{row['val_sentences_unknown'] / pairs['val']:.0%}",
        ),
    ):
        _print_row(label, rows, value)


def print_places() -> None:
    """Print the places of a sentence as words, subwords and characters."""
    stored = results.load("multi30k_facts")
    rows = [stored["rows"][language] for language in ("en", "de")]
    print(f"{'places a sentence, mean':28}{'English':>9}{'German':>9}")
    for unit in ("words", "subwords", "characters"):
        _print_row(
            unit, rows, lambda row, unit=unit: f"{row['per_sentence'][unit]:.1f}"
        )
    _print_row("different characters", rows, lambda row: f"{row['characters']}")
    _print_row("val pieces without an id", rows, lambda row: f"{row['val_unk']}")


def _share(row: dict, part: str, whole: str) -> str:
    return f"{row[f'val_{part}'] / row[f'val_{whole}']:.1%}"


def _print_row(label: str, rows: Sequence[dict], value: Callable[[dict], str]) -> None:
    print(f"{label:28}{value(rows[0]):>9}{value(rows[1]):>9}")


# Batches


def print_padding() -> None:
    """Print the share of pads in one pass over Multi30k, batched in four ways."""
    stored = results.load("multi30k_facts")
    names = {**WAYS, "sorted": "all sorted, by number"}
    for way, share in stored["padding"].items():
        print(f"{names[way]:23} {share:6.1%} of the places are pads")
    print("pairs a batch:", stored["pairs_per_batch"], "(by tokens: on average)")


def batches_figure() -> Figure:
    """Draw one stored batch of each kind, source and target, a row a pair."""
    stored = results.load("multi30k_facts")
    fig, axes = plt.subplots(len(WAYS), 2, sharex=True, sharey="row", figsize=(5.5, 6))
    for (left, right), (way, name) in zip(axes, WAYS.items(), strict=True):
        pairs = stored["shown"][way]
        sides = list(zip(*pairs, strict=True))  # lengths of sources, of targets
        for ax, side, lengths in zip(
            (left, right), ("source", "target"), sides, strict=True
        ):
            _draw_rows(ax, lengths, COLOURS[side])
        places = len(pairs) * sum(map(max, sides))
        pads = 1 - sum(map(sum, sides)) / places
        left.set_title(f"{name}: {len(pairs)} pairs, {pads:.0%} pads")
    for ax, side in zip(axes[-1], ("source", "target"), strict=True):
        ax.set_xlabel(f"places of the {side}", color=TEXT_COLOURS[side])
    return fig


def _draw_rows(ax: Axes, lengths: Sequence[int], colour: str) -> None:
    """Draw sentences as rows, filled up with pale pads to the longest."""
    rows = range(len(lengths))
    ax.barh(rows, max(lengths), height=1, color=PALE)
    ax.barh(rows, lengths, height=1, color=colour)
    ax.set(ylim=(len(lengths) - 0.5, -0.5), yticks=[], xticks=[0, 10, 20, 30])


# Label smoothing


def smoothing_runs(samples: str | int) -> dict[float, list[dict]]:
    """Stored runs on fresh samples or on few, by amount of smoothing."""
    runs = [
        run
        for run in results.load("smoothing_known")["runs"]
        if run["samples"] == samples
    ]
    amounts = sorted({run["smoothing"] for run in runs})
    return {a: [run for run in runs if run["smoothing"] == a] for a in amounts}


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
            perplexity = _range([run["perplexity"] for run in runs], ".2f")
            accuracy = [f"{run['accuracy']:.1%}" for run in runs]
            between = " to ".join(sorted({min(accuracy), max(accuracy)}))
            print(f"  ε = {amount:<10} {perplexity:22} {between}")


def _range(numbers: Sequence[float], form: str) -> str:
    mean, least, most = fmean(numbers), min(numbers), max(numbers)
    return f"{mean:{form}} ({least:{form}} to {most:{form}})"


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


# The rate


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
