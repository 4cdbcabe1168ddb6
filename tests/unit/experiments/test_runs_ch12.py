"""What chapter 12's experiments count, train and probe, at small size."""

import math
import random
from types import SimpleNamespace

import pytest
import torch

from attnbook.analysis.ibm_model1 import align_words, train_ibm_model1
from attnbook.core import results
from attnbook.data import multi30k
from attnbook.data.batching import IdPair
from attnbook.data.subwords import Subwords
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.models import load_toy_model
from attnbook.translation.configs import CONFIGS, config
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


# Label smoothing, where the truth is known


def small_language():
    p = ch12.TRUE[:3, :5]
    return p / p.sum(-1, keepdim=True)


def test_a_model_is_judged_by_what_is_true():
    p = torch.tensor([[0.5, 0.25, 0.25, 0.0], [0.0, 1.0, 0.0, 0.0]])
    q = torch.tensor([[0.25, 0.5, 0.25, 0.0], [0.5, 0.5, 0.0, 0.0]])
    found = ch12.evaluate_distribution(p, q.log())
    nats = (0.75 * math.log(4) + 0.25 * math.log(2) + math.log(2)) / 2
    assert found["perplexity"] == pytest.approx(math.exp(nats))
    assert found["accuracy"] == pytest.approx((0.25 + 0.0) / 2)


def test_the_language_is_the_stored_one():
    found = ch12.evaluate_distribution(ch12.TRUE, ch12.TRUE.log())
    assert found == pytest.approx(results.load("smoothing_known")["best"])


@pytest.mark.parametrize("amount", [0.0, 0.2])
def test_training_reaches_what_the_formula_says(monkeypatch, amount):
    monkeypatch.setattr(ch12, "STEPS", 600)
    p = small_language()
    learned = ch12.train_logits(p, amount, seed=0, n_samples=None).exp()
    best = (1 - amount) * p + amount / 5
    torch.testing.assert_close(learned, best, atol=0.03, rtol=0)
    torch.testing.assert_close(ch12.smoothed(p, amount), best)


def test_few_samples_are_used_again(monkeypatch):
    monkeypatch.setattr(ch12, "STEPS", 1000)
    monkeypatch.setattr(ch12, "BATCH", 16)
    p = small_language()
    learned = ch12.train_logits(p, 0.0, seed=0, n_samples=30).exp()
    known = ch12.sample_words(p, 30, torch.Generator().manual_seed(0))
    counts = torch.zeros_like(p)
    counts.index_put_(known, torch.ones(30, dtype=p.dtype), accumulate=True)
    found = counts / counts.sum(-1, keepdim=True)
    torch.testing.assert_close(learned, found, atol=0.1, rtol=0)


# The ablation on the toy language


def test_as_it_is_nothing_is_changed():
    for name, change in ch12.CHANGES.items():
        if "without" not in change:
            run = config("toy", max_epochs=ch12.EPOCHS, **change)
            assert (run == CONFIGS["toy"]) == (name == "as it is")


def test_exact_match_is_the_share_of_equal_sentences(monkeypatch):
    pairs = held_out_pairs(2, 4)

    def translate(model, subwords, sources, width):
        assert sources == [" ".join(pair.source) for pair in pairs]
        assert width == 1
        right = [" ".join(pair.target) for pair in pairs]
        return [*right[:3], right[3] + " ek"]

    trained = SimpleNamespace(model=torch.nn.Identity(), subwords=None)
    monkeypatch.setattr(ch12, "beam_translate", translate)
    assert ch12.greedy_exact_match(trained, 2, number=4) == 0.75


# Probes, where the truth is known


@pytest.fixture(scope="module")
def toy():
    pairs = held_out_pairs(2, 300)
    ids = [IdPair(SOURCE.encode(p.source), TARGET.encode(p.target)) for p in pairs]
    return ids, train_ibm_model1(ids)


def test_labels_are_of_the_position_and_its_neighbours(toy):
    ids, table = toy
    pair = ids[0]
    labels = {name: make(pair, table) for name, make in ch12.LABELS.items()}
    assert labels["itself"] == list(pair.source)
    assert labels["the one before"] == [-1, *pair.source[:-1]]
    assert labels["the one after"] == [*pair.source[1:], -1]
    positions = align_words(pair, table)
    for j, target in enumerate(labels["its translation"]):
        if target == -1:
            assert j not in positions
        else:
            assert target == pair.target[positions.index(j)]


def test_probes_read_off_what_is_there(toy):
    ids, table = toy
    positions = ch12.collect_states(load_toy_model("transformer"), ids, table)
    n = sum(len(pair.source) for pair in ids)
    assert [x.shape for x in positions.states] == [(n, 64)] * 3
    own = ch12.probe_layers(positions, "itself", 0)
    assert own["by_layer"][0] > 0.99
    assert own["by_subword"] == 1
    translation = ch12.probe_layers(positions, "its translation", 0)
    assert translation["chance"] < 0.3 < 0.7 < max(translation["by_layer"])
