"""Attention as a calculator: the reader changes any number, and the weights follow.

There are too many settings to compute them all beforehand, as for an explorer. So the
page computes and draws everything in ``widget_calculator.js``, which a test holds
against PyTorch. Without scripts the weights stand there as a plain table.
"""

import torch
from IPython.display import HTML

from attnbook.course.kit.colours import COLOURS, INK, TEXT_COLOURS, tint
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.widgets.figures import figure, on_load
from attnbook.nn.scaled_dot_product import attention

# Keys say how much a word names something, and whether it belongs to the subject
# (positive) or the object: the first and the last number of the sentence's states. So
# `old` looks for a name on the subject's side, `a` on the object's, `sees` on both. The
# values are four directions, which the outputs mix.
START = {
    "asking": ("old", "sees", "a"),
    "offering": ("old", "farmer", "sees", "bird"),
    "q": ((2.0, 1.0), (2.0, 0.0), (2.0, -1.0)),
    "k": ((0.0, 0.8), (1.0, 0.7), (0.1, 0.0), (0.9, -1.0)),
    "v": ((0.0, 1.0), (1.0, 0.0), (0.0, -1.0), (-1.0, 0.0)),
    "most": 9.9,  # the greatest number that may be entered: its scores fit their cells
}
NOTHING = "data:image/gif;base64,R0lGODlhAQABAAAAACwAAAAAAQABAAA="
"""An image of one pixel, which only starts the script."""
LOOKS = {
    role: {
        "line": COLOURS[role],
        "text": TEXT_COLOURS[role],
        "pale": tint(COLOURS[role]),
    }
    for role in ("query", "key", "value")
}


def calculator() -> HTML:
    """Let the reader change queries, keys, values and mask, and see what follows.

    Equation 1 of Vaswani et al. 2017, for three queries and four keys of width 2. Where
    a query may attend to nothing it gets zeros, as everywhere in this course.
    """
    blue = COLOURS["source"]
    colours = LOOKS | {"ink": INK, "weight": blue, "tick": blue}
    script = (
        f'<img src="{NOTHING}" alt="" width="1" height="1"'
        f"{on_load(__name__, **START, colours=colours)}>"
    )
    still = weights_table()._repr_html_()
    return figure(f'<div class="book-frame">{still}</div>\n{script}', "", width=720)


def weights_table() -> Table:
    """The weights of the numbers that are there at first."""
    q, k, v = (torch.tensor(START[name]) for name in "qkv")  # (3, 2), (4, 2), (4, 2)
    _, weights = attention(q, k, v, need_weights=True)
    heads = [Column(word, group="attends to", digits=2) for word in START["offering"]]
    rows = zip(START["asking"], weights.tolist(), strict=True)
    return table(["query", *heads], [(word, *row) for word, row in rows])
