"""Figures of chapter 3."""

import matplotlib.pyplot as plt
from matplotlib.figure import Figure

from attnbook.core import results
from attnbook.course.kit.colours import TEXT_COLOURS
from attnbook.course.kit.curves import draw_arrow
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.toy.example import FEATURES, QUERY, SENTENCE, STATES

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
