"""Tables of laboratory page 4: the translator's heads."""

from __future__ import annotations

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Table, spread, table


def head_habits_table() -> Table:
    """For each head of the encoder: adjectives, next words, and how scores spread."""
    found = results.load("adjective_heads")
    trained, *fresh = (run["spreads"] for run in results.load("score_spreads")["runs"])

    def row(of: dict) -> tuple:
        at = of["layer"], of["head"]
        start = spread(run[at[0]][at[1]] for run in fresh)
        noun = 100 * of["noun"] / found["pairs"]
        ahead = 100 * of["next"] / found["words"]
        return at[1] + 1, noun, ahead, start, trained[at[0]][at[1]]

    def layer(n: int) -> list[tuple]:
        return [row(of) for of in found["heads"] if of["layer"] == n]

    group = "standard deviation of scaled scores"
    heads = [
        Column("adjective → its noun", "% of pairs"),
        Column("any word → the next", "% of words"),
        Column("untrained", group=group, digits=2),
        Column("trained", group=group, digits=2),
    ]
    return table(
        ["head", *heads], {f"layer {n + 1}": layer(n) for n in range(len(trained))}
    )


def cuts_table() -> Table:
    """BLEU and repetitions of the translator without some of its parts."""
    runs = results.load("translator_cuts")["runs"]
    heads = [Column("BLEU", digits=1), Column("a word pair twice", "of 300 captions")]
    rows = [(run["cut"], run["bleu"], run["twice"]) for run in runs]
    return table(["cut", *heads], rows)
