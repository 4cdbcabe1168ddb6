"""Tables and figures of laboratory page 6 and of the mask card."""

import re

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.core import results
from attnbook.course.ch06.figures import draw_mask
from attnbook.course.ch06.mask_arguments import find_convention, torch_arguments
from attnbook.course.kit.colours import TEXT_COLOURS
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.nn.masks import causal_mask, key_mask, target_mask

# How low must a masked score be?

VALUES = {"−1e20": -1e20, "−1e9": -1e9, "−1e4": -1e4, "lowest": None, "−∞": -torch.inf}
TYPES = {"float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
SCORES = (1.0, 2.0, 0.5)


def masked_row(
    hidden: Tensor, value: float | None, dtype: torch.dtype, add: bool
) -> Tensor:
    """The weights of one row of scores, some of which a number hides."""
    scores = torch.tensor(SCORES, dtype=dtype)
    low = torch.finfo(dtype).min if value is None else value
    if add:
        return (scores + torch.zeros_like(scores).masked_fill(hidden, low)).softmax(0)
    return scores.masked_fill(hidden, low).softmax(0)


def fully_masked_outcome(value: float | None, dtype: torch.dtype, add: bool) -> str:
    """What a fully masked row becomes, in a word."""
    try:
        usual = masked_row(torch.tensor([False, False, True]), value, dtype, add)
        row = masked_row(torch.tensor([True, True, True]), value, dtype, add)
    except RuntimeError:
        return "error"
    assert usual[2] == 0, (value, dtype, add)
    if row.isnan().all():
        return "NaN"
    return "equal" if row[0] == row[1] else "unmasked"


def lowest_table() -> Table:
    """Show what a fully masked row becomes, for each number and type."""
    heads = [Column(how, group=name) for name in TYPES for how in ("replace", "add to")]
    rows = [
        (
            name,
            *(
                fully_masked_outcome(value, dtype, add)
                for dtype in TYPES.values()
                for add in (False, True)
            ),
        )
        for name, value in VALUES.items()
    ]
    return table(["masked score", *heads], rows)


# What does True mean in other libraries?

NAMES = {
    "attnbook": "this course",
    "torch": "PyTorch",
    "transformers": "Hugging Face transformers",
    "keras": "Keras",
    "jax": "JAX",
    "flax": "Flax",
}
HEADS = ("argument", "attends", "masks", "fully masked row gives")
# What is code in the name of an argument: all of it up to a comma, or what looks so.
CODE = re.compile(r"^\w+|\w+_\w+(?:=\w+)?(?:\(\))?|\w+\(\)")


def mask_card_table() -> Table:
    """Show which values let a query attend, and what it gets if all is masked.

    Ours and PyTorch's rows are tested anew; the others are those that
    ``python -m attnbook.course mask_card`` stored.
    """
    live = [find_convention(probe) for probe in torch_arguments()]
    tested = {row["library"] for row in live}
    stored = results.load("mask_card")["rows"]
    others = [row for row in stored if row["library"] not in tested]
    groups = {}
    for when, rows in (("tested here", live), ("stored", others)):
        for row in rows:
            version = row["version"].partition("+")[0]  # 2.13.0+cpu
            library = " ".join(filter(None, [NAMES[row["library"]], version]))
            heading = f"`{row['call']}`, {library} ({when})"
            name = CODE.sub(r"`\g<0>`", row["argument"])
            cells = name, row["attend"], row["hidden"], row["empty"]
            groups.setdefault(heading, []).append(cells)
    return table(HEADS, groups)


# The masks of a batch, for the card


def masks_figure(src: Tensor, tgt: Tensor) -> Figure:
    """Draw the masks of a batch: a row for each sentence, a column for each kind."""
    (b, s), t = src.shape, tgt.shape[1]
    kinds = {
        "padding": (key_mask(src).expand(b, 1, s, s), (src, src)),
        "causal": (causal_mask(t).expand(b, 1, t, t), (tgt, tgt)),
        "both": (target_mask(tgt), (tgt, tgt)),
        "cross": (key_mask(src).expand(b, 1, t, s), (tgt, src)),
    }
    fig, axes = plt.subplots(
        b,
        len(kinds),
        squeeze=False,
        figsize=(5.5, 0.9 + 1.3 * b),
        width_ratios=[masks.shape[-1] for masks, _ in kinds.values()],
    )
    for column, (kind, (masks, sides)) in zip(axes.T, kinds.items(), strict=True):
        for n, (ax, mask) in enumerate(zip(column, masks[:, 0], strict=True)):
            draw_mask(ax, mask, tuple(_names(side[n]) for side in sides))
            ax.set_anchor("N")  # all titles at one height
        column[0].set_title(kind)
        column[-1].set_xlabel("key", color=TEXT_COLOURS["key"])
    for ax in axes[:, 0]:
        ax.set_ylabel("query", color=TEXT_COLOURS["query"])
    return fig


def _names(ids: Tensor) -> list[str]:
    """1, 2, 3 for real tokens, a dash for padding."""
    return [str(i + 1) if token else "–" for i, token in enumerate(ids.tolist())]
