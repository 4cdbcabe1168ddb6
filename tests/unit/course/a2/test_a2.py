"""What appendix A2 is made of: its text, its models, and what it says of results."""

import math
from itertools import islice

import pytest
import torch
from torch import nn

from attnbook.course.a2.character_models import VARIANTS
from attnbook.course.a2.characters import (
    CHARACTERS,
    character_batches,
    character_texts,
    encode_characters,
    least_loss,
)
from attnbook.course.kit.exercises.short_exercises import find
from attnbook.nn.block import Block
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.layers import EncoderLayer, FeedForward
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.nn.norms import RMSNorm
from attnbook.nn.rotary import Rotary
from attnbook.toy.language import is_sentence

# The text


def test_batches_are_lines_of_the_toy_language_and_their_next_characters():
    ids, targets = next(character_batches(3, 300, batch_size=5))
    assert torch.equal(ids[:, 1:], targets[:, :-1])
    assert ids.min() >= 4
    texts = [*islice(character_texts(3, 300), 5)]
    assert torch.equal(encode_characters(texts)[:, 1:], targets)
    for row, text in zip(ids.tolist(), texts, strict=True):
        assert "".join(CHARACTERS.decode(row)) == text[:-1]
        assert (len(text), text[0]) == (301, "\n")
        lines = text[1:].split("\n")
        assert all(is_sentence(line) for line in lines[:-1])
        assert all(line.count(" and ") <= 1 for line in lines)


def test_the_least_loss_of_a_sentence_is_minus_the_log_of_its_probability():
    """Two phrases of 252, a verb of 8; half of all sentences have one clause."""
    one = "\nthe old farmer sees a bird\n"
    two = "\nthe old farmer sees a bird and an old king helps this dog\n"
    clause = 2 * math.log(252) + math.log(8)
    assert sum(least_loss(one)) == pytest.approx(clause + math.log(2))
    assert sum(least_loss(two)) == pytest.approx(2 * clause + math.log(2))
    assert sum(least_loss(one + one[1:])) == pytest.approx(2 * sum(least_loss(one)))


# The models


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
    assert torch.allclose(one[:, :5], other[:, :5], atol=1e-6)
    assert (one[:, 5:] - other[:, 5:]).abs().amax((0, 2)).min() > 1e-5
    assert (one[:, -1] - moved[:, -1]).abs().max() > 1e-4


def with_part(kind, part=lambda model: model):
    """The variants whose model, or this part of it, has a module of a kind."""
    models = {name: part(made(name)) for name in VARIANTS}
    return {n for n, m in models.items() if any(type(x) is kind for x in m.modules())}


def test_each_variant_exchanges_what_it_is_called_after():
    today = {"today", "experts"}
    assert with_part(EncoderLayer) == {*VARIANTS} - with_part(Block) == {"post_norm"}
    assert with_part(nn.LayerNorm) == {*VARIANTS} - {"rms_norm", *today}
    assert with_part(FeedForward) == {*VARIANTS} - {"swiglu", *today}
    assert with_part(MixtureOfExperts) == {"experts"}

    def attention(model):
        return model.blocks[3].attention

    assert with_part(RMSNorm, attention) == {"qk_norm", *today}
    assert with_part(Rotary, attention) == {"rotary", *today}
    grouped = {name for name in VARIANTS if attention(made(name)).n_groups == 2}
    assert grouped == {"grouped", *today}
    biased = {n for n in VARIANTS if any("bias" in p for p in made(n).state_dict())}
    assert biased == {*VARIANTS} - {"no_biases", *today}


# Exercises and the explorer


def test_an_expert_is_a_gated_network():
    with torch.device("meta"):
        expert = SwiGLU(4096, 14_336)
    size = sum(p.numel() for p in expert.parameters())
    assert find("exa2_active").reference == (256 * size, 64 * size)
