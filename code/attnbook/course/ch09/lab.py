"""Tables of laboratory page 9."""

from collections.abc import Sequence

from torch import Tensor

from attnbook.course.kit.exact_match import by_clauses
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy

GROUP = "largest weight on the aligned word"


def five_clauses_table(*names: str) -> Table:
    """Show the exact match of stored results at four and five clauses."""
    return by_clauses(names, "exact", "exact match", (4, 5))


def alignment_table(*names: str) -> Table:
    """Show alignment accuracies of stored results: mean and range over seeds."""
    return by_clauses(names, "align", GROUP, (1, 4))


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
