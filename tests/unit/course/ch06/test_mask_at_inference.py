"""Decoding without a cache, with and without the causal mask."""

import math
from itertools import product

import pytest
import torch

from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.ch06.translators import Recomputing
from attnbook.data.batching import IdPair
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask
from attnbook.toy.data import held_out_pairs, make_batch
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import load_toy_model
from attnbook.translation.corpora import Texts
from experiments import ch06_mask_at_inference as experiment
from experiments.ch06_mask_at_inference import stepwise_loss

BATCH = make_batch(held_out_pairs(2, 3))


@pytest.fixture(scope="module")
def trained():
    return load_toy_model("transformer")


def test_with_the_mask_it_decodes_as_with_a_cache(trained):
    pairs = held_out_pairs(1, 4)
    recomputing = Recomputing(trained)
    assert greedy_translations(recomputing, pairs) == greedy_translations(
        trained, pairs
    )


def test_with_the_mask_the_loss_is_that_of_all_positions_at_once(trained):
    recomputing = Recomputing(trained)
    with torch.no_grad():
        at_once = token_loss(trained(BATCH.src, BATCH.tgt_in), BATCH.tgt_out)
    found = stepwise_loss(recomputing, [BATCH])
    assert found == pytest.approx(at_once.item(), rel=1e-4)


def test_without_it_earlier_positions_attend_to_later_ones(trained):
    """The last row of the plain sum over layers, in which only padding is hidden."""
    bare = Recomputing(trained, range(2))
    state = bare.start(BATCH.src)
    state = state._replace(ids=BATCH.tgt_in[:, :3])
    with torch.no_grad():
        logits, after = bare.step(BATCH.tgt_in[:, 3], state)
        y = trained.positions(trained.target_embedding(BATCH.tgt_in[:, :4]))
        mask = torch.ones(1, 1, 4, 4, dtype=torch.bool)
        for layer in trained.decoder:
            y = layer(y, state.memory, mask, key_mask(BATCH.src))
        wanted = trained.out(trained.decoder_norm(y))[:, -1]
    assert type(trained).__name__ == "Transformer"  # it keeps its own mask
    assert torch.equal(after.ids, BATCH.tgt_in[:, :4])
    assert torch.allclose(logits, wanted, atol=1e-5)


def test_the_last_layer_does_not_need_its_mask_and_the_first_one_does(trained):
    """The newest position attends to the whole prefix anyway: equal to the bit."""

    def last(bare):
        model = Recomputing(trained, bare).model
        with torch.no_grad():
            return model(BATCH.src[:, :], BATCH.tgt_in[:, :4])[:, -1]

    assert torch.equal(last([1]), last([]))
    assert not torch.allclose(last([0]), last([]), atol=1e-3)
    assert torch.equal(last([0, 1]), last([0]))


def test_the_parts_of_bleu_multiply_to_it():
    """Papineni et al. 2002: brevity times the geometric mean of four precisions."""
    outputs, references = ["a b c d e f"], ["a b c d x y z w"]
    found = experiment.bleu_parts(outputs, references)
    assert found["precisions"] == pytest.approx([400 / 6, 60, 50, 100 / 3], abs=0.05)
    assert found["length_ratio"] == 0.75
    mean = (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert found["bleu"] == pytest.approx(100 * math.exp(1 - 8 / 6) * mean, abs=0.01)


def test_batches_hold_all_pairs():
    pairs = [IdPair([5] * n, [6] * n) for n in (3, 1, 2)]
    made = experiment.batches(pairs, size=2)
    assert [b.tgt_in.tolist() for b in made] == [
        [[BOS, 6, 0], [BOS, 6, 6]],
        [[BOS, 6, 6, 6]],
    ]
    assert made[1].src[0].tolist() == [5, 5, 5, EOS]


def test_all_of_it_at_small_size(monkeypatch):
    texts = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei Männer."])
    monkeypatch.setattr(experiment, "load_texts", lambda run, split: texts)
    monkeypatch.setattr(experiment, "FIRST", 0)
    monkeypatch.setattr(experiment, "held_out_pairs", lambda n: held_out_pairs(1, 2))
    by_layer = {run["layers"]: run for run in experiment.mask_by_layer()["runs"]}
    assert by_layer["none"]["changed"] == by_layer["4"]["changed"] == 0
    assert list(by_layer) == ["none", "1", "2", "3", "4", "all"]
    runs = experiment.mask_at_inference()["runs"]
    found = [(run["model"], run["causal"]) for run in runs]
    assert found == [*product(("toy", "captions"), (True, False))]
    assert all(run["sentences"] == 2 for run in runs)
    assert runs[0]["changed"] == runs[2]["changed"] == 0
    assert runs[2]["loss"] != runs[3]["loss"]
    assert runs[0]["exact"] == 1
    assert 0 <= runs[2]["bleu"] <= 100
