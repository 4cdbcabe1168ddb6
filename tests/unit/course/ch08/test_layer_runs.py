"""The experiments of chapter 8 at small size."""

import pytest
import torch
from compare import close, numbers
from torch.nn import functional as F

from attnbook.nn.losses import token_loss
from attnbook.nn.positions import sinusoids
from attnbook.toy.taggers import deep_tagger
from attnbook.toy.tasks import sorted_symbols, task_batches
from experiments import ch08_layer_runs as layer_runs


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(("draw", "size"), [("N(0, 1)", 1.0), ("N(0, 1/D)", 0.125)])
def test_word_vectors_are_as_large_as_their_name_says(draw, size, scaled):
    torch.manual_seed(0)
    table = layer_runs.make_embedding(draw, scaled)
    vectors = table(torch.arange(1, 17))
    wanted = size * (8 if scaled else 1)
    assert 0.9 * wanted < vectors.std() < 1.1 * wanted


@pytest.mark.parametrize("factor", [0.5, 8.0])
def test_codes_are_sinusoids_times_a_factor(factor):
    (x,) = numbers(0, (2, 5, 8))
    wanted = x + factor * sinusoids(5, 8, dtype=x.dtype)
    close(layer_runs.ScaledSinusoids(factor)(x), wanted)


def test_the_runs_of_proportions_keep_or_shrink_the_positions(monkeypatch):
    """Root mean squares of words and positions: 8 and 8, 1 and √½/8."""
    sizes = []

    def watched(model, batches, steps, rate):
        ids = torch.arange(1, 17)[None]
        words = model.embedding(ids)
        codes = model.positions(words) - words
        sizes.append([x.square().mean().sqrt().item() for x in (words, codes)])
        return [0.0] * steps

    monkeypatch.setattr(layer_runs, "fit", watched)
    runs = layer_runs.embedding_proportion()["runs"]
    assert [run["scaled"] for run in runs] == [True] * 3 + [False] * 3
    for words, codes in sizes[:3]:
        assert words == pytest.approx(8, rel=0.1)
        assert codes == pytest.approx(8)
    for words, codes in sizes[3:]:
        assert words == pytest.approx(1, rel=0.1)
        assert codes == pytest.approx(0.5**0.5 / 8)


@pytest.mark.parametrize("n_warm", [0, 4])
def test_the_rate_rises_to_the_full_one_and_stays(n_warm, monkeypatch):
    rates, step = [], torch.optim.Adam.step

    def watched(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    model = deep_tagger(1, norm_first=True, d_model=8)
    losses = layer_runs.train_with_warmup(model, 0, 6, 0.01, n_warm)
    rise = [0.01 * (i + 1) / 4 for i in range(4)] if n_warm else [0.01] * 4
    assert rates == pytest.approx([*rise, 0.01, 0.01])
    assert len(losses) == 6


def test_the_first_loss_is_that_of_the_untrained_model():
    torch.manual_seed(0)
    model = deep_tagger(1, norm_first=False, d_model=8)
    ids, targets = next(task_batches(sorted_symbols, layer_runs.LENGTH, seed=3))
    before = token_loss(model(ids), targets).item()
    found = layer_runs.train_with_warmup(
        model, seed=3, steps=2, learning_rate=0.01, n_warmup=0
    )
    assert found[0] == pytest.approx(before)
    after = token_loss(model(ids), targets).item()
    assert after != pytest.approx(before)  # it has learned something


def test_losses_are_averaged_over_twenty_steps():
    assert layer_runs.mean_of_20([1.0] * 20 + [2.0, 4.0] * 10) == [1, 3]


def test_shares_count_the_task_that_is_asked_for():
    def model(ids):  # knows all sums, and so hardly any sequence backwards
        return F.one_hot(layer_runs.TASKS["add_previous"](ids).targets, 17).float()

    assert layer_runs.mean_accuracy(model, "add_previous") == 1
    assert layer_runs.mean_accuracy(model, "backwards") < 0.1
