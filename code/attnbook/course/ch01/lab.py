"""Figures and tables of laboratory page 1."""

import math
from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.course.kit.colours import COLOURS, INK, PALE_GREY, SKY
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.exact_match import CLAUSES
from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.tables import NAMES, Value, pivot, stored_runs
from attnbook.toy.language import ADJECTIVES, DETERMINERS, KINDS, NOUNS, VERBS

AS_TEXT = {"seed": str}

# What a decoder reaches that knows the grammar, but not the source or not all of it

ADJECTIVE_SHARE = len(ADJECTIVES) / (len(ADJECTIVES) + 1)
"""Share of phrases with an adjective."""


def loss_knowing(clauses: int) -> float:
    """Loss of a decoder that knows the grammar and the first clauses of the source.

    The mean over sentences of 1 to 4 clauses, in nats per token. An unknown clause
    costs two phrases and a verb, each word guessed among those that may follow; whether
    the sentence ends or goes on is guessed as well.

    Args:
        clauses: Number of known clauses; 0 is a decoder without a source.
    """
    phrase = math.log(len(NOUNS) * (len(ADJECTIVES) + 1) * len(DETERMINERS))
    clause = 2 * phrase + math.log(len(VERBS))
    tokens = 2 * (2 + ADJECTIVE_SHARE) + 2  # with the connective or EOS
    losses = [
        (max(n - clauses, 0) * clause + math.log(4)) / (n * tokens)
        for n in (1, 2, 3, 4)
    ]
    return sum(losses) / len(losses)


def accuracy_without_source() -> float:
    """Token accuracy of a decoder that knows the previous tokens, but no source.

    It knows the kind of each word from its position and guesses: a noun, one of 12;
    after a noun an adjective or none, one of 7; after an adjective a determiner, one
    of 3; a verb, one of 8.
    """
    after_noun = 1 / (len(ADJECTIVES) + 1)
    phrase = 1 / len(NOUNS) + after_noun + ADJECTIVE_SHARE / len(DETERMINERS)
    correct = 2 * phrase + 1 / len(VERBS)
    words = 2 * (2 + ADJECTIVE_SHARE) + 1
    return correct / words


# Which tokens are lost?


def loss_figure(losses: Sequence[float]) -> Figure:
    """Draw the loss, averaged over every 20 steps, and two baselines."""
    fig, ax = plt.subplots(figsize=(5.5, 3.0))
    groups = [losses[i : i + 20] for i in range(0, len(losses), 20)]
    steps = [20 * i + len(group) / 2 for i, group in enumerate(groups)]  # the middles
    ax.plot(steps, [*map(fmean, groups)])
    lines = {0: ("no source known", 0.08), 1: ("first clause known", -0.32)}
    for clauses, (label, above) in lines.items():
        level = loss_knowing(clauses)
        ax.axhline(level, color=PALE_GREY, linestyle="--", linewidth=1.5)
        ax.text(steps[-1], level + above, label, ha="right", color=INK)
    ax.set(xlabel="training step", ylabel="loss, nats per token", ylim=(0, None))
    return fig


def lost_words_table() -> Table:
    """Token accuracy in one clause by kind of word, a row a seed."""
    values = [
        Value(("right", kind), "%", 100, 0, kind, "token accuracy") for kind in KINDS
    ]
    verbs = Value(("wrong", "verb"), "%", 100, name="verbs among wrong")
    return pivot(stored_runs("lost_words"), "seed", None, *values, verbs, names=AS_TEXT)


def clause_table(*names: str) -> Table:
    """Token accuracy in each clause of four: one row a model, mean and range."""
    rows = []
    for name in names:
        columns = zip(*(run["by_clause"] for run in stored_runs(name)), strict=True)
        rows.append((NAMES[name], *(spread(100 * x for x in c) for c in columns)))
    blind = [100 * accuracy_without_source()] * 4
    heads = [Column(f"clause {n}", "%", "token accuracy") for n in CLAUSES]
    return table(["model", *heads], [*rows, ("without any source", *blind)])


# Gradients by distance


def gradient_figure(norms: dict[str, Tensor]) -> Figure:
    """Draw gradient norms by distance from the end, on a logarithmic scale."""
    colours = [COLOURS["key"], SKY, COLOURS["source"]]
    fig, ax = plt.subplots(figsize=(5.5, 3.4))
    for (label, values), colour in zip(norms.items(), colours, strict=True):
        relative = values.flip(0) / values[-1]
        ax.plot(range(len(values)), relative, color=colour, label=label)
    ax.set_yscale("log")
    ax.set(
        xlabel="positions before the last one   (← the GRU reads)",
        ylabel="gradient, last position = 1",
    )
    label_lines(ax)
    return fig


# What does the initial-state model know after a clause?


STEPS = {
    "initial_state": "after 700 steps",
    "initial_state_longer": "after 2,100 steps",
}


def goes_on_table() -> Table:
    """Probabilities after the first clause, and outputs that end there, by seed."""
    rows: dict[str, list] = {steps: [] for steps in STEPS.values()}
    for run in stored_runs("sentence_goes_on"):
        ranges = (
            "–".join(f"{p:.2f}" for p in (min(of), max(of)))
            for of in (run["connective"].values(), run["end"].values())
        )
        row = (str(run["seed"]), *ranges, run["clauses"].get("1", 0))
        rows[STEPS[run["model"]]].append(row)
    heads = [Column(word, "", "probability") for word in ("ul", "<eos>")]
    return table(["seed", *heads, Column("one clause", "of 512")], rows)


def probes_table() -> Table:
    """Shares of words that a linear probe reads from the vector: three seeds."""
    runs = stored_runs("sentence_goes_on")
    read = [run["probes"]["untrained"] | {"encoder": "untrained"} for run in runs]
    for run in runs:
        read.append(run["probes"]["trained"] | {"encoder": STEPS[run["model"]]})
    words = runs[0]["probes"]["trained"]
    values = [Value(word, "%", 100, 0, word, "words read") for word in words]
    return pivot(read, "encoder", None, *values)


# Encoder or decoder?


def exchanged_table() -> Table:
    """Exact match of new decoders of both kinds on frozen encoders."""
    values = [
        Value(("exact", kind, at), "%", 100, 1, name, f"exact match, {NAMES[kind]}")
        for kind in ("initial_state", "static_last")
        for at, name in enumerate(("1 clause", "2 clauses"))
    ]
    about = {"names": {"encoder": NAMES}, "head": "frozen encoder of"}
    return pivot(stored_runs("exchanged_encoders"), "encoder", None, *values, **about)
