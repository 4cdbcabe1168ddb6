"""Masks to play with: the reader chooses the attention, lengths, window and padding.

The page computes every state in ``widget_mask_explorer.js``, which a test holds against
the package. Here are its data, its controls, and the first state.
"""

from __future__ import annotations

import torch
from IPython.display import HTML

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.colours import SHADE, TEXT_COLOURS
from attnbook.course.kit.widgets.controls import (
    ROW,
    choice,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.course.kit.widgets.scripts import on_load
from attnbook.course.kit.widgets.tables import (
    LACK,
    TABLE,
    blue,
    cell,
    head,
    scale_of_blue,
)
from attnbook.nn.masks import key_mask, masked_softmax
from attnbook.toy.example import SENTENCE
from attnbook.toy.language import translate_by_rule

# What goes into the decoder is shifted by one: it begins with BOS.
WORDS = {"source": SENTENCE, "target": ("bos", *translate_by_rule(SENTENCE).target[:5])}
KINDS = {
    "encoder self": ("source", "source", False),
    "decoder self": ("target", "target", True),
    "cross": ("target", "source", False),
}
"""Each attention: the side of the queries, that of the keys, whether it is causal."""
SCORES = (
    (1.2, 0.1, 0.4, -0.5, 0.2, 0.9),
    (0.3, 0.8, 1.5, 0.0, -0.4, 0.6),
    (-0.2, 1.4, 0.5, 0.9, 0.1, 1.1),
    (0.0, -0.6, 1.3, 0.7, 0.4, 1.6),
    (0.5, 0.2, -0.3, 1.0, 0.6, 1.8),
    (0.1, -0.1, 1.0, 1.7, 0.8, 0.3),
)
"""How well each key fits each query, (T, S); chosen by hand."""
KIND, LENGTHS = "cross", {"source": 4, "target": 5}  # at first
SAID = (
    "key_mask of shape (1, 1, 1, 6): 24 of 36 cells are allowed. "
    "No row is fully masked. Row 6 is padding, but may still attend."
)
LEGEND = (
    "Source and target have six positions each, padding included; the scores are "
    "fixed. Numbers are attention weights, and grey cells are masked. A window of w"
    " allows only keys fewer than w positions away."
)
NARROW = "; min-width: 43px"  # six columns fit a phone
GREY = "#5F6872"  # of the word that stands for padding


def mask_explorer() -> HTML:
    """Let the reader choose lengths and an attention, and see its mask and weights."""
    inside = (
        f"{_controls()}\n"
        '<div class="book-frame">\n<div style="display: inline-block; padding: 4px; '
        'max-width: 100%; background: #FFF; border-radius: 6px">\n'
        f"{_first_table()}\n</div>\n"
        '<p class="book-result" aria-live="polite" '  # the page does not jump
        f'style="margin: 0.3em 0; min-height: 5em">{SAID}</p>\n</div>\n'
        f'<p style="margin: 0.3em 0">{LEGEND}</p>'
    )
    return figure(inside, "", width=510)


def _first_table() -> str:
    """The first state: keys above, queries at the left, weights where they meet."""
    asks, offers, _ = KINDS[KIND]
    rows, columns = map(_sequence, (asks, offers))
    ids = torch.tensor([[PAD if word == "pad" else PAD + 1 for word in columns]])
    mask = key_mask(ids)[0, 0].expand(len(rows), -1)  # (T, S)
    weights = masked_softmax(torch.tensor(SCORES), mask)
    script = on_load(
        "widget_mask_explorer",
        scores=SCORES,
        words=WORDS,
        kinds=[*KINDS.values()],
        colours={**TEXT_COLOURS, "pad": GREY},
        lack=LACK,
        shade=SHADE,
    )
    corner = f'<td style="background: #FFF; border: 0">{scale_of_blue(script)}</td>'
    lines = [corner + "".join(_word("column", offers, word) for word in columns)]
    for word, *row in zip(rows, weights, mask, strict=True):
        cells = (
            cell(f"{w:.2f}", "book-cell", f"{NARROW}; height: 38px; background: {c}")
            if may
            else cell("", "book-cell", f"{NARROW}; height: 38px; background: {SHADE}")
            for w, may, c in zip(*row, map(blue, row[0]), strict=True)
        )
        lines.append(_word("row", asks, word) + "".join(cells))
    body = "\n".join(f"<tr>{line}</tr>" for line in lines)
    return f'<table style="{TABLE}; border-spacing: 2px"><tbody>{body}</tbody></table>'


def _sequence(side: str) -> list[str]:
    """The six positions of a side at first: its tokens and padding."""
    real = WORDS[side][: LENGTHS[side]]
    return [*real, *["pad"] * (len(SCORES) - len(real))]


def _word(place: str, side: str, word: str) -> str:
    colour = GREY if word == "pad" else TEXT_COLOURS[side]
    look = f"{NARROW}; color: {colour}"
    return head(place.removesuffix("umn"), word, look, f"book-{place}")


def _controls() -> str:
    """The attention, lengths, window, whether there is a mask, the side of padding."""
    kinds = "".join(
        choice("radio", kind, chosen=kind == KIND, group="attention") for kind in KINDS
    )
    most = len(SCORES)
    starts = {f"{side.title()} length": value for side, value in LENGTHS.items()}
    sliders = "".join(
        slider_row(name, name, low=1, value=value, high=most, text=f"{value}")
        for name, value in {**starts, "Window": most}.items()
    )
    boxes = choice("checkbox", "mask", chosen=True)
    boxes += choice("checkbox", "padding on the left", chosen=False)
    # The form keeps the radio buttons of two such figures apart; it sends nothing.
    return hidden_controls(
        '<form><fieldset style="border: 0; padding: 0; margin: 0 0 0.6em; '
        'min-width: 0"><legend style="font: inherit; color: inherit; padding: 0; '
        f'float: none">Attention</legend><div style="{ROW}; flex-wrap: wrap">{kinds}'
        f'</div></fieldset>{sliders}<div style="{ROW}; flex-wrap: wrap; '
        f'margin-bottom: 0.6em">{boxes}</div></form>'
    )
