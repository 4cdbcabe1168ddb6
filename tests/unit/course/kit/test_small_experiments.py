"""The experiments of part II: what they measure, at small size."""

import torch
from compare import close, double, numbers
from torch.nn import functional as F

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.leaks import influence
from attnbook.core import results
from attnbook.course.ch04 import (
    experiment_fused_cost as fused_cost,
)
from attnbook.course.ch04 import (
    experiment_look_up as look_up,
)
from attnbook.course.ch07 import experiment_task_runs as task_runs
from attnbook.toy.single_attention import POSITION_KINDS, one_layer
from attnbook.toy.tasks import previous_symbols, reversed_symbols


def test_the_answer_stands_beside_the_asked_key():
    drawn = look_up.examples(50, torch.Generator().manual_seed(0))
    for asked, keys, values, answer in zip(*drawn, strict=True):
        assert len(set(keys.tolist())) == look_up.N_PAIRS
        assert values[keys == asked].tolist() == [answer]


def test_a_look_up_reads_nothing_but_its_mean_of_values():
    model = double(look_up.LookUp, 8, look_up.ScaledRead(8, 0.3))
    asked, keys, values, _ = look_up.examples(3, torch.Generator().manual_seed(0))
    q, k = model.read.W_Q(model.key(asked)), model.read.W_K(model.key(keys))
    v = model.W_V(model.value(values))
    weights = (torch.einsum("bd,bsd->bs", q, k) * 0.3).softmax(-1)
    mean = torch.einsum("bs,bsd->bd", weights, v)
    close(model(asked, keys, values), model.out(mean))


def test_the_additive_look_up_uses_the_additive_score():
    read = double(look_up.AdditiveRead, 8)
    q, k, v = numbers(0, (2, 1, 8), (2, 5, 8), (2, 5, 8))
    score = read.score
    hidden = torch.tanh(score.W(q)[:, :, None] + score.U(k)[:, None])
    weights = score.v(hidden).squeeze(-1).softmax(-1)
    close(read(q, k, v), weights @ v)


def test_a_large_v_has_the_deviation_that_is_asked_for():
    torch.manual_seed(0)
    plain, large = (look_up.make_read(name, 400) for name in look_up.ADDITIVE)
    assert plain.score.v.weight.abs().max() <= 1 / 20
    assert 0.9 < large.score.v.weight.std() < 1.1
    assert large.score.W.out_features == 400


def test_a_read_is_made_by_its_name():
    assert look_up.make_read("8/√d", 16).scale == 2


def test_a_look_up_is_learned_at_small_width(monkeypatch):
    monkeypatch.setattr(look_up, "STEPS", 200)
    torch.manual_seed(0)
    model = look_up.LookUp(64, look_up.make_read("1/√d", 64))
    assert look_up.train_look_up(model, seed=0)[-1] > 0.8


def test_the_peak_bytes_are_those_held_at_one_moment():
    def call():
        first = torch.ones(1000)  # 4,000 bytes
        first = first.sum()  # and given back
        return torch.ones(3000) + first  # 12,000, twice

    held = fused_cost.peak_bytes(call)
    assert 24_000 <= held < 28_000


def test_the_fused_form_holds_no_scores():
    stored = results.load("fused_cost")
    for run in stored["runs"]:
        n, scores = run["n"], 4 * stored["heads"] * run["n"] ** 2
        if run["form"] == "readable":
            assert run["bytes"] >= scores
        elif n >= 1024:
            assert run["bytes"] < scores / 10


def test_shares_are_none_where_nothing_counts():
    torch.manual_seed(0)
    rows = task_runs.accuracy_by_position(one_layer("none", 4), previous_symbols, 4)
    assert [[share is None for share in row] for row in rows] == [
        [True, True],
        [False, True],
        [False, False],
        [False, False],
    ]


def test_training_on_a_task_changes_the_answers():
    torch.manual_seed(0)
    model = one_layer("learned", 4, n_heads=4, n_answers=1)
    before = task_runs.accuracy_by_position(model, reversed_symbols, 4)
    task_runs.train_task_model(model, reversed_symbols, 4, 150, seed=0)
    after = task_runs.accuracy_by_position(model, reversed_symbols, 4)
    assert max(row[0] for row in before) < 0.3 < 0.8 < min(row[0] for row in after)


def test_a_wrong_split_deals_out_positions():
    torch.manual_seed(0)
    wrong = WrongSplit(16, 4)
    x = torch.randn(2, 8, 16)
    moved = influence(lambda x: wrong(x, x, x), x) > 0
    pairs = torch.arange(8) // 2  # 8 places, 4 heads: two places a head
    assert torch.equal(moved, pairs[:, None] == pairs)
    out, weights = wrong(x, x, x, need_weights=True)
    close(out, wrong(x, x, x), atol=1e-5)
    close(weights.sum(-1), torch.ones(2, 4, 8), atol=1e-5)


def test_a_wrong_split_of_one_head_is_right():
    torch.manual_seed(0)
    wrong, x = WrongSplit(16, 1), torch.randn(2, 5, 16)
    q, k, v = wrong.W_Q(x), wrong.W_K(x), wrong.W_V(x)
    close(wrong(x, x, x), wrong.W_O(F.scaled_dot_product_attention(q, k, v)), atol=1e-5)


def test_every_stored_run_is_there():
    seeds = len(task_runs.SEEDS)
    assert len(results.load("heads")["runs"]) == 4 * seeds
    assert len(results.load("wrong_split")["runs"]) == 4 * seeds
    assert len(results.load("positions")["runs"]) == len(POSITION_KINDS) * 2 * seeds
    assert len(results.load("positions_farther")["runs"]) == 2 * seeds
    names = len(look_up.SCALES) + len(look_up.ADDITIVE)
    runs = results.load("look_up")["runs"]
    assert len(runs) == len(look_up.WIDTHS) * names * len(look_up.SEEDS)


def test_the_second_half_is_what_is_counted():
    """A model that answers rightly up to place 5 and wrongly from there on."""

    def model(ids):
        right = F.one_hot(previous_symbols(ids).targets, 17).float()
        right[:, 6:, 0] *= -1  # of one question
        return right

    assert task_runs.second_half_accuracy(model, 12) == 0.5


def test_a_wrong_split_drops_weights_in_training_alone():
    torch.manual_seed(0)
    wrong, x = WrongSplit(16, 4, dropout=0.5), torch.randn(2, 8, 16)
    assert not torch.equal(wrong(x, x, x), wrong(x, x, x))
    wrong.eval()
    assert torch.equal(wrong(x, x, x), wrong(x, x, x))
