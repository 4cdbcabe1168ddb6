"""The mask card of chapter 6: what marks mean in each library, asked and not typed."""

from __future__ import annotations

from collections.abc import Iterable
from itertools import groupby

from attnbook.core import results
from attnbook.experiments.mask_card import find_convention, torch_arguments

NAMES = {
    "attnbook": "this course",
    "torch": "PyTorch",
    "transformers": "Hugging Face transformers",
    "keras": "Keras",
    "jax": "JAX",
    "flax": "Flax",
}
LINE = "{:35} {:10} {:7} {}"


def print_mask_card() -> None:
    """Print which marks let a query attend, and what it gets if all is hidden.

    Ours and PyTorch's rows are found out now; the others are those that
    ``python -m attnbook.experiments mask_card`` stored.
    """
    live = [find_convention(probe) for probe in torch_arguments()]
    stored = results.load("mask_card")["rows"]
    print(LINE.format("", "", "", "all hidden"))
    print(LINE.format("argument", "may attend", "hidden", "gives"))
    _print_rows(live, "asked now")
    asked = {row["library"] for row in live}
    _print_rows([row for row in stored if row["library"] not in asked], "stored")


def _print_rows(rows: Iterable[dict[str, str]], when: str) -> None:
    """A line for each library and version, one for each function, then its rows."""
    for library, group in groupby(rows, key=lambda row: row["library"]):
        group = list(group)
        version = group[0]["version"].partition("+")[0]  # 2.13.0+cpu
        print(" ".join(filter(None, [NAMES[library], version])) + f" ({when})")
        for call, lines in groupby(group, key=lambda row: row["call"]):
            print(f"  {call}")
            for row in lines:
                cells = (row["attend"], row["hidden"], row["empty"])
                print(LINE.format("    " + row["argument"], *cells).rstrip())
