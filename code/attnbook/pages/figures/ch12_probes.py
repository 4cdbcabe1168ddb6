"""Chapter 12: what linear probes read off each encoder layer."""

from __future__ import annotations

from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.pages.colours import COLOURS, GREY, INK
from attnbook.pages.curves import label_lines


def probes_figure() -> Figure:
    """Draw what linear probes read off each layer: ``multi30k_probes``."""
    probes = results.load("multi30k_probes")["probes"]
    colours = {
        "itself": COLOURS["source"],
        "its translation": COLOURS["target"],
        "the one before": GREY,
        "the one after": INK,
    }
    fig, ax = plt.subplots(figsize=(5.5, 3.8))
    for name, colour in colours.items():
        splits = [p["by_layer"] for p in probes if p["label"] == name]
        means = [100 * fmean(layer) for layer in zip(*splits, strict=True)]
        ax.plot(range(len(means)), means, marker="o", color=colour, label=name)
    ax.set(ylim=(0, 103), ylabel="probe right, %", xlabel="encoder layers passed")
    ax.set_xticks(range(len(means)))
    label_lines(ax)
    return fig


def print_probes() -> None:
    """Print the probes' means over splits by layer, and what needs no layer."""
    probes = results.load("multi30k_probes")["probes"]
    layers = len(probes[0]["by_layer"])
    heads = "".join(f"{i:5}" for i in range(layers))
    print(f"{'layers passed':17}{heads}   subword alone   a guess")
    for name in dict.fromkeys(p["label"] for p in probes):
        some = [p for p in probes if p["label"] == name]
        means = (fmean(p["by_layer"][i] for p in some) for i in range(layers))
        cells = "".join(f"{mean:5.0%}" for mean in means)
        rest = (fmean(p[entry] for p in some) for entry in ("by_subword", "chance"))
        alone, guess = (f"{share:.0%}" for share in rest)
        print(f"{name:17}{cells}   {alone:16}{guess}")
