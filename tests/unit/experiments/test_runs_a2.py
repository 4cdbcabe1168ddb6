"""The runs of page A2: what each control changes, excess loss, and use of experts."""

import torch
from torch import nn
from torch.nn import functional as F

from attnbook.course.a2.character_models import VARIANTS
from attnbook.course.a2.characters import CHARACTERS, encode_characters
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from experiments import a2


def control(name):
    torch.manual_seed(0)
    return a2.CONTROLS[name]()


def test_all_parts_in_post_norm_are_those_of_today():
    model = control("post-norm, all parts, warm-up")
    assert not any(isinstance(module, nn.LayerNorm) for module in model.modules())
    assert isinstance(model.positions, nn.Identity)
    assert isinstance(model.norm, nn.Identity)  # none after the last: it is post-norm
    of_today, layer = VARIANTS["today"]().blocks[0], model.blocks[0]
    assert not layer.residual.norm_first
    shapes = [
        {
            (part, name): w.shape
            for part in ("norm_1", "attention", "norm_2", "feed_forward")
            for name, w in getattr(block, part).state_dict().items()
        }
        for block in (layer, of_today)
    ]
    assert shapes[0] == shapes[1]


def test_small_weights_are_smaller_at_the_end_of_each_sublayer():
    torch.manual_seed(0)
    baseline = VARIANTS["pre_norm"]().state_dict()
    small = control("pre-norm, small weights").state_dict()
    changed = {
        name for name in baseline if not torch.equal(baseline[name], small[name])
    }
    assert len(changed) == 8
    assert all(name.endswith(("W_O.weight", "W_2.weight")) for name in changed)
    assert all(torch.allclose(small[n], baseline[n] / 8**0.5) for n in changed)


def test_only_the_function_differs_without_a_gate():
    torch.manual_seed(0)
    baseline, smooth = VARIANTS["pre_norm"](), control("pre-norm, SiLU without gate")
    x = torch.randn(2, 3, 64)
    old, new = (m.blocks[0].feed_forward for m in (baseline, smooth))
    assert torch.equal(new(x), new.W_2(nn.functional.silu(old.W_1(x))))


def test_losses_are_those_of_the_next_characters():
    ids = encode_characters(["\nthe", "\nan "])
    model = VARIANTS["pre_norm"]()
    wanted = F.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:], reduction="none")
    assert torch.allclose(a2.character_losses(model, ids), wanted, atol=1e-6)


def test_the_busiest_expert_of_each_block_is_counted():
    torch.manual_seed(0)
    model, ids = VARIANTS["experts"](), torch.randint(4, len(CHARACTERS), (3, 11))
    mixtures = [m for m in model.modules() if isinstance(m, MixtureOfExperts)]
    with torch.no_grad():
        for mixture in mixtures:
            mixture.router.weight.zero_()  # all alike: the same two for all
    assert a2.busiest_shares(model, ids) == [1.0] * len(mixtures)
    assert not any(mixture._forward_pre_hooks for mixture in mixtures)
    assert a2.busiest_shares(VARIANTS["today"](), ids) == []


def test_a_variant_is_trained_and_measured_on_both_halves(monkeypatch):
    small = {"LEARNING_RATES": (1e-3,), "SEEDS": (3,), "STEPS": 20, "LENGTH": 12}
    for name, value in {**small, "BATCH_SIZE": 2, "HELD_OUT": 3}.items():
        monkeypatch.setattr(a2, name, value)
    found = a2.block_variant("experts")
    size = sum(p.numel() for p in VARIANTS["experts"]().parameters())
    assert found["parameters"] == size
    [run] = found["runs"]
    assert [len(run[name]) for name in ("excess", "losses", "busiest")] == [2, 1, 4]
    assert 0 < run["excess"][0] < run["losses"][0]
    assert a2.block_variant("experts")["runs"] == [run]
