"""The ladder's rows: what each connection computes, small weights, the floors."""

import math
from itertools import product

import pytest
import torch

from attnbook.course.ch08.lab import ladder_table
from attnbook.course.kit.tables import stored_runs
from experiments import ch08_ladder as ladder


@pytest.mark.parametrize("connection", ladder.CONNECTIONS)
def test_each_connection_is_its_formula(connection):
    torch.manual_seed(0)
    (rung,) = ladder.stack(connection, n_layers=1).layers
    x = torch.randn(2, 5, ladder.WIDTH)
    (attention,), (norm,) = rung.parts, rung.norms
    wanted = {
        "plain": lambda: attention(x, x, x),
        "skip": lambda: x + attention(x, x, x),
        "post-norm": lambda: norm(x + attention(x, x, x)),
        "pre-norm": lambda: x + attention(*[norm(x)] * 3),
    }[connection]()
    assert torch.equal(rung(x), wanted)


def test_the_scale_shrinks_what_each_sublayer_adds_first():
    torch.manual_seed(0)
    plain = ladder.stack("skip", 2, network=True)
    torch.manual_seed(0)
    small = ladder.stack("skip", 2, network=True, scale=0.25)
    both = (ladder.output_matrices(model.layers) for model in (plain, small))
    pairs = [*zip(*both, strict=True)]
    assert len(pairs) == 4
    for one, other in pairs:
        assert torch.equal(other, 0.25 * one)
    assert ladder.small_scale(16) == 0.25


def test_the_floors_by_counting_all_cases(monkeypatch):
    """Two of three symbols, sorted: nine cases."""
    monkeypatch.setattr(ladder, "LENGTH", 2)
    cases = [sorted(pair) for pair in product(range(3), repeat=2)]

    def entropy(values):
        shares = [values.count(v) / len(values) for v in {*values}]
        return -sum(p * math.log(p) for p in shares)

    wanted = sum(entropy([case[i] for case in cases]) for i in (0, 1)) / 2
    found = ladder.floors(3)
    assert found["without_reading"] == pytest.approx(wanted, abs=1e-3)
    assert found["guess"] == pytest.approx(math.log(3), abs=1e-3)


def test_the_tables_show_all_runs():
    rows = {name: (diversity, loss) for name, diversity, loss in ladder_table().rows()}
    assert [*rows] == [*ladder.LADDER]
    assert rows["pre-norm"][1].mean < 0.5 < 2.5 < rows["post-norm"][1].mean


def test_a_row_is_trained_and_measured(monkeypatch):
    monkeypatch.setattr(ladder, "STEPS", 12)
    found = ladder.train_row({**ladder.LADDER["pre-norm"], "n_layers": 1}, 0, 1e-3)
    assert 0 < found["diversity"] < 1
    assert 1 < found["loss"] < 4


def test_a_run_over_rates_names_its_row_and_drops_an_infinite_loss(monkeypatch):
    asked = []

    def train_row(row, seed, rate):
        asked.append((row, seed, rate))
        return {"loss": math.inf if seed == 1 else 0.5}

    monkeypatch.setattr(ladder, "train_row", train_row)
    runs = ladder.runs_over_rates(["pre-norm, small weights"], [1e-3], [True])
    assert [run["loss"] for run in runs] == [0.5, None, 0.5]
    assert {run["row"] for run in runs} == {"pre-norm, small weights"}
    row = {**ladder.LADDER["pre-norm"], "scale": 0.25, "warm_up": True}
    assert asked == [(row, seed, 1e-3) for seed in ladder.SEEDS]


def test_small_weights_without_norms_learn_until_the_rate_is_high():
    """What chapter 8 says of the four stacks over five learning rates."""
    losses = {}
    for run in stored_runs("weights_and_norm"):
        losses.setdefault((run["row"], run["rate"]), []).append(run["loss"])
    rates = (*ladder.RATES, 3e-2)
    for rate in rates:
        full = losses["skip, network", rate]
        assert all(loss is None or loss > math.log(16) for loss in full)
        assert None not in losses["pre-norm", rate]
        assert None not in losses["pre-norm, small weights", rate]
    small = [losses["skip, network, small weights", rate] for rate in rates]
    assert [runs.count(None) for runs in small] == [0, 0, 0, 1, 3]
    assert max(loss for runs in small[:3] for loss in runs) < 0.8


def test_controls_change_what_they_name():
    (row, _) = ladder.CONTROLS["skip, network, nn.Linear's weights"]
    torch.manual_seed(0)
    drawn = ladder.stack(**row).layers[0].parts[0].W_V.weight
    assert drawn.abs().max() <= ladder.WIDTH**-0.5  # nn.Linear's bound
    (row, _) = ladder.CONTROLS["skip, network, last norm"]
    assert isinstance(ladder.stack(**row).norm, torch.nn.LayerNorm)


def test_what_chapter_8_says_of_the_controls():
    runs = {}
    for run in stored_runs("ladder_controls"):
        runs.setdefault(run["row"], []).append(run)
    last = runs["skip, network, last norm"]
    assert all(run["first"] < 3.3 and run["loss"] > 2.7 for run in last)
    learned = ("pre-norm, no network", "skip, network, nn.Linear's weights")
    for name in (*learned, "post-norm, nn.Linear's weights"):
        assert all(run["loss"] < 1 for run in runs[name]), name
