"""Chapter 12: label smoothing and learning rates as the page shows them."""

import math
from itertools import pairwise, product

import pytest
import torch

from attnbook.core import results
from attnbook.experiments import smoothing_known
from attnbook.pages.figures import ch12_recipe

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
    fresh, few = ch12_recipe.smoothing_runs("fresh"), ch12_recipe.smoothing_runs(1000)
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
def test_smoothing_is_printed(capsys):
    ch12_recipe.print_smoothing()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith("perplexity 10.00, first choice right 30.0%")
    assert lines[3].split() == [
        "ε",
        "=",
        "0.1",
        "11.50",
        "(11.00",
        "to",
        "12.00)",
        "25.0%",
    ]
    assert lines[4].startswith("50 samples")
    assert "20.50 (20.00 to 21.00)" in lines[5]


@pytest.mark.usefixtures("_smoothing")
def test_smoothing_is_drawn():
    bars, fresh, few = ch12_recipe.smoothing_figure().axes
    heights = [bar.get_height() for bar in bars.patches]
    assert sum(heights[:8]) == pytest.approx(1)
    assert sum(heights[8:]) == pytest.approx(1)
    assert heights[8 + 3] == pytest.approx(0.9 + 0.1 / 8)
    line, *dots = fresh.get_lines()
    assert list(line.get_ydata()) == [10.5, 11.5]
    assert [list(dot.get_ydata()) for dot in dots] == [[10, 11], [11, 12]]
    assert [list(dot.get_xdata()) for dot in dots] == [[0.0, 0.0], [0.1, 0.1]]
    drawn = [list(line.get_ydata()) for line in few.get_lines()[:2]]
    assert drawn == [[20, 21], [21, 22]]


# The rate


def test_rates_are_the_papers():
    widths, warmups = ch12_recipe.rates_figure().axes
    for ax, cases in (
        (widths, [(128, 4000), (512, 4000), (1024, 4000)]),
        (warmups, [(512, 1000), (512, 4000), (512, 16000)]),
    ):
        for line, (d, w) in zip(ax.get_lines(), cases, strict=True):
            for s, rate in zip(*line.get_data(), strict=True):
                wanted = min(s**-0.5, s * w**-1.5) / math.sqrt(d)
                assert rate == pytest.approx(1000 * wanted)
    named = [text.get_text() for text in warmups.texts]
    assert named == ["1,000", "4,000", "16,000"]
    for text in warmups.texts:  # at the peak
        assert abs(text.xy[0] - int(text.get_text().replace(",", ""))) <= 50
