"""Laboratory page 12: what probes read off the encoder, and what the heads align."""

from __future__ import annotations

from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, GREY, INK
from attnbook.course.kit.curves import label_lines
from attnbook.course.kit.html_tables import Column, Table, table

LABELS = {
    "itself": ("the subword itself", COLOURS["source"]),
    "its translation": ("its translation", COLOURS["target"]),
    "the one before": ("the subword before", GREY),
    "the one after": ("the subword after", INK),
}
"""What the probes predict, as a reader calls it, and its colour."""


def accuracies(label: str) -> list[float]:
    """Accuracy of a label's probes after each number of layers, mean of the splits."""
    stored = results.load("multi30k_probes")["probes"]
    splits = [probe["by_layer"] for probe in stored if probe["label"] == label]
    return [100 * fmean(layer) for layer in zip(*splits, strict=True)]


def probes_figure() -> Figure:
    """Draw the accuracy of linear probes by layer: ``multi30k_probes``."""
    fig, ax = plt.subplots(figsize=(5.5, 3.8))
    for label, (name, colour) in LABELS.items():
        means = accuracies(label)
        ax.plot(range(len(means)), means, marker="o", color=colour, label=name)
    ax.set(ylim=(0, 103), ylabel="accuracy, %", xlabel="encoder layers passed")
    ax.set_xticks(range(len(means)))
    label_lines(ax)
    return fig


def probes_table() -> Table:
    """Show the same with what needs no layer: the subword alone, and a guess."""
    stored = results.load("multi30k_probes")["probes"]
    rows = []
    for label, (name, _) in LABELS.items():
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
