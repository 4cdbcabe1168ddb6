"""The experiment on the heads of the translator, at small size."""

import pytest
import torch

from attnbook.data.batching import IdPair
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from experiments import ch05_head_ablation as ablation

PAIRS = [IdPair([5, 6, 7], [8, 9]), IdPair([6, 5], [9, 8, 7]), IdPair([9], [5])]


@pytest.fixture
def model():
    torch.manual_seed(0)
    config = TransformerConfig(12, d_model=8, n_heads=2, n_layers=2, d_ff=16)
    return Transformer(config).eval()


def test_the_loss_is_a_mean_over_subwords_whatever_the_batches(model):
    whole = ablation.mean_loss(model, ablation.length_batches(PAIRS))
    single = [ablation.length_batches([pair])[0] for pair in PAIRS]
    parts = [ablation.mean_loss(model, [batch]) for batch in single]
    sizes = [len(pair.target) + 1 for pair in PAIRS]
    mean = sum(x * n for x, n in zip(parts, sizes, strict=True)) / sum(sizes)
    assert whole == pytest.approx(mean, rel=1e-5)


def test_a_kind_without_its_heads_is_a_model_without_that_attention(model):
    batches = ablation.length_batches(PAIRS)
    before = ablation.mean_loss(model, batches)
    for kind, name in ablation.KINDS.items():
        heads = [(kind, layer, head) for layer in (0, 1) for head in (0, 1)]
        found = ablation.loss_without(model, batches, heads)
        weights = [model.get_submodule(name.format(n)).W_O.weight for n in (0, 1)]
        kept = [weight.detach().clone() for weight in weights]
        with torch.no_grad():
            for weight in weights:
                weight.zero_()
            wanted = ablation.mean_loss(model, batches)
            for weight, old in zip(weights, kept, strict=True):
                weight.copy_(old)
        assert found == wanted != before
    assert ablation.loss_without(model, batches, []) == before


def test_offsets_and_the_end_are_shares_of_the_weight(model):
    rows = ablation.encoder_offsets(model, PAIRS)
    places = [(row["layer"], row["head"]) for row in rows]
    assert places == [(0, 0), (0, 1), (1, 0), (1, 1)]
    for row in rows:
        assert len(row["offsets"]) == len(ablation.OFFSETS)
        assert 0 < row["eos"] < 1
        assert 0 < sum(row["offsets"]) <= 1
