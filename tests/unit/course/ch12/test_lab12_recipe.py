"""Laboratory page 12: label smoothing with known probabilities, parts on a toy task."""

import math
from itertools import pairwise, product

import pytest
import torch

from attnbook.core import results
from attnbook.course.ch12 import experiment_smoothing_known as smoothing_known
from attnbook.course.ch12 import lab_recipe as lab12_recipe
from attnbook.course.ch12.experiment_toy_ablation import CHANGES

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

# Label smoothing


def test_the_language_is_one():
    p = smoothing_known.sample_language()
    torch.testing.assert_close(p.sum(-1), torch.ones(len(p), dtype=p.dtype))
    torch.testing.assert_close(p, smoothing_known.sample_language())


def test_a_model_is_judged_by_what_is_true():
    p = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0]])
    q = torch.tensor([[0.25, 0.5, 0.25, 0.0], [0.5, 0.5, 0.0, 0.0]])
    found = smoothing_known.evaluate_distribution(p, q.log())
    nats = (
        0.5 * math.log(4) + 0.25 * math.log(2) + 0.25 * math.log(4) + math.log(2)
    ) / 2
    assert found["perplexity"] == pytest.approx(math.exp(nats))
    assert found["accuracy"] == pytest.approx((0.25 + 0.0) / 2)


def test_samples_follow_the_language():
    p = torch.tensor([[0.2, 0.8, 0.0], [0.0, 0.5, 0.5]])
    contexts, words = smoothing_known.sample_words(
        p, 20_000, torch.Generator().manual_seed(0)
    )
    for context in (0, 1):
        drawn = words[contexts == context].bincount(minlength=3)
        assert 9_500 < drawn.sum() < 10_500
        torch.testing.assert_close(drawn / drawn.sum(), p[context], atol=0.02, rtol=0)


@pytest.mark.parametrize("amount", [0.0, 0.2])
def test_training_reaches_what_the_formula_says(monkeypatch, amount):
    monkeypatch.setattr(smoothing_known, "STEPS", 600)
    p = smoothing_known.sample_language()[:3, :5]
    p = p / p.sum(-1, keepdim=True)
    learned = smoothing_known.train_logits(p, amount, seed=0, n_samples=None).exp()
    best = (1 - amount) * p + amount / 5
    torch.testing.assert_close(learned, best, atol=0.03, rtol=0)
    torch.testing.assert_close(smoothing_known.smoothed(p, amount), best)


def test_few_samples_are_used_again(monkeypatch):
    monkeypatch.setattr(smoothing_known, "STEPS", 1000)
    monkeypatch.setattr(smoothing_known, "BATCH", 16)
    p = smoothing_known.sample_language()[:3, :5]
    p = p / p.sum(-1, keepdim=True)
    learned = smoothing_known.train_logits(p, 0.0, seed=0, n_samples=30).exp()
    known = smoothing_known.sample_words(p, 30, torch.Generator().manual_seed(0))
    counts = torch.zeros_like(p)
    counts.index_put_(known, torch.ones(30, dtype=p.dtype), accumulate=True)
    found = counts / counts.sum(-1, keepdim=True)
    torch.testing.assert_close(learned, found, atol=0.1, rtol=0)


def test_the_stored_runs_show_what_the_page_says():
    stored = results.load("smoothing_known")
    assert len(stored["runs"]) == 2 * 4 * 5
    fresh, few = lab12_recipe.smoothing_runs("fresh"), lab12_recipe.smoothing_runs(1000)
    amounts = [0.0, 0.1, 0.2, 0.3]
    assert list(fresh) == list(few) == amounts
    for low, high in pairwise(amounts):
        most = max(run["perplexity"] for run in fresh[low])
        assert most < min(run["perplexity"] for run in fresh[high])
    for amount, runs in fresh.items():
        limit = stored["limit"][str(amount)]["perplexity"]
        assert all(abs(run["perplexity"] - limit) < 0.05 for run in runs)
    least = min(run["perplexity"] for run in few[0.0])
    assert all(
        run["perplexity"] < least - 3 for amount in amounts[1:] for run in few[amount]
    )
    for runs in (fresh, few):  # the first choice stays
        for amount, seed in product(amounts, range(5)):
            right = runs[0.0][seed]["accuracy"]
            assert runs[amount][seed]["accuracy"] == pytest.approx(right, abs=0.002)


@pytest.fixture
def _smoothing(stored):
    runs = [
        {
            "samples": samples,
            "smoothing": amount,
            "seed": seed,
            "perplexity": base + 10 * amount + seed,
            "accuracy": 0.25,
        }
        for samples, base in (("fresh", 10), (50, 20))
        for amount, seed in product((0.0, 0.1), (0, 1))
    ]
    limit = {"0.0": {"perplexity": 10.5}, "0.1": {"perplexity": 11.5}}
    best = {"perplexity": 10.0, "accuracy": 0.3}
    stored("smoothing_known", runs=runs, limit=limit, best=best)


@pytest.mark.usefixtures("_smoothing")
def test_smoothing_is_shown():
    table = lab12_recipe.smoothing_table()
    fresh, few, language = table.groups.values()
    assert fresh == [
        ("ε = 0.0", (10.5, 10, 11), (25, 25, 25)),
        ("ε = 0.1", (11.5, 11, 12), (25, 25, 25)),
    ]
    assert few[0] == ("ε = 0.0", (20.5, 20, 21), (25, 25, 25))
    assert list(table.groups)[1] == "the same 50 samples"
    assert language == [("true probabilities", 10.0, 30.0)]


@pytest.mark.usefixtures("_smoothing")
def test_smoothing_is_drawn():
    fresh, few = lab12_recipe.smoothing_figure().axes
    line, *dots = fresh.get_lines()
    assert list(line.get_ydata()) == [10.5, 11.5]
    assert [list(dot.get_ydata()) for dot in dots] == [[10, 11], [11, 12]]
    assert [list(dot.get_xdata()) for dot in dots] == [[0.0, 0.0], [0.1, 0.1]]
    drawn = [list(line.get_ydata()) for line in few.get_lines()[:2]]
    assert drawn == [[20, 21], [21, 22]]


# Parts of the Transformer


def test_the_toy_ablation_has_ranges(stored):
    runs = [
        {
            "change": name,
            "seed": seed,
            "exact": {"1": 1.0, "2": row / 10 + seed / 4},
            "validation_loss": 0.1 * (seed + 1),
        }
        for row, name in enumerate(CHANGES)
        for seed in (0, 1)
    ]
    stored("toy_ablation", runs=runs)
    first, second, *rest = lab12_recipe.toy_ablation_table().rows()
    assert first == ("unchanged", (12.5, 0, 25), (pytest.approx(0.15), 0.1, 0.2))
    assert second[0] == "one head"
    assert len(rest) == len(CHANGES) - 2
