"""Figures and tables of laboratory page 10."""

from __future__ import annotations

from collections.abc import Sequence

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import stored_runs

# Beams

CLAUSES = (3, 4)


def beams_table() -> Table:
    """Compare beam search with greedy decoding: ``beams``, ranges over seeds."""
    nothing = (None, None)  # greedy is what the others are compared with
    rows = [("greedy", *_spreads(stored_runs("beams"), "greedy_exact"), *nothing)]
    widths = dict.fromkeys((run["width"], run["alpha"]) for run in stored_runs("beams"))
    for width, alpha in widths:
        if width > 1:  # 1 is greedy again
            runs = stored_runs("beams", width=width, alpha=alpha)
            cells = *_spreads(runs, "exact"), *_spreads(runs, "better")
            rows.append((f"W = {width}, α = {alpha:g}", *cells))
    heads = [
        Column(f"{n} clauses", "%", group, 1)
        for group in ("exact match", "more probable than greedy")
        for n in CLAUSES
    ]
    return table(["decoding", *heads], rows)


def _spreads(runs: Sequence[dict], entry: str) -> list[Spread]:
    """Mean and range over seeds in per cent, at three and four clauses."""
    return [
        spread(100 * run[entry] for run in runs if run["clauses"] == clauses)
        for clauses in CLAUSES
    ]


LENGTHS = ((1, 9), (10, 14), (15, 19), (20, None))  # subwords, from and to


def _lengths(first: int, last: int | None) -> str:
    return f"{first} to {last}" if last else f"{first} or more"


def silence_table() -> Table:
    """Captions whose empty translation is more probable, by length of the source."""
    counts, rows = results.load("silence")["by_length"], []
    for first, last in LENGTHS:
        of = [row for row in counts if first <= row[0] <= (last or row[0])]
        captions, silent = (sum(row[i] for row in of) for i in (1, 2))
        share = 100 * silent / captions
        rows.append((_lengths(first, last), captions, silent, share))
    heads = [Column("captions"), Column("empty is more probable")]
    return table(["subwords", *heads, Column("share", "%")], rows)


def exact_table() -> Table:
    """Captions whose best translation is empty, by length: ``exact_search``."""
    counts, rows = results.load("exact_search")["by_length"], []
    for first, last in LENGTHS:
        of = [row for row in counts if first <= row[0] <= (last or row[0])]
        captions, settled, empty = (sum(row[i] for row in of) for i in (1, 2, 3))
        rows.append((_lengths(first, last), captions, settled, empty))
    heads = [Column(name) for name in ("captions", "settled", "empty")]
    return table(["subwords", *heads], rows)


def brevity_table() -> Table:
    """BLEU with and without its factor for length: ``without_penalty``."""
    rows = [
        (name, way["empty"], way["bleu"] / way["brevity"], way["brevity"], way["bleu"])
        for name, way in results.load("without_penalty")["ways"].items()
    ]
    heads = [
        Column("empty translations"),
        Column("BLEU without brevity penalty", digits=1),
        Column("brevity penalty", digits=2),
        Column("BLEU", digits=1),
    ]
    return table(["decoding", *heads], rows)


def waiting_table() -> Table:
    """Training captions with some words in them: ``waiting_for``."""
    stored = results.load("waiting_for")
    groups = {
        "English": [*stored["english"].items()],
        "German": [*stored["german"].items()],
    }
    return table(["words", Column("captions")], groups)


def bayes_risk_table() -> Table:
    """BLEU and chrF by way of decoding, grouped by how samples are drawn."""
    groups: dict[str, list[tuple]] = {}
    for name, found in results.load("bayes_risk")["scores"].items():
        group, _, way = name.rpartition(": ")
        row = (way, found["bleu"], found["chrf"])
        groups.setdefault(group or "search", []).append(row)
    heads = [Column(name, digits=1) for name in ("BLEU", "chrF")]
    return table(["decoding", *heads], groups)


# Costs


def cost_table() -> Table:
    """Show the time of a step and the size of the cache by batch: ``decode_cost``."""
    stored = results.load("decode_cost")
    again, all_logits = (
        stored[name]["1"] for name in ("recomputed", "recomputed_all_logits")
    )
    batches = {b: f"{b} sentence{'s' * (b != '1')}" for b in stored["cached"]}
    groups = {
        "time for the last token, ms": [
            ("1 sentence, recomputed", *again.values()),
            ("1 sentence, recomputed, all logits", *all_logits.values()),
            *(
                (f"{batch}, with cache", *stored["cached"][b].values())
                for b, batch in batches.items()
            ),
        ],
        "size of the cache, MB": [
            (batch, *stored["cache_mb"][b].values()) for b, batch in batches.items()
        ],
    }
    heads = [Column(n, group="tokens so far", digits=1) for n in again]
    return table(["batch", *heads], groups)
