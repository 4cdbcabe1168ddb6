"""A wrong mask in one layer, what the leak test shows of it, and six names to choose.

Python plants each mask in a layer and measures; ``widget_red_team.js`` shows what was
found, one bug at a time. Without scripts, and on paper, all six stand there by name.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from IPython.display import HTML
from torch import Tensor

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import PAD
from attnbook.course.ch06.figures import broken_masks, detector_figure
from attnbook.course.kit.colours import INK, SHADE, TEXT_COLOURS
from attnbook.course.kit.widgets.controls import (
    HIDDEN,
    ROW,
    choice,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.course.kit.widgets.png_pictures import png_image
from attnbook.course.kit.widgets.scripts import on_load
from attnbook.course.kit.widgets.tables import TABLE, cell, head
from attnbook.nn.multi_head import MultiHeadAttention

WORDS = ("the", "old", "king", "pad", "pad")
REAL = 3
IDS = torch.tensor([[5, 6, 7, PAD, PAD]])
ORDER = (2, 4, 1, 5, 3, 0)
"""In which the six are planted, by their place in ``broken_masks``."""
LEAK, LOST, READ, NOTHING = "×", "○", "•", ""


class Bug(NamedTuple):
    """What gives it away, and what its mask looks like in code."""

    sign: str
    code: str


BUGS = {
    "no causal mask": Bug(
        "every earlier word reads every later one: three crosses above the diagonal, "
        "and nothing is lost",
        "key_mask(ids)",
    ),
    "transposed": Bug(
        "words read the future and not the past: crosses above the diagonal, rings "
        "below it",
        "positions >= positions[:, None]",
    ),
    "one too many": Bug(
        "each word reads exactly one word too far: crosses right beside the diagonal",
        "positions <= positions[:, None] + 1",
    ),
    "one too few": Bug(
        "no word reads itself: rings on the diagonal. Row 1 has nothing left to read",
        "positions < positions[:, None]",
    ),
    "no padding mask": Bug(
        "every row reads the padding: two whole columns of crosses",
        "mask=None in an encoder",
    ),
    "padding as rows": Bug(
        "the mask lies on its side. Padding is silenced where it asks and not where it "
        "is read: crosses in two columns, rings in two rows",
        "(ids != PAD)[:, None, :, None]",
    ),
}
ALT = (
    "Six maps of five by five cells. No causal mask: three crosses above the diagonal. "
    "Transposed: three crosses above the diagonal, nine rings below it. One too many: "
    "two crosses right of the diagonal. One too few: three rings on the diagonal. No "
    "padding mask: ten crosses in the last two columns. Padding as rows: six crosses "
    "in the first three rows of the last two columns, six rings in the last two rows."
)
LEGEND = (
    "One untrained layer; three words and two padding tokens. We change the key and"
    " the value at one position (column) and see which outputs (rows) change. A dot"
    " marks an output that changes and should. A cross marks one that changes but must"
    " not. A ring marks one that should change but doesn't."
)


def found_by_influence() -> dict[str, list[list[str]]]:
    """Plant each mask in an untrained layer; the sign of each cell of each map."""
    return {
        name: _signs(moved, wanted) for name, (moved, wanted) in _measured().items()
    }


def _measured() -> dict[str, tuple[Tensor, Tensor]]:
    """For each mask, which outputs change with which keys, and which ones should."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        layer = MultiHeadAttention(d_model=16, n_heads=2)
        x = torch.randn(1, len(WORDS), 16)

    def plant(mask: Tensor) -> Tensor:
        return influence(lambda kv: layer(x, kv, kv, mask), x) > 0  # (T, S)

    masks = broken_masks(IDS).items()
    return {name: (plant(mask), wanted) for name, (mask, wanted) in masks}


def _signs(moved: Tensor, wanted: Tensor) -> list[list[str]]:
    signs = {(1, 0): LEAK, (0, 1): LOST, (1, 1): READ, (0, 0): NOTHING}
    both = zip(moved.int().tolist(), wanted.int().tolist(), strict=True)
    return [[signs[pair] for pair in zip(*rows, strict=True)] for rows in both]


def red_team() -> HTML:
    """Let the reader name the bug behind each map."""
    maps = found_by_influence()
    names = [*BUGS]
    planted = [names[i] for i in ORDER]
    script = on_load(
        "widget_red_team",
        maps=[maps[name] for name in planted],
        names=planted,
        bugs=BUGS,
        colours={"leak": INK, "lost": "#FFF", "read": "#C6DFF0", "nothing": SHADE},
    )
    still = png_image(detector_figure(_measured(), real=REAL), ALT, script=script)
    inside = (
        f"{still}\n{_controls()}\n"
        f'<div class="book-live"{HIDDEN}>\n<div style="display: inline-block; padding: '
        '4px; max-width: 100%; background: #FFF; border-radius: 6px">\n'
        f"{_table()}\n</div>\n"
        '<p class="book-result" aria-live="polite" style="margin: 0.3em 0; '
        'min-height: 5em"></p>\n</div>\n'
        f'<p style="margin: 0.3em 0">{LEGEND}</p>'
    )
    return figure(inside, "", width=550)


def _table() -> str:
    """An empty map: the script fills it."""
    narrow = "; min-width: 48px"
    corner = head("col", "output", narrow + "; font-size: 13px")
    heads = "".join(
        head("col", word, f"{narrow}; color: {TEXT_COLOURS['key']}") for word in WORDS
    )
    blank = cell("", "book-cell", f"{narrow}; height: 38px; font-size: 20px")
    query = f"{narrow}; color: {TEXT_COLOURS['query']}"
    rows = "".join(
        f"<tr>{head('row', word, query)}{blank * len(WORDS)}</tr>\n" for word in WORDS
    )
    body = f"<tr>{corner}{heads}</tr>\n{rows}"
    return f'<table style="{TABLE}"><tbody>{body}</tbody></table>'


def _controls() -> str:
    """Which bug, and the six names."""
    names = "".join(
        choice("radio", name, chosen=False, group="verdict") for name in BUGS
    )
    slider = slider_row("Bug", "Bug", low=1, value=1, high=len(BUGS), text="1 of 6")
    return hidden_controls(
        f'<form>{slider}<fieldset style="border: 0; padding: 0; margin: 0 0 0.6em; '
        'min-width: 0"><legend style="font: inherit; color: inherit; padding: 0; '
        f'float: none">Which mask was planted?</legend><div style="{ROW}; '
        f'flex-wrap: wrap">{names}</div></fieldset></form>'
    )
