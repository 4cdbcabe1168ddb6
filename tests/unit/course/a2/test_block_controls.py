"""The controls of page A2: each changes what its name says, and nothing else."""

import pytest
import torch
from torch import nn

from attnbook.course.a2 import experiment_block_controls as experiment
from attnbook.course.a2 import figures
from attnbook.course.kit.tables import stored_runs
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.rotary import RotaryAttention
from attnbook.toy.character_models import VARIANTS


def control(name):
    torch.manual_seed(0)
    return experiment.CONTROLS[name]()


def test_every_control_is_shown_and_stored():
    shown = {name for names in figures.CONTROLS.values() for name in names}
    assert shown == {*experiment.CONTROLS}
    for name in shown:
        assert len(stored_runs("block_controls", control=name)) == 3


@pytest.mark.parametrize(
    ("name", "part"),
    [("post-norm, SwiGLU", SwiGLU), ("post-norm, RoPE", RotaryAttention)],
)
def test_post_norm_gets_its_part_in_every_layer(name, part):
    model = control(name)
    assert sum(isinstance(module, part) for module in model.modules()) == 4
    assert isinstance(model.positions, nn.Identity) == (part is RotaryAttention)


def test_small_weights_are_smaller_at_the_end_of_each_sublayer():
    torch.manual_seed(0)
    baseline, small = VARIANTS["pre_norm"](), control("pre-norm, small weights")
    changed = {
        name
        for (name, old), new in zip(
            baseline.named_parameters(), small.parameters(), strict=True
        )
        if not torch.equal(old, new)
    }
    assert len(changed) == 8
    assert all(name.endswith(("W_O.weight", "W_2.weight")) for name in changed)
    old, new = (m.blocks[0].feed_forward.W_2.weight for m in (baseline, small))
    assert torch.allclose(new, old / 8**0.5)


def test_only_the_function_differs_without_a_gate():
    torch.manual_seed(0)
    baseline, smooth = VARIANTS["pre_norm"](), control("pre-norm, SiLU without gate")
    x = torch.randn(2, 3, 64)
    old, new = (m.blocks[0].feed_forward for m in (baseline, smooth))
    assert torch.equal(new(x), new.W_2(nn.functional.silu(old.W_1(x))))
    assert not torch.allclose(new(x), old(x))


def test_a_run_at_small_size(monkeypatch):
    sizes = {"SEEDS": (3,), "STEPS": 20, "LENGTH": 12}
    for name, value in sizes.items():
        monkeypatch.setattr(experiment, name, value)
    one = "pre-norm, warm-up"
    monkeypatch.setattr(experiment, "CONTROLS", {one: experiment.CONTROLS[one]})
    [run] = experiment.block_controls()["runs"]
    assert (run["control"], run["seed"], len(run["losses"])) == (one, 3, 1)
    assert run["excess"] > 0
