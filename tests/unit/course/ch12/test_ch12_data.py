"""Chapter 12's counts of Multi30k, at small size, and its exercise on merges."""

import random
from collections import Counter
from itertools import pairwise

import pytest
from notebook_cells import printed

from attnbook.core import results
from attnbook.course.kit.exercises.checking import find, verdict
from attnbook.data import multi30k
from attnbook.data.batching import IdPair
from attnbook.data.bpe_from_scratch import learn_merges
from attnbook.data.subwords import Subwords
from experiments import ch12_data as facts

TRAIN = ["a dog runs", "a dog", "a cat sleeps", "a dog runs in snow"] * 20


def test_words_not_seen_are_counted():
    subwords = Subwords.train(TRAIN, 40)
    train = [*TRAIN, "„once“ – (dog)."]
    found = facts.language_counts(train, ["a cow runs", "A dog, ß."], subwords)
    assert (found["words"], found["types"], found["once"]) == (262, 8, 1)
    assert (found["val_words"], found["val_unknown"]) == (6, 3)  # cow, A, ß
    assert found["val_sentences_unknown"] == 2
    assert found["val_unk"] == 4  # A, comma, ß, full stop; the letters of cow were seen
    assert found["characters"] == len(set("".join(train)))
    for unit, split in (("characters", list), ("words", str.split)):
        mean = sum(len(split(line)) for line in train) / len(train)
        assert found["per_sentence"][unit] == round(mean, 2)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ('„Ein" T-Shirt, 5 – 6.', ["Ein", "T-Shirt", "5", "6"]),
        ("it's a dog's.", ["it's", "a", "dog's"]),
        (" . – ", []),
    ],
)
def test_punctuation_is_no_part_of_a_word(line, words):
    assert facts.split_words(line) == words


def test_every_pair_is_in_one_batch_of_each_kind():
    rng = random.Random(0)
    pairs = [
        IdPair([4] * rng.randint(1, 20), [5] * rng.randint(1, 20)) for _ in range(300)
    ]
    found = facts.padding_by_method(pairs, 100)
    shares = found["padding"]
    assert shares["tokens"] < shares["pooled"] < shares["random"]
    size = found["pairs_per_batch"]
    assert len(found["shown"]["random"]) == len(found["shown"]["pooled"]) == size
    longest = max(max(pair) for pair in found["shown"]["tokens"])
    assert longest * len(found["shown"]["tokens"]) <= 100
    same = facts.padding_by_method([IdPair([4, 4], [5])] * 10, 100)["padding"]
    assert set(same.values()) == {0.0}


def test_the_batch_shown_is_a_usual_one():
    level = [IdPair([4] * n, [5] * n) for n in (3, 3)]  # no padding
    uneven = [IdPair([4], [5] * 3), IdPair([4], [5])]  # 2 of 12 positions
    worst = [IdPair([4] * 9, [5] * 9), IdPair([], [])]
    batches = [worst, uneven, level]
    for share, batch in ((0.0, level), (0.2, uneven), (0.9, worst)):
        assert facts._typical(batches, share) is batch
    assert facts._lengths(uneven) == [[2, 4], [2, 2]]


def test_subwords_are_learned_from_the_training_split_alone(monkeypatch):
    def sentences(split, language):
        return TRAIN if split == "train" else [f"{language} öäü {split}"] * 50

    monkeypatch.setattr(multi30k, "sentences", sentences)
    monkeypatch.setattr(facts, "CONFIG", facts.config("multi30k-cpu", vocab_size=40))
    found = facts.multi30k_facts()
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
        train, val = text[start : start + 29_000], multi30k.sentences("val", side)
        assert facts.language_counts(train, val, subwords) == stored["rows"][side]


def test_one_pair_is_the_most_frequent():
    for segmented, counts in find("ex12_next_merge").inputs():
        found = Counter()
        for word, symbols in segmented.items():
            for pair in pairwise(symbols):
                found[pair] += counts[word]
        (_, first), (_, second) = found.most_common(2)
        assert first > second


def squared(segmented, counts):
    """Counts a pair that occurs twice in a word four times."""
    found = Counter()
    for word, symbols in segmented.items():
        pairs = list(pairwise(symbols))
        for pair in pairs:
            found[pair] += pairs.count(pair) * counts[word]
    return max(found, key=found.get)


def in_characters(segmented, counts):
    """Counts where a pair stands in the word, merged or not."""
    pairs = {pair for symbols in segmented.values() for pair in pairwise(symbols)}

    def count(pair):
        return sum(word.count("".join(pair)) * n for word, n in counts.items())

    return max(sorted(pairs), key=count)


@pytest.mark.parametrize("count", [squared, in_characters])
def test_pairs_that_are_counted_otherwise_are_wrong(count):
    name = "ex12_next_merge"
    assert "not yet right" in verdict(find(name), name, count)


# The page's own code, at its edges


@pytest.mark.parametrize("n", [0, 1, 8, 30, 40, 1000])
def test_merges_end_when_every_word_is_one_symbol(n):
    learn = printed("ch12", "learn_merges")
    words = learn.__globals__["words"]
    assert learn(n) == learn_merges(words, n)


def test_nothing_to_merge_is_refused():
    merge = printed("ch12", "ex12_next_merge", solution=True)
    assert merge({"ab": ["a", "b"]}, {"ab": 2}) == ("a", "b")
    with pytest.raises(ValueError, match="empty"):
        merge({"ab": ["ab"]}, {"ab": 2})
