"""Chapter 3 and its laboratory: numbers of the prose that no cell prints."""

from attnbook.core import results
from attnbook.course.kit.tables import stored_runs


def test_five_clauses():
    def shares(name):
        return [round(100 * run["exact"]["5"]) for run in stored_runs(name)]

    kinds = ("dot", "general", "concat", "location")
    assert max(max(shares(f"luong_{kind}")) for kind in kinds) == 13
    for width in ("", "_0", "_1", "_2"):
        assert min(shares(f"luong_local_m{width}")) == 100
    assert (min(shares("luong_local_p")), max(shares("luong_local_p"))) == (5, 57)


def test_the_first_head_of_the_translator_matters_most():
    heads = results.load("head_ablation")["heads"]
    first, second, *_ = sorted(heads, key=lambda head: head["rise"], reverse=True)
    assert (first["kind"], first["layer"], first["head"]) == ("cross-attention", 0, 0)
    assert [round(head["rise"], 3) for head in (first, second)] == [0.068, 0.037]


def test_times():
    steps = {run["model"]: run["median"] for run in stored_runs("step_cost")}
    assert [round(1000 * steps[name]) for name in ("dot", "concat")] == [73, 130]
