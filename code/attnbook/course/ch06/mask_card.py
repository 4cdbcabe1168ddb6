"""The mask card: what mask values mean in each library, tested and not typed."""

from __future__ import annotations

import re

from attnbook.core import results
from attnbook.course.ch06.experiment_mask_card import find_convention, torch_arguments
from attnbook.course.kit.html_tables import Table, table

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
