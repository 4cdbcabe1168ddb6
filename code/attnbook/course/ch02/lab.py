"""Figures and tables of laboratory page 2."""

from collections.abc import Callable
from statistics import fmean

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import Value, pivot, stored_runs
from attnbook.toy.data import CLAUSES

# The plateau


def growth_table() -> Table:
    """By what factors the weight on the aligned word and the gain there grow."""
    spans = {"steps 10 to 60": (10, 60), "steps 60 to 100": (60, 100)}
    stored, rows = results.load("plateau"), []
    for run in stored["runs"]:
        weight, gain = {}, {}
        for snapshot in run["log"]:
            at = dict(zip(stored["fields"], snapshot, strict=True))
            weight[at["step"]] = at["weight"]
            gain[at["step"]] = at["descent"] / at["weight"]
        factors = (x[b] / x[a] for a, b in spans.values() for x in (weight, gain))
        rows.append((str(run["seed"]), *factors))
    heads = [Column(n, "×", span, 1) for span in spans for n in ("weight", "gain")]
    return table(["seed", *heads], rows)


# Exact match, alignment and five clauses


def alignment_table() -> Table:
    """Exact match and alignment accuracy by number of clauses, over five seeds."""
    runs = [
        {"clauses": n, **{entry: run[entry][str(n)] for entry in ("exact", "align")}}
        for n in (*CLAUSES, 5)
        for run in stored_runs("bahdanau")
    ]
    exact = Value("exact", "%", 100, 1, "exact match")
    aligned = Value("align", "%", 100, 1, "alignment accuracy")
    return pivot(runs, "clauses", None, exact, aligned)


# Another alignment


def late_seeds_table() -> Table:
    """The runs with and without uniform weights at first, seed by seed."""

    def mean(entry: str) -> Callable[[dict], float]:
        return lambda run: fmean(run[entry][str(n)] for n in CLAUSES)

    values = (
        Value(mean("exact"), "%", 100, 1, "exact match"),
        Value(mean("align"), "%", 100, name="alignment accuracy"),
    )
    held = {0: "learned from the start", 150: "uniform for 150 steps"}
    about = {"groups": "held", "names": {"held": held, "seed": str}}
    return pivot(stored_runs("late_attention"), "seed", None, *values, **about)


# Clicks and covers

KINDS_READ = {
    "same": "as the word that is due",
    "determiner": "another: a determiner",
    "adjective": "another: an adjective",
    "noun": "another: a noun",
    "verb": "another: a verb",
}


def clicks_table() -> Table:
    """How often a click on a word gives that word, by model."""
    columns = ["kind of the word clicked", Column("trials")]
    columns += [Column(name, "% that give it") for name in ("usual model", "twin")]
    runs = stored_runs("click_or_cover")
    rows = []
    for kind, label in KINDS_READ.items():
        hits = [100 * run["clicks"][kind][0] / run["clicks"][kind][1] for run in runs]
        rows.append((label, runs[0]["clicks"][kind][1], *hits))
    return table(columns, rows)


def covers_table() -> Table:
    """Median drops if words are covered, usual models and twins, over five seeds."""
    runs = [
        {"held": run["held"], "kind": kind, **run["covered"][kind]}
        for run in stored_runs("late_attention")
        for kind in run["covered"]
    ]
    drops = "drop if covered, in nats"
    names = {
        "up to 0": "the word",
        "up to 1": "± 1",
        "up to 2": "± 2",
        "up to 3": "± 3",
        "elsewhere": "elsewhere",
    }
    values = [Value(cover, "", 1, 2, name, drops) for cover, name in names.items()]
    models = {0: "usual models", 150: "twins"}
    weight = Value("weight", "%", 100, name="mean weight")
    kinds = {"all": "all words", "equal weight": "weight 0.6 to 0.8"}
    about = {"groups": "held", "names": {"kind": kinds, "held": models}}
    return pivot(runs, "kind", None, weight, *values, head="words", **about)
