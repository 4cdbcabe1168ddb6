"""Figures and tables of laboratory page 10."""

from attnbook.core import results
from attnbook.course.ch10.figures import BLEU, EMPTY
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import Value, pivot

# Beams


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


def silence_table() -> Table:
    """Captions whose most probable translation is empty, by length of the source."""
    counts, rows = results.load("exact_search")["by_length"], []
    for label, (first, last) in LENGTHS.items():
        within = [row[1:] for row in counts if first <= row[0] <= last]
        captions, settled, empty = map(sum, zip(*within, strict=True))
        rows.append((label, captions, settled, empty, 100 * empty / settled))
    heads = [
        Column("captions"),
        Column("settled"),
        Column("number", group="empty is best"),
        Column("share", "%", "empty is best"),
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
