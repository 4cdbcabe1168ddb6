"""What chapter 5's experiments measure, at small size."""

import pytest
import torch

from attnbook.data.batching import IdPair
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from experiments import ch05

PAIRS = [IdPair([5, 6, 7], [8, 9]), IdPair([6, 5], [9, 8, 7]), IdPair([9], [5])]


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = TransformerConfig(12, d_model=8, n_heads=2, n_layers=2, d_ff=16)
    return Transformer(config).eval().requires_grad_(False)


# The translator without some of its heads


@pytest.mark.parametrize(
    ("kind", "name"),
    [
        ("encoder self-attention", "encoder.{}.attention"),
        ("decoder self-attention", "decoder.{}.self_attention"),
        ("cross-attention", "decoder.{}.cross_attention"),
    ],
)
def test_a_kind_without_its_heads_is_a_model_without_that_attention(model, kind, name):
    batches = ch05.length_batches(PAIRS)
    before = ch05.mean_loss(model, batches)
    with ch05.removed(model, [(kind, n, head) for n in (0, 1) for head in (0, 1)]):
        found = ch05.mean_loss(model, batches)
    assert ch05.mean_loss(model, batches) == before != found
    for n in (0, 1):
        model.get_submodule(name.format(n)).W_O.weight.zero_()
    assert ch05.mean_loss(model, batches) == found
