"""What the experiments of appendix A1 measure, at small size."""

import math
import random

import pytest
import torch

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.a1.writing import TokenModel
from attnbook.data.batching import pad
from attnbook.data.subwords import Subwords
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask
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


def with_and_without_ends(losses):
    words = mean(x for text in losses for x in text[:-1])
    return {"with_end": near(mean(x for t in losses for x in t)), "words": near(words)}


def test_a_decoder_and_a_trigram_are_scored_with_the_ends_and_without():
    model = Fixed(WORDS)
    losses = [
        [model.nats(a, b) for a, b in zip([BOS, *ids], [*ids, EOS], strict=True)]
        for ids in TEXTS
    ]
    assert captions.decoder_losses(model, TEXTS) == with_and_without_ends(losses)
    trigram = captions.Trigram(TEXTS, WORDS)
    losses = map(trigram.losses, TEXTS)
    assert captions.split_losses(trigram, TEXTS) == with_and_without_ends([*losses])


def test_an_encoder_is_scored_at_each_hidden_token():
    model = Fixed(WORDS)
    losses = [model.nats(WORDS, token) for ids in TEXTS for token in ids]
    found = captions.encoder_losses(model, TEXTS, mask_id=WORDS)
    assert found == {"with_end": None, "words": near(mean(losses))}
    assert captions.one_hidden([[5, 6]], 9) == [([9, 6], 0, 5), ([5, 9], 1, 6)]


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


@pytest.mark.parametrize("word", ["bench", "dog", "snow"])
@pytest.mark.parametrize("text", ["Two men sit on a {}.", "A {} sits."])
def test_a_gap_leaves_the_subwords_around_it_as_they_are(text, word):
    subwords = Subwords.train(CAPTIONS * 3, 300)
    whole = subwords.encode(text.format(word))
    at = whole.index(subwords.encode(word)[0])
    size, given = len(subwords), []

    def model(ids):
        given.append(ids[0].tolist())
        return torch.zeros(1, ids.shape[1], size)

    captions.fill(model, subwords, text.format("___"))
    assert given == [[*whole[:at], size, *whole[at + 1 :], EOS]]


def test_only_logits_with_a_target_are_computed():
    torch.manual_seed(0)
    config = TransformerConfig(WORDS + 1, d_model=8, n_heads=2, n_layers=1, d_ff=8)
    model = TokenModel(key_mask, config, 9).eval()
    generator = torch.Generator().manual_seed(0)
    given, targets = toy.hide_tokens(pad(TEXTS), 0.5, WORDS, generator)
    gaps = targets != PAD
    few = token_loss(captions.AtGaps(model)(given, gaps), targets[gaps])
    assert few.item() == pytest.approx(token_loss(model(given), targets).item())


def test_language_models_at_small_size(monkeypatch):
    monkeypatch.setattr(captions.multi30k, "sentences", lambda *_: CAPTIONS)
    small = {"SEEDS": (0,), "EPOCHS": 1, "TRIAL_EPOCHS": 1, "VOCAB_SIZE": 40}
    for name, value in small.items():
        monkeypatch.setattr(captions, name, value)
    found = captions.language_models()
    assert len(found["trials"]) == 2 * len(captions.LEARNING_RATES)
    for run in found["runs"]:
        trials = [t for t in found["trials"] if t["model"] == run["model"]]
        best = min(trials, key=lambda trial: trial["words"])
        assert run["learning_rate"] == best["learning_rate"]
    decoder, encoder = found["runs"]
    for losses in (found["trigram"], decoder):
        assert 0 < losses["with_end"] < 2 * math.log(40)
    assert encoder["with_end"] is None
    assert len(found["samples"]) == captions.N_SAMPLES
    assert [gap["text"] for gap in found["gaps"]] == [*captions.WITH_GAPS]
    assert 0 <= found["known"] <= 100


# Hidden words


def hidden_in(ids, share):
    given, targets = toy.hide_tokens(ids, share, 99, torch.Generator().manual_seed(0))
    hidden = given == 99
    assert torch.equal(torch.where(hidden, targets, given), ids)
    assert (targets[~hidden] == PAD).all()
    return hidden


def test_hidden_words_are_targets_and_a_row_without_words_stays():
    ids = pad([[BOS, *range(10, 30), EOS], [BOS, 5, EOS], [7], [BOS, EOS]])
    hidden = hidden_in(ids, 0.3)
    assert hidden.any(1).tolist() == [True, True, True, False]
    assert not hidden[ids <= EOS].any()


def test_the_share_is_right_and_no_text_is_left_whole():
    for share in (0.15, 0.5, 1.0):
        hidden = hidden_in(torch.full((400, 50), 7), share)
        assert hidden.double().mean().item() == pytest.approx(share, abs=0.01)
    assert hidden_in(torch.full((400, 2), 7), 0.01).any(1).all()


# Roles, digits, kinds


def test_a_tagger_begins_with_the_weights_it_is_given(monkeypatch):
    monkeypatch.setattr(toy, "FINE_TUNING", 1)
    monkeypatch.setattr(toy, "SLOWER", 1e-300)
    monkeypatch.setattr(toy, "PRE_TRAINING", 2)
    weights = toy.pre_trained(seed=0).state_dict()
    before = {name: w.clone() for name, w in weights.items()}
    assert toy.tag_accuracy(weights, 4, seed=0) != toy.tag_accuracy({}, 4, seed=0)
    for name, w in weights.items():
        assert torch.equal(w, before[name])


def test_what_needs_no_training_is_what_is_stored():
    stored = results.load("one_encoder")
    assert toy.by_word_accuracy() == near(stored["by_word"])
    assert toy.nearest_accuracy() == near(stored["nearest"])


def test_one_encoder_at_small_size(monkeypatch):
    for name in ("PRE_TRAINING", "FINE_TUNING", "DIGIT_STEPS"):
        monkeypatch.setattr(toy, name, 1)
    monkeypatch.setattr(toy, "SEEDS", (0,))
    found = toy.one_encoder()
    wanted = {(0, n) for n in toy.LABELLED}
    assert {(run["seed"], run["sentences"]) for run in found["roles"]} == wanted
    assert len(found["digits"]) == 3
    for run in (*found["roles"], *found["digits"]):
        assert all(0 <= run[name] <= 1 for name in run.keys() & {"scratch", "right"})
