"""The experiments of part II: what they measure, at small size."""

import torch
from compare import close
from torch.nn import functional as F

from attnbook.analysis.bug_zoo import WrongSplit
from attnbook.analysis.leaks import influence
from attnbook.toy.single_attention import one_layer
from attnbook.toy.tasks import previous_symbols, reversed_symbols
from experiments import ch07_task_runs as task_runs


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
