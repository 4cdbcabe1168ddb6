"""A Transformer that attends to padding, or to later words."""

import pytest
import torch
from compare import step_by_step

from attnbook.course.ch06.translators import Recomputing, as_kind
from attnbook.data.batching import pad
from attnbook.models.transformer import Transformer
from attnbook.toy.data import held_out_pairs
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import load_toy_model

SRC, TGT = pad([[5, 6, 7, 2], [8, 9, 2]]), pad([[1, 5, 6], [1, 7, 8]])


@pytest.fixture(scope="module")
def trained():
    return load_toy_model("transformer")


@torch.no_grad()
def logits(model, rows=slice(None), length=None):
    return model(SRC[rows, :length], TGT[rows])


def test_without_padding_it_is_the_same_and_with_it_only_the_padded_row_changes(
    trained,
):
    bare = as_kind(trained)
    assert torch.allclose(logits(bare)[0], logits(trained)[0], atol=1e-5)
    assert not torch.allclose(logits(bare)[1], logits(trained)[1], atol=1e-2)
    alone = [logits(model, slice(1, 2), 3) for model in (bare, trained)]
    assert torch.allclose(*alone, atol=1e-5)
    assert type(trained) is Transformer


def test_each_attention_reads_padding_at_once_and_word_by_word(trained):
    everything = torch.ones(2, 1, 1, 4, dtype=torch.bool)
    with torch.no_grad():
        memory = trained.encode(SRC, everything)
        wanted = trained.decode(TGT, memory, everything)
    bare = as_kind(trained)
    assert torch.allclose(logits(bare), wanted, atol=1e-5)
    assert torch.allclose(step_by_step(bare, SRC, TGT), wanted, atol=1e-4)


def test_with_the_causal_mask_it_decodes_as_with_a_cache(trained):
    pairs = held_out_pairs(1, 4)
    found = greedy_translations(Recomputing(trained), pairs)
    assert found == greedy_translations(trained, pairs)


def test_the_last_layer_does_not_need_its_mask_and_the_first_one_does(trained):
    """The newest position attends to the whole prefix anyway: equal to the bit."""

    def last(bare):
        return logits(Recomputing(trained, bare).model)[:, -1]

    assert torch.allclose(last([]), logits(trained)[:, -1], atol=1e-5)
    assert torch.equal(last([1]), last([]))
    assert not torch.allclose(last([0]), last([]), atol=1e-3)
    assert torch.equal(last([0, 1]), last([0]))
    assert type(trained) is Transformer
