"""Figures, tables, exercises and experiments of chapter 12's first half."""

import gzip
import math
import random
import re
from collections import Counter
from itertools import pairwise, product

import pytest
import torch

from attnbook.core import results
from attnbook.data import multi30k
from attnbook.data.batching import IdPair, padding_share
from attnbook.data.subwords import Subwords
from attnbook.experiments import multi30k_facts, smoothing_known
from attnbook.pages.exercises.checking import find
from attnbook.pages.figures import ch12_data

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

# The way of a batch


def test_the_way_of_a_batch_is_drawn():
    svg = ch12_data.batch_diagram()._repr_svg_()
    for word in ("clean text", "subwords", "Transformer", "(B, T, V)", "weights"):
        assert f">{word}<" in svg


# The data


def row(words, types, once, unknown, sentences):
    return {
        "words": words,
        "types": types,
        "once": once,
        "characters": 30,
        "val_words": 100,
        "val_unknown": unknown,
        "val_sentences_unknown": sentences,
        "val_unk": 0,
        "per_sentence": {"words": 2.0, "subwords": 3.04, "characters": 9.0},
    }


@pytest.fixture
def _facts(stored):
    stored(
        "multi30k_facts",
        sentences={"train": 1500, "val": 10},
        rows={"en": row(5000, 100, 50, 2, 1), "de": row(4000, 200, 150, 7, 4)},
        pairs_per_batch=3,
        padding={"random": 0.5, "pooled": 0.25, "tokens": 0.125},
        shown={
            "random": [[3, 2], [6, 8], [4, 5]],
            "pooled": [[5, 4], [5, 3], [4, 4]],
            "tokens": [[7, 6], [6, 6]],
        },
    )


@pytest.mark.usefixtures("_facts")
def test_facts_are_printed_by_language(capsys):
    ch12_data.print_facts()
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "pairs: train 1,500, val 10"
    assert [line.split()[-2:] for line in lines[2:]] == [
        ["5,000", "4,000"],
        ["100", "200"],
        ["50%", "75%"],
        ["2.0%", "7.0%"],
        ["10%", "40%"],
    ]


@pytest.mark.usefixtures("_facts")
def test_places_are_printed_by_unit(capsys):
    ch12_data.print_places()
    lines = capsys.readouterr().out.splitlines()
    assert [line.split()[-1] for line in lines[1:]] == ["2.0", "3.0", "9.0", "30", "0"]


@pytest.mark.usefixtures("_facts")
def test_pads_are_printed_and_drawn(capsys):
    ch12_data.print_padding()
    shares = re.findall(r"[\d.]+%", capsys.readouterr().out)
    assert shares == ["50.0%", "25.0%", "12.5%"]
    figure = ch12_data.batches_figure()
    shown = results.load("multi30k_facts")["shown"]
    assert [ax.get_xlabel() for ax in figure.axes[-2:]] == [
        "places of the source",
        "places of the target",
    ]
    for row, pairs in enumerate(shown.values()):
        pads = places = 0
        for side, ax in enumerate(figure.axes[2 * row : 2 * row + 2]):
            lengths = [pair[side] for pair in pairs]
            widths = [bar.get_width() for bar in ax.patches]
            assert widths == [max(lengths)] * len(lengths) + lengths
            places += max(lengths) * len(lengths)
            pads += sum(max(lengths) - length for length in lengths)
        title = figure.axes[2 * row].get_title("left")
        assert f"{len(pairs)} pairs, {pads / places:.0%} pads" in title


TRAIN = ["a dog runs", "a dog", "a cat sleeps", "a dog runs in snow"] * 20


def test_words_not_seen_are_counted():
    subwords = Subwords.train(TRAIN, 40)
    train = [*TRAIN, "„once“ – (dog)."]
    found = multi30k_facts.side(train, ["a cow runs", "A dog, ß."], subwords)
    assert (found["words"], found["types"], found["once"]) == (262, 8, 1)
    assert (found["val_words"], found["val_unknown"]) == (6, 3)  # cow, A, ß
    assert found["val_sentences_unknown"] == 2
    assert found["val_unk"] == 4  # A, comma, ß, full stop; the letters of cow were seen
    assert found["characters"] == len(set("".join(train)))
    mean = sum(map(len, train)) / len(train)
    assert found["per_sentence"]["characters"] == round(mean, 2)


def test_punctuation_is_no_part_of_a_word():
    assert multi30k_facts.words('„Ein" T-Shirt, 5 – 6.') == ["Ein", "T-Shirt", "5", "6"]
    assert multi30k_facts.words("it's a dog's.") == ["it's", "a", "dog's"]
    assert multi30k_facts.words(" . – ") == []


def test_every_pair_is_in_one_batch_of_each_kind():
    rng = random.Random(0)
    pairs = [
        IdPair([4] * rng.randint(1, 20), [5] * rng.randint(1, 20)) for _ in range(300)
    ]
    found = multi30k_facts.padding(pairs, 100)
    shares = found["padding"]
    assert shares["tokens"] < shares["pooled"] < shares["random"]
    size = found["pairs_per_batch"]
    assert len(found["shown"]["random"]) == len(found["shown"]["pooled"]) == size
    longest = max(max(pair) for pair in found["shown"]["tokens"])
    assert longest * len(found["shown"]["tokens"]) <= 100
    same = multi30k_facts.padding([IdPair([4, 4], [5])] * 10, 100)["padding"]
    one = padding_share([[IdPair([4, 4], [5])]])
    assert one == 0
    assert set(same.values()) == {0.0}


def test_the_batch_shown_is_a_usual_one():
    level = [IdPair([4] * n, [5] * n) for n in (3, 3)]  # no pads
    uneven = [IdPair([4], [5] * 3), IdPair([4], [5])]  # 2 of 12 places
    worst = [IdPair([4] * 9, [5] * 9), IdPair([], [])]
    batches = [worst, uneven, level]
    for share, batch in ((0.0, level), (0.2, uneven), (0.9, worst)):
        assert multi30k_facts._typical(batches, share) is batch
    assert multi30k_facts._lengths(uneven) == [[2, 4], [2, 2]]


def test_subwords_are_learned_from_the_training_split_alone(monkeypatch):
    def sentences(split, language):
        return TRAIN if split == "train" else [f"{language} öäü {split}"] * 50

    monkeypatch.setattr(multi30k, "sentences", sentences)
    small = multi30k_facts.config("multi30k-cpu", vocabulary=40)
    monkeypatch.setattr(multi30k_facts, "CONFIG", small)
    found = multi30k_facts.multi30k_facts()
    assert found["fingerprint"] == Subwords.train(TRAIN + TRAIN, 40).fingerprint()
    assert found["sentences"] == {
        split: len(sentences(split, "en")) for split in multi30k.SPLITS
    }
    assert found["rows"]["de"]["val_unk"] > 0


@pytest.mark.usefixtures("requires_data")
def test_the_stored_facts_are_those_of_the_data():
    stored = results.load("multi30k_facts")
    text = [line for side in ("en", "de") for line in multi30k.sentences("train", side)]
    subwords = Subwords.train(text, stored["subwords"])
    assert subwords.fingerprint() == stored["fingerprint"]
    assert max(len(subwords.encode(line)) for line in text) == stored["longest"]
    for start, side in ((0, "en"), (29_000, "de")):
        val = multi30k.sentences("val", side)
        found = multi30k_facts.side(text[start : start + 29_000], val, subwords)
        assert found == stored["rows"][side]


@pytest.mark.usefixtures("requires_data")
def test_the_traps_are_where_the_page_says():
    lines = gzip.decompress(multi30k._fetch("train.de").read_bytes()).decode()
    lines = lines.removesuffix("\n").split("\n")
    assert any(line.endswith(" ") for line in lines)
    assert any("\u00a0" in line for line in lines)
    for split, language in product(multi30k.SPLITS, ("en", "de")):
        text = gzip.decompress(multi30k._fetch(f"{split}.{language}").read_bytes())
        found = text.decode()
        assert len(found.splitlines()) == found.count("\n")


# Label smoothing


def test_the_language_is_one():
    p = smoothing_known.language()
    torch.testing.assert_close(p.sum(-1), torch.ones(len(p), dtype=p.dtype))
    torch.testing.assert_close(p, smoothing_known.language())


def test_a_model_is_judged_by_what_is_true():
    p = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0]])
    q = torch.tensor([[0.25, 0.5, 0.25, 0.0], [0.5, 0.5, 0.0, 0.0]])
    found = smoothing_known.judge(p, q.log())
    nats = (
        0.5 * math.log(4) + 0.25 * math.log(2) + 0.25 * math.log(4) + math.log(2)
    ) / 2
    assert found["perplexity"] == pytest.approx(math.exp(nats))
    assert found["accuracy"] == pytest.approx((0.25 + 0.0) / 2)


def test_samples_follow_the_language():
    p = torch.tensor([[0.2, 0.8, 0.0], [0.0, 0.5, 0.5]])
    contexts, words = smoothing_known.sample(
        p, 20_000, torch.Generator().manual_seed(0)
    )
    for context in (0, 1):
        drawn = words[contexts == context].bincount(minlength=3)
        assert 9_500 < drawn.sum() < 10_500
        torch.testing.assert_close(drawn / drawn.sum(), p[context], atol=0.02, rtol=0)


@pytest.mark.parametrize("amount", [0.0, 0.2])
def test_training_reaches_what_the_formula_says(monkeypatch, amount):
    monkeypatch.setattr(smoothing_known, "STEPS", 600)
    p = smoothing_known.language()[:3, :5]
    p = p / p.sum(-1, keepdim=True)
    learned = smoothing_known.learn(p, amount, seed=0, few=None).exp()
    best = (1 - amount) * p + amount / 5
    torch.testing.assert_close(learned, best, atol=0.03, rtol=0)
    torch.testing.assert_close(smoothing_known.smoothed(p, amount), best)


def test_few_samples_are_used_again(monkeypatch):
    monkeypatch.setattr(smoothing_known, "STEPS", 1000)
    monkeypatch.setattr(smoothing_known, "BATCH", 16)
    p = smoothing_known.language()[:3, :5]
    p = p / p.sum(-1, keepdim=True)
    learned = smoothing_known.learn(p, 0.0, seed=0, few=30).exp()
    known = smoothing_known.sample(p, 30, torch.Generator().manual_seed(0))
    counts = torch.zeros_like(p)
    counts.index_put_(known, torch.ones(30, dtype=p.dtype), accumulate=True)
    found = counts / counts.sum(-1, keepdim=True)
    torch.testing.assert_close(learned, found, atol=0.1, rtol=0)


def test_the_stored_runs_show_what_the_page_says():
    stored = results.load("smoothing_known")
    assert len(stored["runs"]) == 2 * 4 * 5
    fresh, few = ch12_data.smoothing_runs("fresh"), ch12_data.smoothing_runs(1000)
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
    ch12_data.print_smoothing()
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
    bars, fresh, few = ch12_data.smoothing_figure().axes
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
    widths, warmups = ch12_data.rates_figure().axes
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


# Exercises


def test_one_pair_is_the_most_frequent():
    for pieces, counts in find("ex12_next_merge").inputs():
        found = Counter()
        for word, parts in pieces.items():
            for pair in pairwise(parts):
                found[pair] += counts[word]
        (_, first), (_, second) = found.most_common(2)
        assert first > second
