"""Figures, tables, exercises and experiments of chapter 12's first half."""

import gzip
import random
from collections import Counter
from itertools import pairwise, product

import pytest

from attnbook.core import results
from attnbook.course.ch12 import experiment_multi30k_facts as multi30k_facts
from attnbook.course.ch12 import figures_data as ch12_data
from attnbook.course.ch12.drawings import batch_diagram
from attnbook.course.kit.exercises.checking import find
from attnbook.data import multi30k
from attnbook.data.batching import IdPair, padding_share
from attnbook.data.subwords import Subwords

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

# The way of a batch


def test_the_way_of_a_batch_is_drawn():
    svg = batch_diagram()._repr_svg_()
    for word in ("subwords", "batches", "Transformer", "(B, T, V)", "weights"):
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
        padding={"random": 0.5, "pooled": 0.25, "sorted": 0.2, "tokens": 0.125},
        shown={
            "random": [[3, 2], [6, 8], [4, 5]],
            "pooled": [[5, 4], [5, 3], [4, 4]],
            "tokens": [[7, 6], [6, 6]],
        },
    )


@pytest.mark.usefixtures("_facts")
def test_facts_are_shown_by_language():
    lengths = (2.0, 3.04, 9.0)
    assert ch12_data.data_table().rows() == [
        ("English", 5000, 100, 50.0, 10.0, *lengths),
        ("German", 4000, 200, 75.0, 40.0, *lengths),
    ]


@pytest.mark.usefixtures("_facts")
def test_padding_is_shown_and_drawn():
    shares = [share for _, share in ch12_data.padding_table().rows()]
    assert shares == [50.0, 25.0, 20.0, 12.5]
    figure = ch12_data.batches_figure()
    shown = results.load("multi30k_facts")["shown"]
    assert [ax.get_xlabel() for ax in figure.axes[-2:]] == [
        "source positions",
        "target positions",
    ]
    for row, pairs in enumerate(shown.values()):
        padding = positions = 0
        for side, ax in enumerate(figure.axes[2 * row : 2 * row + 2]):
            lengths = [pair[side] for pair in pairs]
            widths = [bar.get_width() for bar in ax.patches]
            assert widths == [max(lengths)] * len(lengths) + lengths
            positions += max(lengths) * len(lengths)
            padding += sum(max(lengths) - length for length in lengths)
        title = figure.axes[2 * row].get_title("left")
        share = f"{padding / positions:.0%} padding"
        assert title.endswith(f"{len(pairs)} pairs, {share}")


TRAIN = ["a dog runs", "a dog", "a cat sleeps", "a dog runs in snow"] * 20


def test_words_not_seen_are_counted():
    subwords = Subwords.train(TRAIN, 40)
    train = [*TRAIN, "„once“ – (dog)."]
    found = multi30k_facts.language_counts(train, ["a cow runs", "A dog, ß."], subwords)
    assert (found["words"], found["types"], found["once"]) == (262, 8, 1)
    assert (found["val_words"], found["val_unknown"]) == (6, 3)  # cow, A, ß
    assert found["val_sentences_unknown"] == 2
    assert found["val_unk"] == 4  # A, comma, ß, full stop; the letters of cow were seen
    assert found["characters"] == len(set("".join(train)))
    mean = sum(map(len, train)) / len(train)
    assert found["per_sentence"]["characters"] == round(mean, 2)


def test_punctuation_is_no_part_of_a_word():
    assert multi30k_facts.split_words('„Ein" T-Shirt, 5 – 6.') == [
        "Ein",
        "T-Shirt",
        "5",
        "6",
    ]
    assert multi30k_facts.split_words("it's a dog's.") == ["it's", "a", "dog's"]
    assert multi30k_facts.split_words(" . – ") == []


def test_every_pair_is_in_one_batch_of_each_kind():
    rng = random.Random(0)
    pairs = [
        IdPair([4] * rng.randint(1, 20), [5] * rng.randint(1, 20)) for _ in range(300)
    ]
    found = multi30k_facts.padding_by_method(pairs, 100)
    shares = found["padding"]
    assert shares["tokens"] < shares["pooled"] < shares["random"]
    size = found["pairs_per_batch"]
    assert len(found["shown"]["random"]) == len(found["shown"]["pooled"]) == size
    longest = max(max(pair) for pair in found["shown"]["tokens"])
    assert longest * len(found["shown"]["tokens"]) <= 100
    same = multi30k_facts.padding_by_method([IdPair([4, 4], [5])] * 10, 100)["padding"]
    one = padding_share([[IdPair([4, 4], [5])]])
    assert one == 0
    assert set(same.values()) == {0.0}


def test_the_batch_shown_is_a_usual_one():
    level = [IdPair([4] * n, [5] * n) for n in (3, 3)]  # no padding
    uneven = [IdPair([4], [5] * 3), IdPair([4], [5])]  # 2 of 12 positions
    worst = [IdPair([4] * 9, [5] * 9), IdPair([], [])]
    batches = [worst, uneven, level]
    for share, batch in ((0.0, level), (0.2, uneven), (0.9, worst)):
        assert multi30k_facts._typical(batches, share) is batch
    assert multi30k_facts._lengths(uneven) == [[2, 4], [2, 2]]


def test_subwords_are_learned_from_the_training_split_alone(monkeypatch):
    def sentences(split, language):
        return TRAIN if split == "train" else [f"{language} öäü {split}"] * 50

    monkeypatch.setattr(multi30k, "sentences", sentences)
    small = multi30k_facts.config("multi30k-cpu", vocab_size=40)
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
        found = multi30k_facts.language_counts(
            text[start : start + 29_000], val, subwords
        )
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


# Exercises


def test_one_pair_is_the_most_frequent():
    for segmented, counts in find("ex12_next_merge").inputs():
        found = Counter()
        for word, symbols in segmented.items():
            for pair in pairwise(symbols):
                found[pair] += counts[word]
        (_, first), (_, second) = found.most_common(2)
        assert first > second
