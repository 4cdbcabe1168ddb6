"""Tables of laboratory page 9."""

from attnbook.course.kit.exact_match import by_clauses
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.tables import Value, pivot, stored_runs

GROUP = "largest weight on the aligned word"


def five_clauses_table(*names: str) -> Table:
    """Show the exact match of stored results at four and five clauses."""
    return by_clauses(names, "exact", "exact match", (4, 5))


def alignment_table(*names: str) -> Table:
    """Show alignment accuracies of stored results: mean and range over seeds."""
    return by_clauses(names, "align", GROUP, (1, 4))


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
