"""The experiments of appendix A1: what they measure, and all of them at small size."""

import math

import pytest
import torch

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.batching import pad
from attnbook.data.digits import N_TRAIN, load_digits
from attnbook.data.hidden_tokens import hide_tokens
from attnbook.data.subwords import Subwords
from attnbook.models.encoder_only import MaskedLanguageModel, TextEncoder
from attnbook.models.patch_classifier import cut_patches
from attnbook.models.trigram import Trigram
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.toy.roles import ROLES
from experiments import a1_language_models as language_models
from experiments import a1_one_encoder as one_encoder
from experiments.a1_language_models import (
    best_rate,
    decoder_losses,
    encoder_losses,
    fill,
    one_hidden,
    split_losses,
)

TEXTS = [[5, 6, 7], [5, 8], [6, 6, 5, 7]]
WORDS = 10
CAPTIONS = ["A dog runs through the snow.", "Two men sit on a bench.", "A cat sits."]


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


def mean(numbers):
    return sum(numbers) / len(numbers)


def test_a_decoder_is_scored_with_the_ends_and_without():
    model = Fixed(WORDS)
    losses = [
        [model.nats(a, b) for a, b in zip([BOS, *ids], [*ids, EOS], strict=True)]
        for ids in TEXTS
    ]
    found = decoder_losses(model, TEXTS)
    assert found["with_end"] == pytest.approx(
        mean([x for t in losses for x in t]), abs=1e-4
    )
    words = [loss for text in losses for loss in text[:-1]]
    assert found["words"] == pytest.approx(mean(words), abs=1e-4)


def test_an_encoder_is_scored_at_each_hidden_token():
    model = Fixed(WORDS)
    losses = [model.nats(WORDS, token) for ids in TEXTS for token in ids]
    found = encoder_losses(model, TEXTS, mask_id=WORDS)
    assert found == {"with_end": None, "words": pytest.approx(mean(losses), abs=1e-4)}
    assert one_hidden([[5, 6]], 9) == [([9, 6], 0, 5), ([5, 9], 1, 6)]


def test_a_trigram_is_scored_alike():
    model = Trigram(TEXTS, WORDS)
    losses = [model.losses(ids) for ids in TEXTS]
    found = split_losses(model, TEXTS)
    assert found["with_end"] == pytest.approx(
        mean([x for t in losses for x in t]), abs=1e-4
    )
    words = [x for t in losses for x in t[:-1]]
    assert found["words"] == pytest.approx(mean(words), abs=1e-4)


def test_a_gap_is_filled_with_the_most_probable_subwords():
    subwords = Subwords.train(CAPTIONS, 40)
    model = Fixed(len(subwords))
    found = fill(model, subwords, "A ___ runs.", best=3)
    p = model.rows[len(subwords)].softmax(0)
    top = p.topk(3)
    assert [prob for _, prob in found["words"]] == [
        round(value, 3) for value in top.values.tolist()
    ]
    assert found["words"][0][0] == subwords.decode([top.indices[0].item()]).strip()


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

    fill(model, subwords, text.format("___"))
    assert given == [[*whole[:at], size, *whole[at + 1 :], EOS]]


def test_only_logits_with_a_target_are_computed():
    torch.manual_seed(0)
    config = TransformerConfig(WORDS + 1, d_model=8, n_heads=2, n_layers=1, d_ff=8)
    model = MaskedLanguageModel(TextEncoder(config, 9)).eval()
    ids = pad(TEXTS)
    given, targets = hide_tokens(ids, 0.5, WORDS, torch.Generator().manual_seed(0))
    gaps = targets != PAD
    few = token_loss(language_models.AtGaps(model)(given, gaps), targets[gaps])
    assert few.item() == pytest.approx(token_loss(model(given), targets).item())


def test_the_rate_of_the_lowest_loss_is_taken():
    trials = [
        {"model": model, "learning_rate": rate, "words": loss}
        for model, rate, loss in (("a", 1, 5.0), ("a", 2, 4.0), ("b", 3, 3.0))
    ]
    assert [best_rate(trials, name) for name in "ab"] == [2, 3]


def test_both_models_train_on_the_same_batches():
    texts = [[5] * length for length in range(1, 200)]  # ten batches or so
    batches = language_models.all_batches(texts, seed=0, epochs=2)
    read = [pair.target for batch in batches for pair in batch]
    assert sorted(read) == sorted(texts * 2)
    assert language_models.all_batches(texts, seed=0, epochs=2) == batches
    assert language_models.all_batches(texts, seed=1, epochs=2) != batches


def test_language_models_at_small_size(monkeypatch):
    monkeypatch.setattr(
        language_models.multi30k, "sentences", lambda split, language: CAPTIONS
    )
    small = {"SEEDS": (0,), "EPOCHS": 1, "TRIAL_EPOCHS": 1, "VOCAB_SIZE": 40}
    for name, value in small.items():
        monkeypatch.setattr(language_models, name, value)
    found = language_models.language_models()
    decoder, encoder = found["runs"]
    assert len(found["trials"]) == 2 * len(language_models.LEARNING_RATES)
    assert (decoder["model"], encoder["model"]) == ("decoder-only", "encoder-only")
    for losses in (found["trigram"], decoder):
        assert 0 < losses["with_end"] < 2 * math.log(40)
    assert encoder["with_end"] is None
    assert len(found["samples"]) == language_models.N_SAMPLES
    assert [gap["text"] for gap in found["gaps"]] == [*language_models.WITH_GAPS]
    assert 0 <= found["known"] <= 100


def test_words_with_gaps_have_their_words_as_targets():
    ids, targets = next(one_encoder.words_with_gaps(seed=0))
    hidden = ids == one_encoder.MASK
    assert torch.equal(hidden, targets != PAD)
    assert hidden.any(1).all()


def test_by_word_a_tagger_knows_verbs_and_guesses_the_rest():
    _, tags = one_encoder.held_out_roles()
    real = tags != PAD
    certain = (tags == ROLES.index("verb")) | (tags == ROLES.index("connective"))
    share = (certain & real).sum() / real.sum()
    assert share < one_encoder.by_word_accuracy() < 0.65


def test_a_tagger_begins_with_the_weights_it_is_given(monkeypatch):
    monkeypatch.setattr(one_encoder, "FINE_TUNING", 1)
    monkeypatch.setattr(one_encoder, "SLOWER", 1e-300)
    monkeypatch.setattr(one_encoder, "PRE_TRAINING", 2)
    encoder = one_encoder.pre_trained(seed=0)
    before = {name: w.clone() for name, w in encoder.state_dict().items()}
    known = one_encoder.tag_accuracy(encoder, 4, seed=0)
    new = one_encoder.tag_accuracy(type(encoder), 4, seed=0)
    assert known != new
    for name, weights in encoder.state_dict().items():
        assert torch.equal(weights, before[name])


def test_shuffled_images_have_the_same_patches_in_one_other_order():
    images, _ = load_digits()
    g = torch.Generator().manual_seed(0)
    there = cut_patches(one_encoder.in_other_order(images, 2, g), 2)
    order = torch.randperm(16, generator=torch.Generator().manual_seed(0))
    assert torch.equal(there, cut_patches(images, 2)[:, order])


def test_the_nearest_training_image_is_found():
    images, labels = (x.double() for x in load_digits())
    right = 0
    for image, label in zip(images[N_TRAIN:], labels[N_TRAIN:], strict=True):
        distances = (images[:N_TRAIN] - image).square().sum((1, 2))
        right += (labels[distances.argmin()] == label).item()
    assert one_encoder.nearest_accuracy() == pytest.approx(right / 500, abs=1e-4)


def test_one_encoder_at_small_size(monkeypatch):
    for name in ("PRE_TRAINING", "FINE_TUNING", "DIGIT_STEPS"):
        monkeypatch.setattr(one_encoder, name, 1)
    monkeypatch.setattr(one_encoder, "SEEDS", (0, 1))
    found = one_encoder.one_encoder()
    assert {(run["seed"], run["sentences"]) for run in found["roles"]} == {
        (seed, n) for seed in (0, 1) for n in one_encoder.LABELLED
    }
    assert len(found["digits"]) == 6
    for run in (*found["roles"], *found["digits"]):
        assert all(0 <= run[name] <= 1 for name in run.keys() & {"scratch", "right"})
