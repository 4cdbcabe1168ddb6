"""Three ways to compute global and local attention, and what they cost."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.course.ch03 import experiment_local_cost as experiment
from attnbook.course.ch03.experiment_local_cost import (
    FORMS,
    count_scores,
    global_attention,
    local_cost,
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
    torch.testing.assert_close(context, wanted, rtol=1e-12, atol=1e-12)
    spread_out = torch.zeros_like(dense)
    for t in range(steps):
        for d in range(2 * half_width + 1):
            if 0 <= (s := t - half_width + d) < mask.shape[1]:
                spread_out[:, t, s] = weights[:, t, d]
            else:
                assert not weights[:, t, d].any()
    torch.testing.assert_close(spread_out, dense, rtol=1e-12, atol=1e-12)
    for mine, right in zip(
        torch.autograd.grad(context.square().sum(), (h, states)),
        torch.autograd.grad(wanted.square().sum(), (h, states)),
        strict=True,
    ):
        torch.testing.assert_close(mine, right, rtol=1e-12, atol=1e-12)


def test_a_window_over_everything_is_global():
    h, states, mask = random_batch(2, 6, [6, 4])
    wanted, _ = global_attention(h, states, mask)
    for look in (local_masked, local_windowed):
        torch.testing.assert_close(look(h, states, mask, 6)[0], wanted)
    assert not torch.allclose(local_windowed(h, states, mask, 1)[0], wanted)


def test_the_window_reads_its_positions_alone():
    """What stands outside of all windows may be anything, even not a number."""
    h, states, mask = random_batch(1, 3, [9])
    changed = states.detach().clone()
    changed[:, 5:] = torch.nan  # steps 0 to 2 with D = 2 reach place 4
    wanted, _ = local_windowed(h, states, mask, 2)
    torch.testing.assert_close(local_windowed(h, changed, mask, 2)[0], wanted)


def test_more_steps_than_positions_are_an_error():
    h, states, mask = random_batch(1, 4, [3])
    with pytest.raises(ValueError, match="4 steps, but 3 source positions"):
        local_windowed(h, states, mask, 1)


@pytest.mark.parametrize("length", [1, 5, 11, 50])
@pytest.mark.parametrize("half_width", [0, 3, 10])
def test_counts_are_those_of_the_masks(length, half_width):
    h, states, mask = random_batch(1, length, [length])
    _, dense = local_masked(h, states, mask, half_width)
    found = count_scores(length, half_width)
    assert found["local_scores"] == int((dense > 0).sum())
    assert found["global_scores"] == length**2
    assert found["global_bytes"] == 4 * length**2
    assert found["local_bytes"] == 4 * length * (2 * half_width + 1)


def test_it_counts_fifty_positions_by_hand():
    # 21 places each, less 10 + 9 + … + 1 at either end
    assert count_scores(50, 10)["local_scores"] == 50 * 21 - 2 * 55


def test_the_result_holds_all_that_the_page_draws(monkeypatch, capsys):
    monkeypatch.setattr(experiment, "LENGTHS", (3, 30))
    monkeypatch.setattr(experiment, "REPEATS", 1)
    found = local_cost()
    assert (found["half_width"], found["width"]) == (10, 64)
    assert [entry["S"] for entry in found["counts"]] == [3, 30]
    seen = [(run["batch"], run["S"], run["form"]) for run in found["runs"]]
    assert seen == [(b, s, form) for b in (1, 8) for s in (3, 30) for form in FORMS]
    assert all(run["seconds"] > 0 for run in found["runs"])
    assert "S = 30" in capsys.readouterr().out
