"""The experiments of chapter 8 at small size, and the mistakes it shows."""

import pytest
import torch
from compare import close, numbers, randomise
from torch import nn
from torch.nn import functional as F

from attnbook.analysis.bug_zoo import DroppedStream, UnbiasedNorm
from attnbook.core import results
from attnbook.course.ch08 import experiment_layer_runs as layer_runs
from attnbook.nn.losses import token_loss
from attnbook.nn.positions import sinusoids
from attnbook.nn.residual import Residual
from attnbook.toy.taggers import LAYERS, deep_tagger
from attnbook.toy.tasks import sorted_symbols, task_batches

# The experiments


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


def test_every_stored_run_is_there():
    seeds = len(layer_runs.SEEDS)
    models = len(LAYERS) + 1
    assert len(results.load("feed_forward_needed")["runs"]) == 2 * models * seeds
    stored = results.load("embedding_scale")
    assert len(stored["runs"]) == 4 * seeds
    assert {len(run["loss"]) for run in stored["runs"]} == {stored["steps"] // 20}
    stored = results.load("embedding_proportion")
    assert len(stored["runs"]) == 2 * seeds
    assert {len(run["loss"]) for run in stored["runs"]} == {stored["steps"] // 20}
    assert len(results.load("xor_of_two_bits")["runs"]) == 4 * 3 * 5
    stored = results.load("warm_up")
    rates = len(layer_runs.WARM_UP_RATES)
    assert len(stored["runs"]) == rates * 4 * seeds
    assert {len(run["loss"]) for run in stored["runs"]} == {stored["steps"]}


# The mistakes


def test_epsilon_of_the_unbiased_norm_is_that_of_pytorchs():
    assert UnbiasedNorm(4).eps == nn.LayerNorm(4).eps


@pytest.mark.parametrize("d", [4, 8, 64, 512])
def test_an_unbiased_norm_is_too_small_by_a_share_that_d_decides(d):
    (x,) = numbers(0, (3, 5, d))
    found = UnbiasedNorm(d, eps=0.0).double()(x)
    close(found, F.layer_norm(x, (d,), eps=0.0) * ((d - 1) / d) ** 0.5)
    assert not torch.allclose(found, F.layer_norm(x, (d,)), atol=1e-4)


def test_an_unbiased_norm_has_a_gain_and_a_bias():
    norm = randomise(UnbiasedNorm(4).double())
    (x,) = numbers(0, (2, 4))
    plain = UnbiasedNorm(4).double()(x)
    close(norm(x), plain * norm.gain + norm.bias)


def test_epsilon_outside_the_root_lets_noise_through():
    """Places of all but equal numbers: large outputs, and gradients larger still."""
    row = torch.full((1, 512), 0.7, dtype=torch.float64)
    row[0, 0] += 1e-4
    row.requires_grad_()
    sizes = []
    for norm in (nn.LayerNorm(512), UnbiasedNorm(512)):
        out = norm.double()(row)
        (gradient,) = torch.autograd.grad(out[0, 0], row)
        sizes.append((out.abs().max().item(), gradient.abs().max().item()))
    (right, slope), (wrong, wrong_slope) = sizes
    assert right < 0.1
    assert wrong > 2
    assert wrong_slope > 5 * slope


def test_the_dropped_stream_drops_what_it_has_normed():
    torch.manual_seed(0)
    x = torch.randn(200, 10, 64)
    wrong = DroppedStream(64, dropout=0.3)
    out = wrong(x, torch.sin)
    assert (out == 0).float().mean() == pytest.approx(0.3, abs=0.01)
    kept = out != 0
    right = Residual(64)(x, torch.sin)
    close(out[kept] * 0.7, right[kept], atol=1e-5)
    close(wrong.eval()(x, torch.sin), right, atol=1e-6)
