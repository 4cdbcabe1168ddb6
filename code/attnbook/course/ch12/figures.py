"""Figures and tables of chapter 12, but for those of the runs on a GPU."""

import math
from collections.abc import Sequence

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from matplotlib.ticker import MaxNLocator

from attnbook.analysis.word_maps import word_weights
from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY, INK, SHADE, SKY, TEXT_COLOURS
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.exact_match import CURVES
from attnbook.course.kit.heat_maps import PALE_LINES, heat_map
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import NAMES, Value, pivot
from attnbook.translation.report import TEST_SPLITS
from attnbook.translation.schedules import noam_learning_rate

# What Multi30k contains, and how much of its batches is padding

METHODS = {
    "random": "drawn at random",
    "pooled": "sorted in pools of 16 batches",
    "tokens": "all sorted, cut by tokens",
}
"""Ways of cutting pairs into batches, as a reader calls them."""


def data_table() -> Table:
    """Show what was counted in both languages: words, rare words, lengths."""
    stored, words = results.load("multi30k_facts"), "training words"
    runs = [
        {"language": name, **stored["rows"][language]}
        for language, name in (("en", "English"), ("de", "German"))
    ]
    once = Value(lambda run: run["once"] / run["types"], "%", 100, 0, "once", words)
    share = 100 / stored["sentences"]["val"]
    lengths = [
        Value(("per_sentence", unit), "", 1, 1, unit, "mean length")
        for unit in ("words", "subwords", "characters")
    ]
    return pivot(
        runs,
        "language",
        None,
        Value("words", name="all", group=words),
        Value("types", name="distinct", group=words),
        once,
        Value("val_sentences_unknown", "%", share, 0, "unseen", "validation"),
        *lengths,
    )


def batches_figure() -> Figure:
    """Draw one stored batch of three kinds, source and target, a pair in each row."""
    stored = results.load("multi30k_facts")
    fig, axes = plt.subplots(3, 2, sharex=True, sharey="row", figsize=(5.5, 6))
    for (left, right), (method, name) in zip(axes, METHODS.items(), strict=True):
        pairs = stored["shown"][method]
        sides = list(zip(*pairs, strict=True))  # lengths of sources, of targets
        for ax, side, lengths in zip(
            (left, right), ("source", "target"), sides, strict=True
        ):
            rows = range(len(lengths))  # each with padding to the longest
            ax.barh(rows, max(lengths), height=1, color=SHADE)
            ax.barh(rows, lengths, height=1, color=COLOURS[side])
            ax.set(ylim=(len(rows) - 0.5, -0.5), yticks=[], xticks=[0, 10, 20, 30])
        positions = len(pairs) * sum(map(max, sides))
        padding = 1 - sum(map(sum, sides)) / positions
        left.set_title(f"{name}: {len(pairs)} pairs, {padding:.0%} padding")
    for ax, side in zip(axes[-1], ("source", "target"), strict=True):
        ax.set_xlabel(f"{side} positions", color=TEXT_COLOURS[side])
    return fig


# The learning rate


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
    for line in warmups.get_lines():  # each at its peak: at the right end they all meet
        peak = max(zip(*line.get_data(), strict=True), key=lambda point: point[1])
        warmups.annotate(line.get_label(), peak, (6, 4), textcoords="offset points")
    warmups.set_ylim(0, 1.12 * warmups.dataLim.ymax)
    return fig


# The run


NAME = "multi30k_en_de"
"""The recorded run."""
TARGET = {"color": COLOURS["target"]}


def smoothed_floor(smoothing: float, n_tokens: int) -> float:
    """The least smoothed loss of a vocabulary of that size, in nats per token."""
    rest = smoothing / n_tokens
    right = 1 - smoothing + rest
    return -right * math.log(right) - (n_tokens - 1) * rest * math.log(rest)


def training_losses(log: Sequence[dict]) -> tuple[list[int], list[float]]:
    """Join short stretches of a log, such as those at the end of an epoch."""
    steps: list[int] = []
    means: list[float] = []
    start = before = 0
    total = 0.0
    for line in (line for line in log if "loss" in line):
        step = line["step"]
        total += (step - before) * line["loss"]
        before = step
        if step - start >= 50:
            steps.append(step)
            means.append(total / (step - start))
            start, total = step, 0.0
    return steps, means


def curves_figure() -> Figure:
    """Draw the recorded run's losses by epoch, and below the validation BLEU."""
    found = results.load(NAME)
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


# Scores on the test sets, and runs that differ in one thing

BEAM, GREEDY = "beam, lowercased", "greedy, lowercased"
LADDER = {
    "initial_state": (NAMES["initial_state"], CURVES["initial_state"][0]),
    "static_context": (NAMES["static_last"], CURVES["static_last"][0]),
    "bahdanau": (NAMES["bahdanau"], CURVES["bahdanau"][0]),
    "luong": (NAMES["luong_general"], SKY),
    "transformer": (NAMES["transformer"], CURVES["transformer"][0]),
}
"""Label and colour of each model, as in the figure that grows."""


def part(name: str) -> dict:
    """Give what is stored of a part of the runs."""
    return results.load("multi30k_runs")["parts"][name]


# Models and parts compared


def whole_ladder() -> list[dict]:
    """Give the runs of the five models to their end, with name and colour of each."""
    runs = results.load("gpu_runs")["trained"]["ladder"]["runs"]
    return [
        {**runs[name], "name": name, "model": label, "colour": colour}
        for name, (label, colour) in LADDER.items()
    ]


def five() -> dict[str, dict]:
    """Give the models that were trained alike, by name: ``five_translators``."""
    return results.load("five_translators")["models"]


ATTEND = ("bahdanau", "luong", "transformer")
GLOSSES = {
    "initial_state": "The big …, who a white T-shirt wears, holds a red ball.",
    "static_context": (
        "The big woman, who a small boy, who another dog, while a young woman on the "
        "floor."
    ),
    "bahdanau": (
        "The old bass player watches a bird and a young woman, who a big dog to see."
    ),
    "luong": (
        "The old man and the bird, who a bird and three woman follows the big dog."
    ),
    "transformer": (
        "The old farmer sees a bird and a young woman follows, who a big dog follows."
    ),
}
"""What each model's translation of the sentence says, word by word."""


LEFT_OUT = "Puller"
"""A coarse word that a model put together from subwords; a page shows dots for it."""


def translations_table() -> Table:
    """Show the translations of the sentence, and what they say word by word."""
    rows = []
    for name, found in five().items():
        text = found["translations"][0]["text"].replace(LEFT_OUT, "…")
        rows.append((LADDER[name][0], text, GLOSSES[name]))
    return table(["model", "its translation", "word by word"], rows)


def maps_figure() -> Figure:
    """Draw which words of the sentence the words of three translations attend to."""
    found = [five()[name]["translations"][0] for name in ATTEND]
    maps = [
        word_weights(torch.tensor(x["weights"]), x["target"], x["source"])
        for x in found
    ]
    rows = [len(target) for _, target, _ in maps]
    size = 5.5, 0.22 * sum(rows) + 2.3
    fig, axes = plt.subplots(len(maps), figsize=size, height_ratios=rows)
    for ax, name, (weights, target, source) in zip(axes, ATTEND, maps, strict=True):
        below = source if ax is axes[-1] else ()
        roles = "target", "source"
        heat_map(ax, weights, rows=target, columns=below, roles=roles, **PALE_LINES)
        ax.set_title(LADDER[name][0])
    return fig


def models_table() -> Table:
    """Show validation BLEU after eight epochs and after full runs, and the loss."""

    def early(run: dict) -> float | None:
        name = run["name"]
        return five()[name]["beam"]["bleu"] if name in five() else None

    values = (
        Value(early, "BLEU", 1, 1, "beam", "eight epochs"),
        Value("validation_loss", "nats", 1, 2, "loss", "full run"),
        Value(bleu_by("greedy"), "BLEU", 1, 1, "greedy", "full run"),
        Value(bleu_by("beam"), "BLEU", 1, 1, "beam", "full run"),
    )
    return pivot(whole_ladder(), "model", None, *values)


def bleu_by(how: str) -> tuple[str, ...]:
    """Where a run has its validation BLEU, cased, by a way of decoding."""
    return "validation_scores", f"{how}, cased", "bleu"


ABLATION = {
    "the model": {
        "as_it_is": "unchanged",
        "heads_1": "one head instead of four",
        "heads_8": "eight heads instead of four",
        "no_scale": "no division by the root of d_k",
        "no_positions": "no positional encoding",
        "no_feed_forward": "no feed-forward networks",
        "post_norm": "post-norm instead of pre-norm",
        "post_norm_slow": "post-norm, learning rate 0.001",
    },
    "the training": {
        "dropout_0": "no dropout",
        "dropout_0.1": "dropout 0.1 instead of 0.2",
        "smoothing_0": "no label smoothing",
        "r_drop_5": "with R-Drop",
        "lowercase": "all text in lower case",
    },
}
"""The runs with one thing changed, as a reader calls them, by what is changed."""


def ablation(kind: str) -> dict[str, list[dict]]:
    """Give the runs with one thing changed, one or two seeds, by their stored names."""
    first, second = part("ablation")["runs"], part("ablation_seed_2")["runs"]
    second = second | {"as_it_is": first["seed_2"]}
    return {
        name: [runs[name] for runs in (first, second) if name in runs]
        for name in ABLATION[kind]
    }


def ablation_table() -> Table:
    """Show the validation loss and scores (beam, cased) with one thing changed."""
    groups = {
        f"changes of {kind}": [
            (ABLATION[kind][name], *loss_and_bleu(runs))
            for name, runs in ablation(kind).items()
            if name not in ("post_norm_slow", "r_drop_5", "lowercase")
        ]
        for kind in ABLATION
    }
    heads = [Column("loss", "nats", "validation", 2)]
    heads += [Column("BLEU", "", "validation", 1)]
    return table(["Transformer", *heads], groups)


def loss_and_bleu(runs: list[dict]) -> list[float | Spread]:
    """On validation data (beam, cased), over seeds if there are several."""
    losses = [run["validation_loss"] for run in runs]
    scores = [run["validation_scores"]["beam, cased"]["bleu"] for run in runs]
    return [spread(x) if len(x) > 1 else x[0] for x in (losses, scores)]


# Scores


PUBLISHED = {"test_2016_flickr": 41.02}
"""BLEU, English to German, text alone, trained on Multi30k alone, lowercased: Wu et al.
2021, from README-baseline.md of LividWo/Revisit-MMT. Its tokenisation and sacreBLEU's
13a agree in 991 of the 1,000 lowercased references."""

FIVE_CAPTIONS = {
    864: (
        "This is a clown at an elementary school.",
        "Das ist ein Clown in einer Grundschule.",
        "This is a clown at a huge school.",
    ),
    394: (
        "A woman is laying down on a sofa laughing.",
        "Eine Frau liegt auf einem Sofa und lacht.",
        "A woman lies on a sofa and laughs.",
    ),
    776: (
        "A middle-aged man with red-hair and glasses holding an infant.",
        "Ein Mann mittleren Alters mit roten Haaren und Brille hält einen Säugling.",
        "A man of middle age with red hair and glasses holds a toddler.",
    ),
    911: (
        "A very young boy stares ahead as he is biting onto a small object.",
        "Ein sehr kleiner Junge guckt nach vorne während er in einen kleinen "
        "Gegenstand beißt.",
        "A very small boy stares ahead when he bites on a small object.",
    ),
    430: (
        "The two kids are playing at the playground.",
        "Die zwei Kinder Spielen auf dem Spielplatz.",
        "The two children play on the playground.",
    ),
}
"""Captions of the test of 2016 by number, as ``random.sample`` draws them with seed 0;
a person's translation, and what the model's means."""


def drawn_table() -> Table:
    """Show five captions, a person's translations, and the shipped model's."""
    outputs = results.load(f"{NAME}_hypotheses")["test_2016_flickr"]["beam"]
    rows = [
        (english, reference, outputs[number], gloss)
        for number, (english, reference, gloss) in FIVE_CAPTIONS.items()
    ]
    return table(["caption", "a person's", "the model's", "which says"], rows)


def scores_table() -> Table:
    """Show the shipped model's scores, those of three seeds, and a published one.

    All with the beam. The shipped model's are those of ``multi30k_headline``.
    """
    shipped = results.load("multi30k_headline")["scores"]
    seeds = part("en_de")["runs"].values()
    rows = []
    for split in TEST_SPLITS["multi30k"]:
        cased = shipped[split]["beam, cased"]
        lowercased = shipped[split][BEAM]["bleu"]
        over_seeds = spread(run["scores"][split][BEAM]["bleu"] for run in seeds)
        row = split[5:9], cased["bleu"], lowercased, over_seeds
        rows.append((*row, PUBLISHED.get(split)))
    heads = [
        Column("cased", "", "shipped model, BLEU", 1),
        Column("lowercased", "", "shipped model, BLEU", 1),
        Column("three seeds", "", "BLEU, lowercased", 1),
        Column("published", "", "BLEU, lowercased", 1),
    ]
    return table(["test set", *heads], rows)
