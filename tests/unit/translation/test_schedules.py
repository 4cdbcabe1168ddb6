"""Learning rates: the paper's numbers, and where the highest is."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from attnbook.translation.configs import config
from attnbook.translation.schedules import (
    inverse_sqrt_learning_rate,
    learning_rate,
    linear_learning_rate,
    noam_learning_rate,
)


@given(st.integers(1, 20_000), st.integers(1, 1024), st.integers(1, 5000))
def test_it_is_equation_3(step, d_model, warmup):
    rising, falling = step / warmup**1.5, 1 / step**0.5
    wanted = (rising if rising < falling else falling) / d_model**0.5
    assert noam_learning_rate(step, d_model, warmup) == pytest.approx(wanted, rel=1e-12)


def test_the_peak_can_be_chosen():
    assert inverse_sqrt_learning_rate(800, 4e-3, 800) == pytest.approx(4e-3, rel=1e-12)
    assert inverse_sqrt_learning_rate(400, 4e-3, 800) == pytest.approx(2e-3, rel=1e-12)
    assert inverse_sqrt_learning_rate(3200, 4e-3, 800) == pytest.approx(2e-3, rel=1e-12)


def test_the_linear_one_is_two_straight_lines():
    """Up to the peak, down to 0 behind the last update, and never below it."""
    found = [linear_learning_rate(step, 6e-3, 3, 8) for step in range(1, 11)]
    wanted = [2e-3, 4e-3, 6e-3, 5e-3, 4e-3, 3e-3, 2e-3, 1e-3, 0, 0]
    assert found == pytest.approx(wanted)
    too_short = [linear_learning_rate(step, 6e-3, 3, 2) for step in (1, 2)]
    assert too_short == pytest.approx([2e-3, 4e-3])


@pytest.mark.parametrize(
    ("name", "sizes"),
    [("step", (0, 512, 4000)), ("d_model", (1, 0, 4000)), ("warmup", (1, 512, 0.5))],
)
def test_what_is_no_count_is_named(name, sizes):
    with pytest.raises(ValueError, match=rf"{name} is .* whole number from 1 on"):
        noam_learning_rate(*sizes)


def test_the_config_chooses():
    """The paper's rate without a peak, which is otherwise the highest."""
    wanted = pytest.approx(noam_learning_rate(5, 512, 4000), rel=1e-12)
    assert learning_rate(config("base"), 5, 9) == wanted
    toy = config("toy")
    how = toy.peak_learning_rate, toy.warmup
    assert learning_rate(toy, 60, 99) == inverse_sqrt_learning_rate(60, *how)
    line = config("toy", optimizer="muon")
    assert learning_rate(line, 60, 99) == linear_learning_rate(60, *how, 99)
