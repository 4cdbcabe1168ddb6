"""The runs of page A2: excess loss, and how evenly experts are used."""

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.toy.character_models import VARIANTS
from attnbook.toy.characters import CHARACTERS, encode_characters
from experiments import a2_block_variants as experiment
from experiments.a2_block_variants import (
    block_variant,
    busiest_shares,
    character_losses,
)


class Uniform(nn.Module):
    """Gives every character the same probability."""

    def forward(self, ids):
        return torch.zeros(*ids.shape, len(CHARACTERS))


def test_losses_are_those_of_the_next_characters():
    ids = encode_characters(["\nthe", "\nan "])
    model = VARIANTS["pre_norm"]()
    wanted = F.cross_entropy(model(ids[:, :-1]).mT, ids[:, 1:], reduction="none")
    assert torch.allclose(character_losses(model, ids), wanted, atol=1e-6)
    uniform = character_losses(Uniform(), ids)
    assert torch.allclose(uniform, torch.tensor(len(CHARACTERS)).log())


def test_the_busiest_expert_of_each_block_is_counted():
    torch.manual_seed(0)
    model, ids = VARIANTS["experts"](), torch.randint(4, 20, (3, 11))
    mixtures = [m for m in model.modules() if isinstance(m, MixtureOfExperts)]
    with torch.no_grad():
        for mixture in mixtures:
            mixture.router.weight.zero_()  # all alike: the same two for all
    assert busiest_shares(model, ids) == [1.0] * len(mixtures)
    assert not any(mixture._forward_pre_hooks for mixture in mixtures)
    assert busiest_shares(VARIANTS["today"](), ids) == []


def test_all_of_it_at_small_size(monkeypatch):
    monkeypatch.setattr(experiment, "LEARNING_RATES", (1e-3,))
    monkeypatch.setattr(experiment, "SEEDS", (3,))
    monkeypatch.setattr(experiment, "STEPS", 20)
    monkeypatch.setattr(experiment, "LENGTH", 12)
    monkeypatch.setattr(experiment, "HELD_OUT", 3)
    found = block_variant("experts")
    assert found["parameters"] == sum(
        p.numel() for p in VARIANTS["experts"]().parameters()
    )
    assert [run["seed"] for run in found["runs"]] == [3]
    for run in found["runs"]:
        assert len(run["excess"]) == 2
        assert len(run["losses"]) == 1
        assert 0 < run["excess"][0] < run["losses"][0]
        assert len(run["busiest"]) == 4
    again = block_variant("experts")
    assert again["runs"] == found["runs"]


def test_an_unknown_variant_is_no_variant():
    with pytest.raises(KeyError):
        block_variant("2026")
