"""A stack of encoder layers: several positions in a step are as all at once."""

import pytest
import torch
from compare import agree, double, numbers, randomise
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.nn.layers import EncoderStack, TransformerConfig
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.relative import RelativeAttention
from attnbook.nn.rotary import Rotary

FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def stack_of(norm_first, **sizes):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 3, "d_ff": 12} | sizes
    config = TransformerConfig(norm_first=norm_first, **sizes)
    return randomise(double(EncoderStack, config)).eval()


@FORMS
@given(st.lists(st.integers(1, 4), min_size=1, max_size=4), st.integers(0, 99))
@settings(max_examples=12)
def test_several_positions_in_a_step_are_causal_too(norm_first, parts, seed):
    """However a sequence is cut, as all at once: the first part is a prompt."""
    (x,) = numbers(seed, (2, sum(parts), 8))
    for kind in (MultiHeadAttention, rotary, nearby):
        stack = stack_of(norm_first)
        for layer in stack.layers:
            layer.attention = randomise(kind(8, 2).double())
        cache, outputs = stack.start(x), []
        for part in x.split(parts, dim=1):
            out, cache = stack.step(part, cache)
            outputs.append(out)
        wanted = stack(x, causal_mask(sum(parts)))
        agree(torch.cat(outputs, 1), wanted, [x, *stack.parameters()], 1e-10)


def rotary(*sizes):
    return MultiHeadAttention(*sizes, n_groups=1, turn=Rotary())


def nearby(*sizes):
    return RelativeAttention(*sizes, max_distance=2)


def test_attention_that_keeps_nothing_cannot_take_steps():
    (x,) = numbers(0, (2, 3, 8))
    stack = stack_of(True)
    stack.layers[1].attention = torch.nn.Linear(8, 8)
    with pytest.raises(ValueError, match=r"Linear keeps no keys .* forward"):
        stack.start(x)


@FORMS
def test_the_cache_has_the_type_of_its_layers_under_autocast(norm_first):
    (x,) = numbers(0, (2, 3, 8))
    stack = stack_of(norm_first).float()
    with torch.autocast("cpu", torch.bfloat16):
        cache = stack.start(x.float())
        for position in x.float().split(1, dim=1):
            _, cache = stack.step(position, cache)
    assert {layer.k.dtype for layer in cache} == {torch.bfloat16}
