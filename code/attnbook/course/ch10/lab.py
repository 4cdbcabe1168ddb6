"""Figures and tables of laboratory page 10."""

from attnbook.core import results
from attnbook.course.ch10.figures import BLEU, EMPTY
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

# Beams


def beams_table() -> Table:
    """Compare beam search with greedy decoding: ``beams``, ranges over seeds."""
    stored = stored_runs("beams", clauses=(3, 4))
    runs = [  # greedy decoding, with which the beams of a run were compared
        {**run, "decoding": "greedy", "exact": run["greedy_exact"], "better": None}
        for run in stored
        if run["width"] == 1
    ]
    runs += [
        {**run, "decoding": f"W = {run['width']}, α = {run['alpha']:g}"}
        for run in stored
        if run["width"] > 1
    ]
    exact = Value("exact", "%", 100, 1, "exact match")
    better = Value("better", "%", 100, 1, "more probable than greedy")
    names = {"clauses": "{} clauses"}
    return pivot(runs, "decoding", "clauses", exact, better, names=names)


def other_captions_table() -> Table:
    """Compare beams with greedy decoding on other captions: ``other_captions``."""
    groups: dict[str, list[tuple]] = {}
    for run in results.load("other_captions")["runs"]:
        group = f"{run['translator']}, α = {run['alpha']:g}"
        row = f"W = {run['width']}", run["bleu"], run["other"], run["p_value"]
        groups.setdefault(group, []).append(row)
    heads = [Column(name, "BLEU", digits=1) for name in ("beam", "greedy")]
    return table(["decoding", *heads, Column("p", digits=3)], groups)


LENGTHS = {  # subwords, from and to
    "1 to 9": (1, 9),
    "10 to 14": (10, 14),
    "15 to 19": (15, 19),
    "20 or more": (20, 999),
}


def counts_by_length(name: str) -> list[tuple[str | int, ...]]:
    """For each range of lengths the sums of the counts that a result stores."""
    counts = results.load(name)["by_length"]
    rows = []
    for label, (first, last) in LENGTHS.items():
        within = [row[1:] for row in counts if first <= row[0] <= last]
        rows.append((label, *map(sum, zip(*within, strict=True))))
    return rows


def silence_table() -> Table:
    """Captions whose empty translation is more probable, by length of the source.

    More probable than what a beam finds, and than all that an exact search finds.
    """
    both = zip(*map(counts_by_length, ("silence", "exact_search")), strict=True)
    rows = [
        (label, captions, silent, 100 * silent / captions, settled, empty)
        for (label, captions, silent), (_, _, settled, empty) in both
    ]
    heads = [
        Column("captions"),
        Column("number", group="empty above the beam's"),
        Column("share", "%", "empty above the beam's"),
        Column("settled", group="exact search"),
        Column("empty is best", group="exact search"),
    ]
    return table(["subwords", *heads], rows)


def brevity_table() -> Table:
    """BLEU with and without its factor for length: ``without_penalty``."""
    ways = results.load("without_penalty")["ways"]
    runs = [{"decoding": name, **way} for name, way in ways.items()]
    values = (
        EMPTY,
        Value(
            lambda way: way["bleu"] / way["brevity"],
            digits=1,
            name="BLEU without brevity penalty",
        ),
        Value("brevity", digits=2, name="brevity penalty"),
        BLEU,
    )
    return pivot(runs, "decoding", None, *values)


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
