"""Tied word tables: one matrix, three uses; parameters with and without it."""

import pytest
import torch

from attnbook.models.registry import RECURRENT, make_model
from attnbook.models.word_tables import count_parameters, tie_tables

SIZES = {"d_embed": 6, "d_hidden": 6}


def tied(name, seed=0):
    torch.manual_seed(seed)
    model = make_model(name, 11, **SIZES)
    tie_tables(model)
    return model


def tables_of(model):
    layer = model.out if hasattr(model, "out") else model.readout.out
    return model.encoder.embedding, model.embedding, layer


@pytest.mark.parametrize("name", RECURRENT)
def test_one_matrix_has_three_uses(name):
    model = tied(name)
    source, target, out = tables_of(model)
    assert source.weight is target.weight is out.weight
    src, tgt = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 7]])
    model(src, tgt).sum().backward()
    # The output layer reaches every row, the embeddings those of their tokens.
    assert (out.weight.grad.abs().sum(1) > 0).all()
    with torch.no_grad():
        source.weight[4] += 1
    assert torch.equal(out.weight[4], target.weight[4])


@pytest.mark.parametrize("name", RECURRENT)
def test_logits_begin_small(name):
    """Variance 1/width: the logits of a state of variance 1 have variance 1."""
    torch.manual_seed(0)
    model = make_model(name, 5000, d_embed=64, d_hidden=64)
    tie_tables(model)
    assert tables_of(model)[2].weight.std().item() == pytest.approx(1 / 8, rel=0.02)


@pytest.mark.parametrize("name", RECURRENT)
def test_tables_of_other_shapes_are_refused(name):
    for vocab, embed in (((11, 12), 6), ((11, 11), 4)):
        model = make_model(name, *vocab, d_embed=embed, d_hidden=6)
        with pytest.raises(ValueError, match="d_embed equal to d_hidden"):
            tie_tables(model)


@pytest.mark.parametrize("name", RECURRENT)
def test_parameters_without_tables_are_those_of_no_word(name):
    """Counted by comparing two vocabularies: what grows with V is a table or a bias."""
    counts = [count_parameters(make_model(name, v, **SIZES)) for v in (11, 21)]
    biases = 0 if name == "luong" else 10
    assert counts[1]["all"] - counts[0]["all"] == 3 * 10 * 6 + biases
    grows = counts[1]["without_tables"] - counts[0]["without_tables"]
    assert grows == biases
    assert counts[0]["all"] - counts[0]["without_tables"] == 3 * 11 * 6


@pytest.mark.parametrize("name", RECURRENT)
def test_all_read_alike_by_default(name):
    """One encoder for all, so that the figure that grows compares like with like."""
    model = make_model(name, 12)
    assert model.embedding.embedding_dim == model.encoder.embedding.embedding_dim == 32
    assert model.encoder.gru.hidden_size == 64
    assert model.encoder.gru.bidirectional
