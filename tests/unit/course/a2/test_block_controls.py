"""The controls of page A2: each changes what its name says, and nothing else."""

from statistics import fmean

import pytest
import torch
from torch import nn

from attnbook.course.a2 import figures
from attnbook.course.kit.tables import stored_runs
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.rotary import Rotary
from attnbook.toy.character_models import VARIANTS
from experiments import a2_block_controls as experiment


def control(name):
    torch.manual_seed(0)
    return experiment.CONTROLS[name]()


def test_every_control_is_shown_and_stored():
    assert {run["control"] for run in stored_runs("block_controls")} == {
        *experiment.CONTROLS
    }
    for name in experiment.CONTROLS:
        assert len(stored_runs("block_controls", control=name)) == 3
    shown = [figures.controls(norm) for norm in figures.CONTROLS]
    shown += [figures.warm_ups(norm) for norm in figures.CONTROLS]
    assert sum(map(len, shown)) == len(experiment.CONTROLS)
    assert all(len(seeds) == 3 for rows in shown for seeds in rows.values())


def test_what_the_page_says_of_post_norm():
    letters, learns = figures.LETTERS, figures.LETTERS / 10
    alone, late = figures.controls("post-norm"), figures.warm_ups("post-norm")
    assert all(abs(x - letters) < 0.01 for seeds in alone.values() for x in seeds)
    assert round(fmean(late["as in 2017"]), 2) == 2.30
    assert max(late["RoPE instead of sinusoids"]) < learns
    assert round(fmean(late["RoPE instead of sinusoids"]), 2) == 0.09
    assert sum(excess < learns for excess in late["QK-norm†"]) == 2
    assert min(late["SwiGLU"]) > 2
    assert abs(fmean(late["all parts of today"]) - 0.011) < 0.002


def test_what_the_page_says_of_pre_norm():
    learns = figures.LETTERS / 10
    alone, late = figures.controls("pre-norm"), figures.warm_ups("pre-norm")
    parts = {name: figures.at_largest(name) for name in figures.PARTS}
    found = {name for name, seeds in parts.items() if max(seeds) < learns}
    assert found == {"rotary", "swiglu", "qk_norm"}
    assert all(min(seeds) > learns for seeds in alone.values())
    assert max(late["baseline"]) < min(map(min, parts.values()))
    assert round(fmean(alone["small initial weights"]), 2) == 0.67


@pytest.mark.parametrize(
    ("name", "part"),
    [("post-norm, SwiGLU", SwiGLU), ("post-norm, RoPE", Rotary)],
)
def test_post_norm_gets_its_part_in_every_layer(name, part):
    model = control(name)
    assert sum(isinstance(module, part) for module in model.modules()) == 4
    assert isinstance(model.positions, nn.Identity) == (part is Rotary)


def test_all_parts_in_post_norm_are_those_of_today():
    model = control("post-norm, all parts, warm-up")
    assert not any(isinstance(module, nn.LayerNorm) for module in model.modules())
    assert isinstance(model.positions, nn.Identity)
    assert isinstance(model.norm, nn.Identity)  # none after the last: it is post-norm
    of_today = VARIANTS["today"]().blocks[0]
    layer = model.blocks[0]
    assert not layer.residual.norm_first
    for part in ("norm_1", "attention", "norm_2", "feed_forward"):
        wanted = getattr(of_today, part).state_dict()
        found = getattr(layer, part).state_dict()
        assert {k: v.shape for k, v in found.items()} == {
            k: v.shape for k, v in wanted.items()
        }


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
