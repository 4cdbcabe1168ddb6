"""Chapter 6: a wrong mask in one layer, what the leak test shows, and six names."""

from functools import lru_cache
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.analysis.leaks import influence
from attnbook.core.vocabulary import PAD
from attnbook.course.ch06.explorer_masks import rows_in_words
from attnbook.course.ch06.figures import broken_masks, detector_figure
from attnbook.course.kit.explorers.charts import Map
from attnbook.course.kit.explorers.controls import Menu, Slider
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View
from attnbook.nn.multi_head import MultiHeadAttention

WORDS = ("the", "old", "king", "pad", "pad")
REAL = 3
IDS = torch.tensor([[5, 6, 7, PAD, PAD]])
ORDER = (2, 4, 1, 5, 3, 0)
"""In which the six are planted, by their place in ``broken_masks``."""
LEAK, LOST, READ, NOTHING = "×", "○", "•", ""
SHADES = {LEAK: 1.0, LOST: 0.0, READ: 0.3, NOTHING: None}
SPOKEN = {LEAK: "leak", LOST: "lost", READ: "changes", NOTHING: "no change"}


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
PLANTED = tuple([*BUGS][i] for i in ORDER)
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
OPEN = "not chosen yet"
CONTROLS = {
    "bug": Slider("bug", 1, len(BUGS), 1),
    "verdict": Menu("Which mask was planted?", (OPEN, *BUGS), OPEN),
}


def red_team_view(bug: int, verdict: str) -> View:
    """The map of a planted mask, and what the reader's verdict on it is worth."""
    right = PLANTED[bug - 1]
    signs = found_by_influence()[right]
    leaks, lost = (sum(row.count(sign) for row in signs) for sign in (LEAK, LOST))
    said = f"Bug {bug}: {leaks} × and {lost} ○. "
    if verdict == OPEN:
        said += "Which mask is it?"
    elif verdict == right:
        said += f"Yes, “{right}”: {BUGS[right].sign}. In code: {BUGS[right].code}"
    else:
        said += f"No. “{verdict}” would look different: {BUGS[verdict].sign}."
    alt = rows_in_words(WORDS, [[SPOKEN[sign] for sign in row] for row in signs])
    cells = tuple(tuple(SHADES[sign] for sign in row) for row in signs)
    labels = ("output", "key and value changed")
    chart = Map(WORDS, WORDS, cells, ("query", "key"), labels, texts=signs)
    return View(said, (chart,), f"{alt}.")


def printed() -> View:
    """All six by their names."""
    return View("", detector_figure(_measured(), real=REAL), ALT)


explore_red_team = Explorer(red_team_view, CONTROLS, caption=LEGEND, printed=printed)


@lru_cache(maxsize=1)
def found_by_influence() -> dict[str, tuple[tuple[str, ...], ...]]:
    """Plant each mask in an untrained layer; the sign of each cell of each map."""
    signs = {(1, 0): LEAK, (0, 1): LOST, (1, 1): READ, (0, 0): NOTHING}
    return {
        name: tuple(
            tuple(signs[cell] for cell in zip(*rows, strict=True))
            for rows in zip(moved.int().tolist(), wanted.int().tolist(), strict=True)
        )
        for name, (moved, wanted) in _measured().items()
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
