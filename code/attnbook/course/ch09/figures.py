"""Figures and tables of chapter 9."""

from collections import defaultdict
from collections.abc import Iterable
from statistics import fmean

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.course.ch09.explorer_transformer_pass import (
    NAMES,
    nearest_words,
    next_words,
    tokens,
    walk,
)
from attnbook.course.kit.colours import COLOURS, GREY
from attnbook.course.kit.heat_maps import PALE_LINES, frame_cells, heat_map
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

CHANGES = {
    "nothing": "nothing",
    "words of the same kind": "words, to others of the same class",
    "any words": "words, to any others",
    "positions": "positions, to their mean",
    "self-attention": "first self-attention, to its mean",
}
"""What is changed in the stored result, and how it reads."""

# One word on its way


def walk_table(stack: int, row: int = 1) -> Table:
    """One position on its way through a stack: where it looks, what it is near to."""
    names, groups, heading = tokens(), defaultdict(list), "input"
    for box, stage, weights in walk(stack):
        if stack and box == "norm":
            continue  # the logit lens goes through it from every box
        if stage.layer:
            heading = f"layer {stage.layer}"
        elif heading != "input":
            heading = "output"
        attended = names[0 if box == "cross-attention" else stack]
        looks = (
            [] if weights is None else zip(attended, weights[row].tolist(), strict=True)
        )
        near = (next_words if stack else nearest_words)(stage, row, 2)
        groups[heading].append((box, _largest(looks), _largest(near)))
    found = "would write, if it ended here" if stack else "nearest words"
    return table(["box", "attends to", found], groups)


def _largest(numbers: Iterable[tuple[str, float]]) -> str:
    """The words with the largest numbers, up to three, but none that rounds to 0."""
    best = sorted(numbers, key=lambda found: -found[1])[:3]
    return ", ".join(f"{word} {x:.2f}" for word, x in best if x >= 0.005)


def boxes_table(*starts: str) -> Table:
    """Show the exact match of a model with a box held at its mean: all, or some."""
    exact, groups = defaultdict(list), defaultdict(list)
    for run in stored_runs("boxes_off"):
        if run["box"].startswith(starts or ""):
            exact[run["box"]].append(100 * run["exact"])
    for box, shares in exact.items():
        if box == "none":
            heading, name = "", "nothing"
        elif " and " in box:
            layer_2 = "layer 2: self-attentions, and the decoder's feed-forward"
            name = layer_2 if "decoder" in box else "the encoder's self-attentions"
            heading = "at once"
        else:
            stack, *layer, name = box.replace(" ", ".").split(".")
            heading = f"{stack}, layer {int(layer[0]) + 1}" if layer else stack
            name = NAMES.get(name, name)
        groups[heading].append((name, *shares))
    heads = ("1 clause", "2 clauses", "4 clauses")
    heads = [Column(head, "%", "exact match") for head in heads]
    return table(["held at its mean", *heads], groups)


def right_word_figure() -> Figure:
    """Draw how probable the right next word is after each box of the decoder."""
    runs = stored_runs("word_by_box")
    sublayers = ("self-attention", "cross-attention", "feed-forward")
    boxes = ["input", *(f"{box} {layer}" for layer in (1, 2) for box in sublayers)]
    fig, ax = plt.subplots(figsize=(5.5, 3.6))
    places = [*range(len(boxes))]
    for name, label, colour in (
        ("right", "the right next word", COLOURS["target"]),
        ("read", "the word just read", GREY),
    ):
        means = [100 * fmean(run[name][place] for run in runs) for place in places]
        ax.plot(means, places, "o-", color=colour, label=label)
    ax.set(yticks=places, yticklabels=boxes, xlabel="probability, %", xlim=(-3, 103))
    ax.legend(loc="lower center", bbox_to_anchor=(0.4, 1), ncols=2)
    return fig


def due_table() -> Table:
    """Show how often the first cross-attention finds the word that is due: stored."""
    found = Value("found", "%", 100, name="source word found, if changed")
    names = {"change": CHANGES, "stack": "for the {}"}
    runs = stored_runs("word_due")
    return pivot(runs, "change", "stack", found, names=names, head="what is changed")


# The suspect


def dependence_figure(moved: Tensor) -> Figure:
    """Draw which outputs depend on which inputs, (T, T); those of a reversal framed."""
    length = len(moved)
    positions = [f"{i}" for i in range(1, length + 1)]
    fig, ax = plt.subplots(figsize=(4.4, 4.4))
    heat_map(
        ax,
        (moved > 0).float(),
        rows=positions,
        columns=positions,
        roles=("target", "source"),
        titles=("target position", "source position"),
        turn=0,
        vmax=1.5,
        square=True,
        **PALE_LINES,
    )
    needed = ((i, length - 1 - i) for i in range(length))
    frame_cells(ax, needed, COLOURS["target"])
    return fig
