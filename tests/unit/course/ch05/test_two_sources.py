"""Which heads bring a possessive's stem, and which its ending: on a small model."""

import pytest
import torch

from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from experiments import ch05_two_sources as experiment


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = TransformerConfig(12, d_model=8, n_heads=2, n_layers=2, d_ff=16)
    return Transformer(config).eval().requires_grad_(False)


@pytest.fixture
def cases():
    sources, prefixes = ([5, 6, 7, 3], [7, 5, 3]), ([2, 8], [2, 9, 8])
    return [
        experiment.Case(
            torch.tensor([src]), torch.tensor([tgt]), ("ihr", "e"), [0], [1], [2]
        )
        for src, tgt in zip(sources, prefixes, strict=True)
    ]


def logits(model, case):
    return model.decode(case.tgt_in, model.encode(case.src), key_mask(case.src))[0, -1]


def heads_of(model, case):
    """What the heads of the second cross-attention return to the last query."""
    seen = []
    module = model.decoder[1].cross_attention.W_O
    hook = module.register_forward_pre_hook(lambda _, args: seen.append(args[0]))
    logits(model, case)
    hook.remove()
    return seen[0][0, -1]


def test_weights_are_means_over_the_cases(model, cases):
    weights = experiment.cross_weights(model, cases)
    assert weights.shape == (2, 2, 2)
    single = [experiment.cross_weights(model, [case]) for case in cases]
    torch.testing.assert_close(weights, sum(single) / len(single))
    assert (weights.sum(-1) < 1).all()


def test_a_head_that_is_held_gives_its_mean_to_the_last_query(model, cases):
    before = [heads_of(model, case) for case in cases]
    whole = [logits(model, case) for case in cases]
    with experiment.held(model, cases, [(1, 0)]):
        changed = [logits(model, case) for case in cases]
    mean = sum(before)[:4] / len(before)
    for case, old, new in zip(cases, whole, changed, strict=True):
        assert not torch.allclose(old, new)

        def hold(_, args):
            x = args[0].clone()
            x[0, -1, :4] = mean
            return (x,)

        module = model.decoder[1].cross_attention.W_O
        hook = module.register_forward_pre_hook(hold)
        torch.testing.assert_close(logits(model, case), new)
        hook.remove()
        torch.testing.assert_close(logits(model, case), old)


def test_removed_heads_come_back(model, cases):
    before = logits(model, cases[0])
    with experiment.removed(model, [(0, 1), (1, 0)]):
        assert not torch.allclose(logits(model, cases[0]), before)
    torch.testing.assert_close(logits(model, cases[0]), before)


def test_kept_counts_stems_endings_and_words_of_another_kind(model, cases):
    tokens = [logits(model, case).argmax().item() for case in cases]
    forms = {tokens[0]: ("ihr", "en")}
    wanted = sum(token == tokens[0] for token in tokens)
    assert experiment.kept(model, cases, forms) == {
        "stem": wanted,
        "ending": 0,
        "either": wanted,
    }
