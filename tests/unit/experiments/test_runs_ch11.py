"""What chapter 11's experiments measure, at small size."""

import pytest
import torch
from compare import close

from attnbook.core import results
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import translate_by_rule
from attnbook.toy.models import load_toy_model
from experiments import ch11


@pytest.mark.parametrize("kind", ch11.LAYERS)
def test_every_kind_of_layer_sees_the_whole_sequence(kind):
    torch.manual_seed(0)
    x = torch.randn(1, ch11.N, ch11.WIDTH, requires_grad=True)
    last = ch11.LAYERS[kind](ch11.WIDTH)(x)[0, -1].square().sum()
    (gradient,) = torch.autograd.grad(last, x)
    assert (gradient[0] != 0).any(-1).all()


def test_induction_is_measured_again_and_again(monkeypatch):
    monkeypatch.setattr(ch11, "EVERY", 2)
    assert len(ch11.accuracy_over_updates("GRU", 8, seed=0, steps=5)) == 2


def test_the_symbol_to_look_for_is_moved_to_the_front():
    ids, targets = torch.tensor([[3, 1, 2, 3], [5, 6, 4, 6]]), torch.tensor([[1], [4]])
    moved, same = ch11.query_first((ids, targets))
    assert moved.tolist() == [[3, 3, 1, 2], [6, 5, 6, 4]]
    assert torch.equal(same, targets)


def test_the_others_are_all_but_the_word_that_is_rendered():
    pair, weights = translate_by_rule("the old farmer sees a bird"), torch.rand(7, 7)
    found = ch11.word_tables(weights, weights + 1, weights + 2, pair)
    rows = [i for i, j in enumerate(pair.alignment) if j is not None]
    for name, more in (("hidden", 1), ("replaced", 2)):
        kept, others = found[name][1], found[f"{name}_others"][1]
        close(kept, weights[rows] + more)
        missing = others.isnan().nonzero().tolist()
        assert missing == [[k, pair.alignment[i]] for k, i in enumerate(rows)]


def test_stored_weights_are_of_the_model_that_is_shipped():
    model = load_toy_model("transformer").double()
    run = results.load("weights_tell")["runs"][0]
    assert (run["model"], run["seed"]) == ("transformer", 0)
    assert run["parameters"] == sum(p.numel() for p in model.parameters())
    pairs = held_out_pairs(ch11.CLAUSES, 5)
    found = ch11.mean_agreement([ch11.transformer_tables(model, p) for p in pairs])
    for test, numbers in found.items():
        wanted = run[test]["correlation"]
        assert numbers["correlation"] == pytest.approx(wanted, abs=0.15)
