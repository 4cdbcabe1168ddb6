"""The variants of the block: causal, and each with what it is called after."""

import pytest
import torch
from torch import nn

from attnbook.nn.block import Block
from attnbook.nn.layers import EncoderLayer, FeedForward
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.norms import RMSNorm
from attnbook.nn.rotary import Rotary
from attnbook.toy.character_models import VARIANTS
from attnbook.toy.characters import CHARACTERS


def made(name):
    torch.manual_seed(0)
    return VARIANTS[name]()


@pytest.mark.parametrize("name", VARIANTS)
def test_an_output_depends_on_no_later_character_and_on_the_order_of_those_before(name):
    model = made(name).eval()
    ids = torch.randint(4, len(CHARACTERS), (2, 9))
    changed = ids.clone()
    changed[:, 5] = 4 + (changed[:, 5] - 3) % 20
    with torch.no_grad():
        one, other = model(ids), model(changed)
        moved = model(ids[:, [1, 0, *range(2, 9)]])
    assert one.shape == (2, 9, len(CHARACTERS))
    assert torch.allclose(one[:, :5], other[:, :5], atol=1e-6)
    assert (one[:, 5:] - other[:, 5:]).abs().amax((0, 2)).min() > 1e-5
    assert (one[:, -1] - moved[:, -1]).abs().max() > 1e-4


def kinds(name):
    return {type(module) for module in made(name).modules()}


def attention_kinds(name):
    return {type(module) for module in made(name).blocks[3].attention.modules()}


def test_each_variant_exchanges_what_it_is_called_after():
    assert EncoderLayer in kinds("post_norm")
    assert Block not in kinds("post_norm")
    old = {nn.LayerNorm, MultiHeadAttention, FeedForward}
    assert old <= kinds("pre_norm")
    assert nn.LayerNorm not in kinds("rms_norm")
    assert RMSNorm in kinds("rms_norm")
    assert Rotary in kinds("rotary")
    assert FeedForward not in kinds("swiglu")
    assert not {nn.LayerNorm, FeedForward} & kinds("today")
    groups = {name: made(name).blocks[3].attention.n_groups for name in VARIANTS}
    assert {name for name, n in groups.items() if n == 2} == {
        *("grouped", "today", "experts")
    }
    normed = {name for name in VARIANTS if RMSNorm in attention_kinds(name)}
    assert normed == {"qk_norm", "today", "experts"}
    turned = {name for name in VARIANTS if Rotary in attention_kinds(name)}
    assert turned == {"rotary", "today", "experts"}
    assert MixtureOfExperts in kinds("experts")
    names = [name for name, _ in made("no_biases").named_parameters()]
    assert not [name for name in names if "bias" in name]
    assert not [name for name, _ in made("today").named_parameters() if "bias" in name]


def size(name):
    return sum(p.numel() for p in made(name).parameters())


def test_only_shared_keys_and_biases_and_experts_change_the_number_of_parameters():
    assert size("post_norm") == size("pre_norm") - 2 * 64  # the last norm
    assert size("swiglu") == pytest.approx(size("pre_norm"), rel=0.01)
    assert size("qk_norm") == size("pre_norm") - 4 * (4 * 64 - 2 * 16)
    assert size("grouped") == size("pre_norm") - 4 * (4 * 64 + 2 * 64 * 32)
    assert size("experts") > 2.5 * size("today")
