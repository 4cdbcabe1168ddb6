"""What chapter 5's experiments measure, at small size."""

import pytest
import torch

from attnbook.data.batching import IdPair
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
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


@pytest.fixture
def cases():
    sources, prefixes = ([5, 6, 7, 3], [7, 5, 3]), ([2, 8], [2, 9, 8])
    return [
        ch05.Case(torch.tensor([src]), torch.tensor([tgt]), ("ihr", "e"), [0], [1], [2])
        for src, tgt in zip(sources, prefixes, strict=True)
    ]


def logits(model, case):
    return model.decode(case.tgt_in, model.encode(case.src), key_mask(case.src))[0, -1]


def test_a_head_that_is_held_gives_its_mean_to_the_last_query(model, cases):
    module, seen = model.decoder[0].cross_attention.W_O, []
    hook = module.register_forward_pre_hook(lambda _, args: seen.append(args[0][0, -1]))
    whole = [logits(model, case) for case in cases]
    hook.remove()
    mean = sum(seen)[:4] / len(seen)
    with ch05.held(model, cases, [(0, 0)]):
        changed = [logits(model, case) for case in cases]

    def hold(_, args):
        args[0][0, -1, :4] = mean

    for case, old, new in zip(cases, whole, changed, strict=True):
        assert torch.equal(logits(model, case), old)
        assert not torch.allclose(old, new)
        hook = module.register_forward_pre_hook(hold)
        torch.testing.assert_close(logits(model, case), new)
        hook.remove()
