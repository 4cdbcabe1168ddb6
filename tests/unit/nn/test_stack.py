"""A stack of encoder layers: what it keeps for decoding."""

import pytest
import torch
from compare import double, numbers, randomise

from attnbook.nn.layers import EncoderStack, TransformerConfig

FORMS = pytest.mark.parametrize("norm_first", [False, True], ids=["post", "pre"])


def stack_of(norm_first, **sizes):
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 3, "d_ff": 12} | sizes
    config = TransformerConfig(norm_first=norm_first, **sizes)
    return randomise(double(EncoderStack, config)).eval()


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
