"""What chapter 8's experiments measure, at small size."""

import math
from itertools import product

import pytest
import torch
from torch.nn import functional as F

from experiments import ch08

# What lets a deep stack learn?


@pytest.mark.parametrize("connection", ch08.CONNECTIONS)
def test_each_connection_is_its_formula(connection):
    torch.manual_seed(0)
    (rung,) = ch08.stack(connection, n_layers=1).layers
    x = torch.randn(2, 5, ch08.WIDTH)
    (attention,), (norm,) = rung.parts, rung.norms
    wanted = {
        "plain": lambda: attention(x, x, x),
        "skip": lambda: x + attention(x, x, x),
        "post-norm": lambda: norm(x + attention(x, x, x)),
        "pre-norm": lambda: x + attention(*[norm(x)] * 3),
    }[connection]()
    assert torch.equal(rung(x), wanted)


def test_the_floors_by_counting_all_cases(monkeypatch):
    """Two of three symbols, sorted: nine cases."""
    monkeypatch.setattr(ch08, "LENGTH", 2)
    cases = [sorted(pair) for pair in product(range(3), repeat=2)]

    def entropy(values):
        shares = [values.count(v) / len(values) for v in {*values}]
        return -sum(p * math.log(p) for p in shares)

    wanted = sum(entropy([case[i] for case in cases]) for i in (0, 1)) / 2
    found = ch08.floors(3)
    assert found["without_reading"] == pytest.approx(wanted, abs=1e-3)
    assert found["guess"] == pytest.approx(math.log(3), abs=1e-3)


def test_a_loss_that_is_no_longer_finite_is_none():
    assert ch08.loss_at_the_end([9.0, *range(10)]) == 4.5
    assert ch08.loss_at_the_end([math.inf] * 10) is None


# Is the feed-forward network needed?


def test_losses_are_averaged_over_twenty_steps():
    assert ch08.mean_of_20([1.0] * 20 + [2.0, 4.0] * 10) == [1, 3]


def test_shares_count_the_task_that_is_asked_for():
    def model(ids):  # knows all sums, and so hardly any sequence backwards
        return F.one_hot(ch08.TASKS["add_previous"](ids).targets, 17).float()

    assert ch08.mean_accuracy(model, "add_previous") == 1
    assert ch08.mean_accuracy(model, "backwards") < 0.1


def test_the_scale_shrinks_what_each_sublayer_adds_first():
    stacks = []
    for scale in (1.0, ch08.small_scale(16)):
        torch.manual_seed(0)
        stacks.append(ch08.stack("skip", 2, network=True, scale=scale).layers)
    pairs = [*zip(*map(ch08.output_matrices, stacks), strict=True)]
    assert len(pairs) == 4
    for one, other in pairs:
        assert torch.equal(other, 0.25 * one)


def test_the_rate_rises_to_the_full_one_and_stays(monkeypatch):
    rates, step = [], torch.optim.Adam.step

    def watched(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    ch08.train_with_warmup(ch08.stack("skip", n_layers=1), 0, 6, 0.01, n_warmup=4)
    assert rates == pytest.approx([0.0025, 0.005, 0.0075, 0.01, 0.01, 0.01])


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(("draw", "size"), [("N(0, 1)", 1.0), ("N(0, 1/D)", 0.125)])
def test_word_vectors_are_as_large_as_their_name_says(draw, size, scaled):
    torch.manual_seed(0)
    vectors = ch08.make_embedding(draw, scaled)(torch.arange(1, 17))
    wanted = size * (8 if scaled else 1)
    assert 0.9 * wanted < vectors.std() < 1.1 * wanted
