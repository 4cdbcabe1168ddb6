"""Tables of laboratory page 9."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from torch import Tensor

from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.names import name_of
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy

GROUP = "largest weight on the aligned word"


def five_clauses_table(*names: str) -> Table:
    """Show the exact match of stored results at four and five clauses."""
    clauses = {"4": "4 clauses", "5": "5 clauses"}
    return by_clauses(names, "exact", "exact match", clauses)


def alignment_table(*names: str) -> Table:
    """Show alignment accuracies of stored results: mean and range over seeds."""
    clauses = {"1": "1 clause", "4": "4 clauses"}
    return by_clauses(names, "align", GROUP, clauses)


def by_clauses(
    names: Iterable[str], entry: str, group: str, clauses: dict[str, str]
) -> Table:
    """One row a stored result, one column a number of clauses."""
    runs = [
        {"model": name_of(name), **run} for name in names for run in stored_runs(name)
    ]
    values = [
        Value(lambda run, n=n: run[entry][n], "%", 100, 1, head, group)
        for n, head in clauses.items()
    ]
    return pivot(runs, "model", None, *values)


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


def just_read_table() -> Table:
    """What untrained models make of the word just read, by their initial weights."""
    values = (
        Value("probability", "%", 100, 1, "probability"),
        Value("cosine", digits=2, name="cosine"),
        Value("loss", "nats", digits=1, name="loss"),
    )
    norms = {True: "pre-norm", False: "post-norm"}
    runs = [
        {**run, "kind": f"tables {run['tables']}, {norms[run['norm_first']]}"}
        for run in stored_runs("word_just_read")
    ]
    return pivot(runs, "layers", None, *values, groups="kind", head="layers' weights")
