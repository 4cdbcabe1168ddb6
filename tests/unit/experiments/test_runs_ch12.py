"""What chapter 12's experiments count, train and probe, at small size."""

import random

import pytest

from attnbook.data import multi30k
from attnbook.data.batching import IdPair
from attnbook.data.subwords import Subwords
from attnbook.translation.configs import config
from experiments import ch12

# Counts of Multi30k

TRAIN = ["a dog runs", "a dog", "a cat sleeps", "a dog runs in snow"] * 20


def test_words_not_seen_are_counted():
    subwords = Subwords.train(TRAIN, 40)
    train = [*TRAIN, "„once“ – (dog)."]
    found = ch12.language_counts(train, ["a cow runs", "A dog, ß."], subwords)
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
    assert ch12.split_words(line) == words


def test_batches_that_are_sorted_hold_less_padding():
    rng = random.Random(0)
    pairs = [
        IdPair([4] * rng.randint(1, 20), [5] * rng.randint(1, 20)) for _ in range(300)
    ]
    found = ch12.padding_by_method(pairs, 100)
    shares, shown = found["padding"], found["shown"]
    assert shares["tokens"] < shares["pooled"] < shares["random"]
    assert len(shown["random"]) == len(shown["pooled"]) == found["pairs_per_batch"]
    assert max(map(max, shown["tokens"])) * len(shown["tokens"]) <= 100


def test_the_batch_shown_is_a_usual_one():
    level = [IdPair([4] * n, [5] * n) for n in (3, 3)]  # no padding
    uneven = [IdPair([4], [5] * 3), IdPair([4], [5])]  # 2 of 12 positions
    worst = [IdPair([4] * 9, [5] * 9), IdPair([], [])]
    for share, batch in ((0.0, level), (0.2, uneven), (0.9, worst)):
        assert ch12._typical([worst, uneven, level], share) is batch
    assert ch12._lengths(uneven) == [[2, 4], [2, 2]]


def test_subwords_are_learned_from_the_training_split_alone(monkeypatch):
    def sentences(split, language):
        return TRAIN if split == "train" else [f"{language} öäü {split}"] * 50

    monkeypatch.setattr(multi30k, "sentences", sentences)
    monkeypatch.setattr(ch12, "CONFIG", config("multi30k-cpu", vocab_size=40))
    found = ch12.multi30k_facts()
    assert found["fingerprint"] == Subwords.train(TRAIN + TRAIN, 40).fingerprint()
    assert found["sentences"] == {
        split: len(sentences(split, "en")) for split in multi30k.SPLITS
    }
    assert found["rows"]["de"]["val_unk"] > 0
