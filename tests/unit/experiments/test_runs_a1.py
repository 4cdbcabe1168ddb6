"""What the experiments of appendix A1 measure, at small size."""

import math
import random
from itertools import pairwise

import pytest
import torch

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS
from experiments import a1_captions as captions
from experiments import a1_toy as toy

TEXTS = [[5, 6, 7], [5, 8], [6, 6, 5, 7]]
WORDS = 10
CAPTIONS = ["A dog runs through the snow.", "Two men sit on a bench.", "A cat sits."]


def near(number):
    return pytest.approx(number, abs=1e-4)


def mean(numbers):
    numbers = [*numbers]
    return sum(numbers) / len(numbers)


# Captions


class Fixed(torch.nn.Module):
    """Logits that depend on the token at each position alone."""

    def __init__(self, size):
        super().__init__()
        g = torch.Generator().manual_seed(0)
        self.rows = torch.randn(size + 1, size, generator=g)

    def forward(self, ids):
        return self.rows[ids]

    def nats(self, given, target):
        return -self.rows[given].log_softmax(0)[target].item()


def test_a_decoder_and_a_trigram_are_scored_without_the_ends():
    model = Fixed(WORDS)
    losses = [model.nats(a, b) for ids in TEXTS for a, b in pairwise([BOS, *ids])]
    assert captions.decoder_loss(model, TEXTS) == near(mean(losses))
    trigram = captions.Trigram(TEXTS, WORDS)
    losses = [x for ids in TEXTS for x in trigram.losses(ids)[:-1]]
    assert captions.trigram_loss(trigram, TEXTS) == near(mean(losses))


def by_counting(texts, token, u, v):
    """The formula of the trigram's docstring, counting anew for each probability."""
    triples = [t for text in texts for t in captions.triples_of(text)]
    pairs = [t[1:] for t in {*triples}]
    singles = [t[1:] for t in {*pairs}]
    p = 1 / WORDS
    for seen, context in ((singles, ()), (pairs, (v,)), (triples, (u, v))):
        counts = [seen.count(key) for key in {*seen}]
        once, twice = counts.count(1), counts.count(2)
        d = once / (once + 2 * twice) if once else 0.5
        after = [key[-1] for key in seen if key[:-1] == context]
        if after:
            kept = max(after.count(token) - d, 0)
            p = (kept + d * len({*after}) * p) / len(after)
    return p


@pytest.mark.parametrize("texts", ["many", [[4], [4]]])  # the second: no count of 1
def test_a_trigram_is_its_formula_and_sums_to_one(texts):
    rng = random.Random(0)
    if texts == "many":
        lengths = [rng.randint(1, 6) for _ in range(30)]
        texts = [
            [min(rng.choices(range(4, 9), k=2)) for _ in range(n)] for n in lengths
        ]
    model = captions.Trigram(texts, WORDS)
    for before in ((BOS, BOS), (BOS, 5), (4, 4), (4, 5), (8, 8), (6, 7)):
        p = [model.probability(token, before) for token in range(WORDS)]
        wanted = [by_counting(texts, token, *before) for token in range(WORDS)]
        assert p == pytest.approx(wanted, rel=1e-12)
        assert sum(p) == pytest.approx(1)
        assert min(p) > 0
    triples = [(5, (BOS, BOS)), (4, (BOS, 5)), (EOS, (5, 4))]
    losses = [-math.log(model.probability(*triple)) for triple in triples]
    assert model.losses([5, 4]) == losses


def test_language_models_at_small_size(monkeypatch):
    monkeypatch.setattr(captions.multi30k, "sentences", lambda *_: CAPTIONS)
    for name, value in {"SEEDS": (0,), "EPOCHS": 1, "VOCAB_SIZE": 40}.items():
        monkeypatch.setattr(captions, name, value)
    found, stored = captions.language_models(), results.load("language_models")
    assert found.keys() < stored.keys()
    for of in (found, stored):
        losses = [of["trigram"]["words"], *(run["words"] for run in of["runs"])]
        assert 0 < min(losses) < max(losses) < 2 * math.log(of["subwords"])


# Roles, digits, kinds


def test_a_tagger_begins_with_the_weights_it_is_given(monkeypatch):
    monkeypatch.setattr(toy, "FINE_TUNING", 1)
    monkeypatch.setattr(toy, "SLOWER", 1e-300)
    torch.manual_seed(1)
    weights = toy.TokenModel(toy.key_mask).state_dict()
    before = {name: w.clone() for name, w in weights.items()}
    assert toy.tag_accuracy(weights, 4, seed=0) != toy.tag_accuracy({}, 4, seed=0)
    for name, w in weights.items():
        assert torch.equal(w, before[name])


def test_what_needs_no_training_is_what_is_stored():
    stored = results.load("one_encoder")
    assert toy.by_word_accuracy() == near(stored["by_word"])
    assert toy.nearest_accuracy() == near(stored["nearest"])


def test_one_encoder_at_small_size(monkeypatch):
    for name in ("FINE_TUNING", "DIGIT_STEPS"):
        monkeypatch.setattr(toy, name, 1)
    monkeypatch.setattr(toy, "gap_filler", lambda _: toy.TokenModel(toy.key_mask))
    monkeypatch.setattr(toy, "SEEDS", (0,))
    found = toy.one_encoder()
    wanted = {(0, n) for n in toy.LABELLED}
    assert {(run["seed"], run["sentences"]) for run in found["roles"]} == wanted
    assert len(found["digits"]) == 2
    for run in (*found["roles"], *found["digits"]):
        assert all(0 <= run[name] <= 1 for name in run.keys() & {"scratch", "right"})
