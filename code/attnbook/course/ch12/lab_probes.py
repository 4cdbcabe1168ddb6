"""Laboratory page 12: what probes read off the encoder, and what the heads align."""

from __future__ import annotations

from statistics import fmean

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Table, table

LABELS = {
    "itself": "the subword itself",
    "its translation": "its translation",
    "the one before": "the subword before",
    "the one after": "the subword after",
}
"""What the probes predict, as a reader calls it."""


def accuracies(label: str) -> list[float]:
    """Accuracy of a label's probes after each number of layers, mean of the splits."""
    stored = results.load("multi30k_probes")["probes"]
    splits = [probe["by_layer"] for probe in stored if probe["label"] == label]
    return [100 * fmean(layer) for layer in zip(*splits, strict=True)]


def probes_table() -> Table:
    """Show the accuracy of linear probes by layer, and of two guesses without one."""
    stored = results.load("multi30k_probes")["probes"]
    rows = []
    for label, name in LABELS.items():
        some = [probe for probe in stored if probe["label"] == label]
        rest = (
            100 * fmean(p[entry] for p in some) for entry in ("by_subword", "chance")
        )
        rows.append((name, *accuracies(label), *rest))
    layers = range(len(rows[0]) - 3)
    heads = [Column(str(n), "%", "encoder layers passed") for n in layers]
    heads += [Column("subword alone", "%"), Column("most frequent", "%")]
    return table(["label", *heads], rows)


def heads_table() -> Table:
    """Show how often each cross-attention head agrees with Model 1."""
    stored = results.load("multi30k_probes")
    n_heads = len(stored["heads"][0])
    single = [
        (f"layer {n}", *(100 * share for share in shares), None)
        for n, shares in enumerate(stored["heads"], start=1)
    ]
    whole = [
        (name, *[None] * n_heads, 100 * stored[entry])
        for name, entry in (("mean of all heads", "mean"), ("diagonal", "diagonal"))
    ]
    heads = [Column(f"head {n}", "%") for n in range(1, n_heads + 1)]
    groups = {"single heads": single, "for comparison": whole}
    return table(["weights of", *heads, Column("all", "%")], groups)
