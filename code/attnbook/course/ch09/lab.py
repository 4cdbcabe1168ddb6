"""Tables of laboratory page 9."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor

from attnbook.course.kit.html_tables import Column, Table, spread, table
from attnbook.course.kit.names import name_of
from attnbook.course.kit.tables import stored_runs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy

GROUP = "largest weight on the aligned word"


def five_clauses_table(*names: str) -> Table:
    """Show the exact match of stored results at four and five clauses."""
    rows = [
        (
            name_of(name),
            *(spread(100 * run["exact"][n] for run in stored_runs(name)) for n in "45"),
        )
        for name in names
    ]
    heads = [Column(f"{n} clauses", "%", "exact match", 1) for n in (4, 5)]
    return table(["model", *heads], rows)


def alignment_table(*names: str) -> Table:
    """Show alignment accuracies of stored results: mean and range over seeds."""
    heads = [Column(head, "%", GROUP, 1) for head in ("1 clause", "4 clauses")]
    rows = [
        (
            name_of(name),
            *(spread(100 * r["align"][n] for r in stored_runs(name)) for n in "14"),
        )
        for name in names
    ]
    return table(["model", *heads], rows)


def heads_table(maps: dict[str, Tensor], pairs: Sequence[Pair]) -> Table:
    """Show the alignment accuracy of every head."""
    rows = [
        (
            str(layer),
            *(100 * alignment_accuracy(w, pairs) for w in weights.unbind(dim=1)),
        )
        for layer, weights in enumerate(maps.values(), start=1)
    ]
    heads = [Column(f"head {head}", "%", GROUP) for head in range(1, len(rows[0]))]
    return table(["layer", *heads], rows)
