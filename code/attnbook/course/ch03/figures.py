"""Figures of chapter 3."""

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.kit.colours import COLOURS, DARK_GREY, TEXT_COLOURS, text_colour
from attnbook.course.kit.curves import draw_arrow
from attnbook.course.kit.heat_maps import PALE_LINES, colour_bar, frame_cells, heat_map
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.example import FEATURES, QUERY, SENTENCE, STATES
from attnbook.toy.language import VERBS, Pair

# A dot product as length and angle


def arrows_figure() -> Figure:
    """Draw a query and three words as arrows by two features, and their scores."""
    names, side = FEATURES.index("names"), FEATURES.index("side")
    fig, ax = plt.subplots(figsize=(5.5, 4.6))

    draw_arrow(ax, (QUERY[names], QUERY[side]), "query")
    ax.text(1.6, 1.0, "query", color=TEXT_COLOURS["query"])
    for word, at in {
        "farmer": (0.62, 0.72),
        "bird": (0.97, -1.0),
        "a": (0.08, -0.72),
    }.items():
        state = STATES[SENTENCE.index(word)]
        score = f"{word}: {state @ QUERY:.1f}".replace("-", "−")
        draw_arrow(ax, (state[names], state[side]), "key")
        ax.text(*at, score, color=TEXT_COLOURS["key"])
    ax.set(xlim=(-0.4, 2.3), ylim=(-1.3, 1.3), xlabel="names", ylabel="side")
    ax.set(aspect="equal", xticks=(0, 1, 2), yticks=(-1, 0, 1))
    return fig


def stored_map(name: str, seed: int = 0) -> Tensor:
    """Weights of a stored run for the first held-out pair of two clauses, (T, S)."""
    return torch.tensor(stored_runs(name, seed=seed)[0]["map"])


def verb_rows_figure(maps: dict[str, Tensor], pair: Pair) -> Figure:
    """Draw the weights of the steps that predict verbs, a panel for each model.

    Orange frames mark the verb that the output renders, grey frames the source of the
    input, the word before it.
    """
    verbs = {j for j, word in enumerate(pair.source) if word in VERBS}
    steps = [i for i, j in enumerate(pair.alignment) if j in verbs]
    columns = [*pair.source, "<eos>"]
    height = 2.0 + len(maps) * (0.42 + 0.3 * len(steps))
    fig, axes = plt.subplots(
        len(maps), squeeze=False, sharex=True, figsize=(5.5, height)
    )
    for ax, (title, weights) in zip(axes[:, 0], maps.items(), strict=True):
        cells = weights[steps][:, : len(columns)]  # (verbs, S)
        heat_map(
            ax,
            cells,
            rows=[pair.target[i] for i in steps],
            columns=columns,
            roles=("target", "source"),
            **PALE_LINES,
        )
        inputs = [(row, pair.alignment[i - 1]) for row, i in enumerate(steps)]
        outputs = [(row, pair.alignment[i]) for row, i in enumerate(steps)]
        frame_cells(ax, inputs, DARK_GREY)
        frame_cells(ax, outputs, COLOURS["target"])
        ax.set_title(title)
        ax.label_outer()
    axes[-1, 0].set_xlabel("source token", color=text_colour(COLOURS["source"]))
    fig.supylabel("target token", color=text_colour(COLOURS["target"]), size="medium")
    colour_bar(axes[:, 0], "attention weight")
    return fig


# The dictionaries of the caption translator's heads


def dictionary_table() -> Table:
    """How many links each head finds, by the word that is written and that is read."""
    found = results.load("caption_dictionaries")
    ways = {"output": "by the word written", "input": "by the word read"}
    heads = [
        Column(f"head {n}", "%", group) for group in ways.values() for n in range(1, 5)
    ]
    shares = [
        [[100 * count / found["links"] for count in layer] for layer in found[way]]
        for way in ways
    ]
    rows = [
        (f"layer {number}", *written, *read)
        for number, (written, read) in enumerate(zip(*shares, strict=True), 1)
    ]
    return table(["weights of", *heads], rows)
