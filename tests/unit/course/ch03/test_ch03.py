"""Chapter 3 and its laboratory: measurements, experiments at small size."""

import pytest
import torch

from attnbook.core import results
from attnbook.course.ch03 import figures
from attnbook.course.kit.tables import stored_runs
from attnbook.nn.scores import SCORES
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import VERBS
from attnbook.toy.metrics import alignment_accuracy
from experiments import ch03_translation as experiments

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_what_the_laboratory_says_of_five_clauses():
    """The one sentence there without a table beside it."""

    def shares(kind):
        return [run["exact"]["5"] for run in stored_runs(f"luong_{kind}")]

    for kind in ("dot", "general", "concat", "location"):
        assert max(shares(kind)) < 0.13
    for kind in ("local_m", *(f"local_m_{d}" for d in (0, 1, 2))):
        assert min(shares(kind)) == 1
    assert [round(100 * f(shares("local_p"))) for f in (min, max)] == [5, 57]


# Which word do the weights belong to?


def weights_at(positions, length):
    """Weights of one sentence with all weight on one position at each step."""
    return torch.eye(length)[torch.tensor(positions)][None]  # (1, T, S)


def test_each_largest_weight_is_on_the_output_the_input_or_elsewhere():
    pair = held_out_pairs(1)[0]
    n = len(pair.source) + 1  # with EOS
    by_output = weights_at([*pair.alignment, n - 1], n)
    kinds = experiments.most_attended(by_output, [pair])
    assert {tuple(found.values()) for found in kinds.values()} == {(1, 0, 0)}
    by_input = weights_at([n - 1, *pair.alignment], n)
    kinds = experiments.most_attended(by_input, [pair])
    assert pair.source[pair.alignment[-1]] in VERBS
    assert kinds["verb"] == {"output": 0, "input": 1, "another": 0}
    assert kinds["noun"] == {"output": 0, "input": 0.5, "another": 0.5}  # y_0 is BOS


def test_a_shift_by_one_compares_each_word_with_the_next_step():
    pairs = held_out_pairs(2, 5)
    length = max(len(pair.source) for pair in pairs) + 1
    rows = [
        [0, *(j or 0 for j in p.alignment), *[0] * (length - 1 - len(p.alignment))]
        for p in pairs
    ]
    weights = torch.cat([weights_at(row, length) for row in rows])
    assert alignment_accuracy(weights[:, 1:], pairs) == 1
    assert alignment_accuracy(weights, pairs) < 0.5


def test_one_short_run_has_all_entries(monkeypatch):
    monkeypatch.setattr(experiments, "THREE_SEEDS", (0,))
    monkeypatch.setattr(experiments, "MODELS", {"dot": experiments.MODELS["dot"]})
    train = experiments.train_toy_model
    monkeypatch.setattr(experiments, "train_toy_model", lambda *a: train(*a, steps=2))
    monkeypatch.setattr(experiments, "held_out_pairs", lambda n: held_out_pairs(n, 8))
    [run] = experiments.alignment_two_ways()["runs"]
    assert (run["model"], run["seed"], run["exact"]) == ("dot", 0, 0)
    for shares in run["kinds"].values():
        assert sum(shares.values()) == pytest.approx(1, abs=2e-4)
    stored = stored_runs("alignment_two_ways", model="general")
    assert run.keys() == stored[0].keys()


# What the chapter says of stored results


def test_only_the_encoder_with_moved_words_serves_a_window_of_one():
    rows = {name: cells for name, *cells in figures.frozen_table((4,)).rows()}
    (untrained,), (bahdanau,), (narrow,) = rows.values()
    assert max(untrained.high, bahdanau.high) < 5 < 100 == narrow.low


def test_the_chapter_s_counts_of_heads():
    """The first head by the word read, and all others better by the word written."""
    layers = [cells for _, *cells in figures.dictionary_table().rows()]
    heads = [(layer[i], layer[4 + i]) for layer in layers for i in range(4)]
    (written, read), *others = heads
    assert (round(written), round(read)) == (21, 95)
    assert all(ours > theirs for ours, theirs in others)
    assert round(max(theirs for _, theirs in others)) == 17
    found = results.load("caption_dictionaries")
    assert (found["links"], found["moved"], found["captions"]) == (732, 159, 160)
    assert round(100 * found["input_moved"][0][0] / found["moved"]) == 89
    assert round(100 * found["diagonal"] / found["links"]) == 54


def test_the_first_head_of_the_first_cross_attention_is_missed_most():
    heads = results.load("head_ablation")["heads"]
    first, second, *_ = sorted(heads, key=lambda head: head["rise"], reverse=True)
    assert (first["kind"], first["layer"], first["head"]) == ("cross-attention", 0, 0)
    assert [round(head["rise"], 3) for head in (first, second)] == [0.068, 0.037]


def test_the_chapter_s_words_on_scores_and_five_clauses():
    runs = stored_runs("alignment_two_ways")
    scores = [run for run in runs if run["model"] in SCORES]
    written = [round(100 * run["output"]) for run in scores]
    assert (min(written), max(written)) == (58, 100)
    assert max(run["input"] for run in scores) < 0.2
    assert min(run["exact"] for run in scores) > 0.95
    fed = [run["input"] for run in runs if run["model"] == "general, input feeding"]
    assert round(100 * max(fed)) == 15
    five = {
        name: [round(100 * run["exact"]["5"]) for run in stored_runs(name)]
        for name in ("bahdanau", "luong_dot", "luong_dot_no_feeding")
    }
    assert max(five["bahdanau"]) == 2
    assert max(five["luong_dot"] + five["luong_dot_no_feeding"]) == 29
    whole = stored_runs("frozen_encoders", encoder="whole")
    assert [run["exact"]["5"] for run in whole] == [1, 1, 1]
