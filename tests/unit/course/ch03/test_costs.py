"""What attention costs: global and local forms agree; counts, and times as quoted."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.core import results
from experiments import ch03_cost as experiment
from experiments.ch03_cost import (
    FORMS,
    count_scores,
    global_attention,
    local_masked,
    local_windowed,
)


def random_batch(batch, steps, lengths, width=3):
    g = torch.Generator().manual_seed(0)
    positions = max(lengths)
    h = torch.randn(batch, steps, width, generator=g, dtype=torch.float64)
    states = torch.randn(batch, positions, width, generator=g, dtype=torch.float64)
    mask = torch.arange(positions) < torch.tensor(lengths)[:, None]
    return h.requires_grad_(), states.requires_grad_(), mask


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.integers(1, 9),
    st.integers(0, 11),
)
def test_windowed_is_masked(lengths, steps, half_width):
    """Contexts, weights and gradients; with pads, borders, windows wider than all."""
    steps = min(steps, max(lengths))
    h, states, mask = random_batch(len(lengths), steps, lengths)
    wanted, dense = local_masked(h, states, mask, half_width)
    context, weights = local_windowed(h, states, mask, half_width)
    spread_out = torch.zeros_like(dense)
    for t in range(steps):
        for d in range(2 * half_width + 1):
            if 0 <= (s := t - half_width + d) < mask.shape[1]:
                spread_out[:, t, s] = weights[:, t, d]
            else:
                assert not weights[:, t, d].any()
    for mine, right in (
        (context, wanted),
        (spread_out, dense),
        *zip(
            torch.autograd.grad(context.square().sum(), (h, states)),
            torch.autograd.grad(wanted.square().sum(), (h, states)),
            strict=True,
        ),
    ):
        torch.testing.assert_close(mine, right, rtol=1e-12, atol=1e-12)


def test_a_window_over_everything_is_global_and_a_small_one_reads_nothing_else():
    h, states, mask = random_batch(2, 6, [6, 4])
    wanted, _ = global_attention(h, states, mask)
    for look in (local_masked, local_windowed):
        torch.testing.assert_close(look(h, states, mask, 6)[0], wanted)
    h, states, mask = random_batch(1, 3, [9])
    changed = states.detach().clone()
    changed[:, 5:] = torch.nan  # steps 0 to 2 with D = 2 reach place 4
    wanted, _ = local_windowed(h, states, mask, 2)
    torch.testing.assert_close(local_windowed(h, changed, mask, 2)[0], wanted)
    with pytest.raises(ValueError, match="4 steps, but 3 source positions"):
        local_windowed(*random_batch(1, 4, [3]), 1)


@pytest.mark.parametrize("length", [1, 5, 50])
@pytest.mark.parametrize("half_width", [0, 3, 10])
def test_counts_are_those_of_the_masks(length, half_width):
    h, states, mask = random_batch(1, length, [length])
    _, dense = local_masked(h, states, mask, half_width)
    assert count_scores(length, half_width) == {
        "S": length,
        "global_scores": length**2,
        "local_scores": int((dense > 0).sum()),
        "global_bytes": 4 * length**2,
        "local_bytes": 4 * length * (2 * half_width + 1),
    }


def test_small_runs_have_the_form_of_the_stored_ones(monkeypatch):
    monkeypatch.setattr(experiment, "LENGTHS", (3, 30))
    monkeypatch.setattr(experiment, "REPEATS", 1)
    found = experiment.local_cost()
    stored = results.load("local_cost")
    assert found.keys() <= stored.keys()
    assert [entry["S"] for entry in found["counts"]] == [3, 30]
    seen = [(run["batch"], run["S"], run["form"]) for run in found["runs"]]
    assert seen == [(b, s, form) for b in (1, 8) for s in (3, 30) for form in FORMS]
    assert all(run["seconds"] > 0 for run in found["runs"])


def test_calls_are_timed_in_turn_after_a_round_to_warm_up():
    ticks, called = iter(range(100)), []
    calls = {name: lambda name=name: called.append(name) for name in "ab"}
    found = experiment.time_in_turn(calls, 2, lambda: next(ticks))
    assert called == [*"ababab"]
    assert found == {"a": [1, 1], "b": [1, 1]}


def test_quartiles_are_in_order_and_every_model_is_timed(monkeypatch):
    few = {name: experiment.MODELS[name] for name in ("dot", "dot, input feeding")}
    monkeypatch.setattr(experiment, "MODELS", few)
    found, stored = experiment.step_cost(repeats=3), results.load("step_cost")
    assert {key: found[key] for key in "BST"} == {key: stored[key] for key in "BST"}
    parameters = {run["model"]: run["parameters"] for run in stored["runs"]}
    for run in found["runs"]:
        assert run["parameters"] == parameters[run["model"]]
        assert 0 < run["low"] <= run["median"] <= run["high"]


def test_the_times_that_the_chapter_quotes_are_stored():
    steps = {run["model"]: run["median"] for run in results.load("step_cost")["runs"]}
    milliseconds = {name: round(1000 * seconds) for name, seconds in steps.items()}
    quoted = ("dot", "concat", "dot, input feeding")
    assert [milliseconds[name] for name in quoted] == [73, 130, 149]
    times = {
        (run["S"], run["form"]): run["seconds"]
        for run in results.load("local_cost")["runs"]
        if run["batch"] == 1
    }
    assert times[50, "local, windowed"] > times[50, "global"]
    assert 20 < times[2000, "global"] / times[2000, "local, windowed"] < 25
