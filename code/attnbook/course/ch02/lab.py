"""Figures and tables of laboratory page 2."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

from torch import nn

from attnbook.analysis.learning_to_attend import AttentionSnapshot
from attnbook.course.ch02.figures import late_attention_runs
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.language import AND_TARGET, Pair
from attnbook.toy.metrics import greedy_translations

SEEN = (1, 2, 3, 4)  # clauses in training

# The plateau


def plateau_logs() -> list[list[AttentionSnapshot]]:
    """The stored snapshots: one list per seed."""
    return [
        [AttentionSnapshot(*numbers) for numbers in run["log"]]
        for run in stored_runs("plateau")
    ]


def growth_table() -> Table:
    """By what factors the weight on the aligned word and the gain there grow."""
    spans = {"steps 10 to 60": (10, 60), "steps 60 to 100": (60, 100)}
    rows = []
    for seed, log in enumerate(plateau_logs()):
        weight = {s.step: s.weight for s in log}
        gain = {s.step: s.descent / s.weight for s in log}
        factors = (x[b] / x[a] for a, b in spans.values() for x in (weight, gain))
        rows.append((str(seed), *factors))
    heads = [Column(n, "×", span, 1) for span in spans for n in ("weight", "gain")]
    return table(["seed", *heads], rows)


# Exact match, alignment and five clauses


def alignment_table() -> Table:
    """Exact match and alignment accuracy by number of clauses, over five seeds."""
    runs = stored_runs("bahdanau")
    columns = [
        Column("clauses"),
        Column("exact match", "%", digits=1),
        Column("alignment accuracy", "%", digits=1),
    ]
    rows = [
        (n, *(spread(100 * run[entry][str(n)] for run in runs) for entry in entries))
        for entries in [("exact", "align")]
        for n in (*SEEN, 5)
    ]
    return table(columns, rows)


def clause_shares(model: nn.Module, pairs: Sequence[Pair]) -> dict[str, float]:
    """Which clauses of its sources a model translates exactly, wherever they stand."""
    outputs = [_clauses(words) for words in greedy_translations(model, pairs)]
    references = [_clauses(pair.target) for pair in pairs]
    found = {"clauses": fmean(map(len, outputs))}
    for n in range(len(references[0])):
        both = zip(outputs, references, strict=True)
        found[str(n + 1)] = fmean(wanted[n] in output for output, wanted in both)
    return found


def _clauses(words: Sequence[str]) -> list[str]:
    return " ".join(words).split(f" {AND_TARGET} ")


def five_clauses_table(model: nn.Module, pairs: Sequence[Pair]) -> Table:
    """Which clauses of five a model translates exactly."""
    found = clause_shares(model, pairs)
    heads = [Column(n, "%", "clause translated exactly") for n in "12345"]
    columns = ["model", Column("clauses", "in the output", digits=1), *heads]
    shares = [100 * found[n] for n in "12345"]
    return table(columns, [("Bahdanau attention", found["clauses"], *shares)])


# Another alignment


def late_seeds_table() -> Table:
    """The runs with and without uniform weights at first, seed by seed."""
    columns = [
        "seed",
        Column("exact match", "%", digits=1),
        Column("alignment accuracy", "%"),
        Column("median", "nats", "drop if hidden", 2),
        Column("5 to 95 % of the words", "nats", "drop if hidden", 2),
    ]
    names = {0: "learned from the start", 150: "uniform for 150 steps"}
    groups: dict[str, list[tuple[str | float | Spread, ...]]] = {}
    for held, name in names.items():
        found = late_attention_runs(held)
        ranges = [run["hidden"] for run in stored_runs("late_attention", held=held)]
        groups[name] = [
            (
                str(seed),
                *(found[entry][seed] for entry in ("exact", "align", "hidden")),
                f"{low:.2f}–{high:.2f}",
            )
            for seed, (low, _, high) in enumerate(ranges)
        ]
    return table(columns, groups)


# Clicks and covers

KINDS_READ = {
    "same": "as the word that is due",
    "determiner": "another: a determiner",
    "adjective": "another: an adjective",
    "noun": "another: a noun",
    "verb": "another: a verb",
}


def clicks_table() -> Table:
    """How often a click on a word gives that word, by model."""
    columns = ["kind of the word clicked", Column("trials")]
    columns += [Column(name, "% that give it") for name in ("usual model", "twin")]
    runs = stored_runs("click_or_cover")
    rows = []
    for kind, label in KINDS_READ.items():
        hits = [100 * run["clicks"][kind][0] / run["clicks"][kind][1] for run in runs]
        rows.append((label, runs[0]["clicks"][kind][1], *hits))
    return table(columns, rows)


def sentences_table() -> Table:
    """Whole sentences by clicks."""
    columns = [
        "weights",
        Column("aligned words", "of 100 right", "clicks in turn"),
        Column("first two nouns exchanged", "of 100 right", "clicks in turn"),
        Column("in source order", "% of words", "clicks in turn"),
    ]
    names = {0: "from the start", 150: "uniform for 150 steps"}
    rows = []
    for run in stored_runs("click_or_cover"):
        hits, trials = run["source order"]
        counts = run["sentences"], run["exchanged"], 100 * hits / trials
        rows.append((names[run["held"]], *counts))
    return table(columns, rows)


COVERED = {
    "all": "all words",
    "determiner": "determiners",
    "adjective": "adjectives",
    "noun": "nouns",
    "verb": "verbs",
    "equal weight": "weight 0.6 to 0.8",
}


def covers_table() -> Table:
    """Median drops if words are covered, by kind of word, usual model and twin."""
    columns = ["words", Column("number"), Column("mean weight", "%")]
    covers = ("aligned", "neighbours too", "another word")
    columns += [Column(cover, "nats", "drop if covered", 2) for cover in covers]
    groups: dict[str, list[tuple[str | float, ...]]] = {}
    for held, name in {0: "usual model", 150: "twin"}.items():
        [run] = stored_runs("click_or_cover", held=held)
        groups[name] = [
            (
                label,
                found["words"],
                100 * found["weight"],
                *(found[c] + 0.0 for c in covers),
            )
            for kind, label in COVERED.items()
            for found in [run["covered"][kind]]
        ]
    return table(columns, groups)
