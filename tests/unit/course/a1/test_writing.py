"""Models that fill gaps and models that write: their texts, and what they are asked."""

from itertools import islice
from statistics import fmean

import pytest
import torch

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.a1 import figures, writing
from attnbook.course.a1.writing import MASK, TokenModel
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE
from experiments import a1_writers as writers

SENTENCE = ["the", "old", "farmer", "sees", "a", "bird"]


class Recite(torch.nn.Module):
    """Predicts the words of one sentence by position, and ``EOS`` after them."""

    def __init__(self, words):
        super().__init__()
        ids = [*SOURCE.encode(words), *[EOS] * writing.LONGEST]
        self.rows = 100 * torch.eye(MASK + 1)[torch.tensor(ids)]
        self.given = []

    def forward(self, ids):
        self.given.append(ids[0].tolist())
        return self.rows[: ids.shape[1]].expand(len(ids), -1, -1)


def test_texts_are_whole_and_end():
    ids = next(writing.whole_texts(seed=0))
    assert torch.equal((ids == EOS).sum(1), torch.ones(len(ids), dtype=torch.long))
    for row in ids.tolist():
        assert writing.correct([SOURCE.decode(row)]) == 1


def test_gaps_have_their_tokens_as_targets():
    whole, (given, targets) = (
        next(make(seed=0)) for make in (writing.whole_texts, writing.gap_batches)
    )
    hidden = given == MASK
    assert torch.equal(hidden, targets != PAD)
    assert torch.equal(torch.where(hidden, targets, given), whole)
    assert (targets == EOS).any()


def test_cut_texts_differ_from_whole_ones_after_the_gap_alone():
    whole, cut = (
        next(writing.one_gap_batches(0, cut)) for cut in (None, "after the gap")
    )
    assert torch.equal(whole[1], cut[1])
    assert torch.equal((cut[1] != PAD).sum(1), torch.ones(len(cut[1])).long())
    after = (cut[1] != PAD).cumsum(1) - (cut[1] != PAD).long() > 0
    assert torch.equal(cut[0], whole[0].masked_fill(after, PAD))


def test_in_texts_cut_later_a_token_comes_after_the_gap():
    ids = next(writing.whole_texts(seed=0))
    given, targets = next(writing.one_gap_batches(0, "later"))
    gap = given == MASK
    assert torch.equal(gap, targets != PAD)
    assert torch.equal(gap.sum(1), torch.ones(len(ids)).long())
    assert torch.equal(torch.where(gap, targets, given), ids.where(given != PAD, PAD))
    ends, places = (given != PAD).sum(1), gap.int().argmax(1)
    assert (places < ends - 1).all()
    assert ends.min() < 4  # as short as texts that are cut after the gap
    assert (ends < (ids != PAD).sum(1)).any()


def test_one_of_the_next_words_is_a_target():
    (ids, every), (_, one) = (next(writing.next_words(0, one)) for one in (False, True))
    assert (ids[:, 0] == BOS).all()
    assert torch.equal(one, every.where(one != PAD, PAD))
    assert torch.equal((one != PAD).sum(1), torch.ones(len(ids)).long())


@pytest.mark.parametrize("ask", [MASK, None])
def test_a_model_writes_until_the_end(ask):
    model = Recite(SENTENCE)
    assert writing.write(model, 3, ask) == [SENTENCE] * 3
    assert model.given[0] == [BOS if ask is None else MASK]
    assert (model.given[1][-1] == MASK) == (ask is not None)


def test_a_model_fills_a_whole_sentence_from_left_to_right():
    model = Recite(SENTENCE)
    assert writing.write_between(model, [6, 6]) == [SENTENCE] * 2
    assert model.given[0] == [*[MASK] * 6, EOS]
    assert model.given[2] == [*SOURCE.encode(SENTENCE[:2]), *[MASK] * 4, EOS]


def test_without_its_length_a_text_ends_where_the_model_ends_it():
    model = Recite(SENTENCE)
    assert writing.write_between(model, [9, 9], ends=False) == [SENTENCE] * 2
    assert model.given[0] == [MASK] * 10


def test_no_sentence_is_longer_than_the_gaps_laid_out():
    texts = [row for ids in islice(writing.whole_texts(0), 20) for row in ids.tolist()]
    longest = max(row.index(EOS) for row in texts)
    assert longest == writing.LONGEST_SENTENCE


def test_a_gap_is_filled_and_kinds_are_compared():
    assert writing.guesses(Recite(SENTENCE), "the old [M] sees a bird")[0] == "farmer"
    assert writers.same_kind("old", "big")
    assert writers.same_kind("and", "and")
    assert not writers.same_kind("old", "bird")
    assert not writers.same_kind("<eos>", "and")


def test_training_begins_with_the_weights_it_is_given(monkeypatch):
    monkeypatch.setattr(writing, "LEARNING_RATE", 1e-300)
    torch.manual_seed(5)
    other = TokenModel(key_mask)

    def begin(weights):
        return writing.train(target_mask, writing.next_words(0), 0, 1, weights)

    new, vectors, every = map(begin, ({}, {"W_e": other.W_e}, other.state_dict()))
    assert torch.equal(vectors.W_e, other.W_e)
    assert torch.equal(vectors.W_p, new.W_p)
    assert not torch.equal(new.W_e, other.W_e)
    for name, weights in other.state_dict().items():
        assert torch.equal(every.state_dict()[name], weights)


def test_writers_at_small_size(monkeypatch):
    monkeypatch.setattr(writers, "SEEDS", (0,))
    monkeypatch.setattr(writing, "STEPS", 1)
    monkeypatch.setattr(writers, "NUMBER", 4)
    monkeypatch.setattr(
        writers, "train", lambda m, b, seed, steps=1, weights=None: TokenModel(m).eval()
    )
    (run,) = writers.writers()["runs"]
    assert {*figures.TRAININGS} <= run.keys()
    assert all(0 <= share <= 1 for name, share in run.items() if name != "seed")


@pytest.mark.usefixtures("as_in_the_pages")
def test_what_the_page_says_of_the_stored_runs():
    runs = results.load("writers")["runs"]
    assert sorted(run["gaps"] for run in runs)[2] == runs[4]["gaps"]
    for name in ("cut", "next"):
        assert max(run[name] for run in runs) == runs[4][name]
    for run in runs:
        assert run["kinds"] > 0.98
        assert run["gaps"] < 0.3
        assert run["gaps"] < run["gaps_followed"] < run["gaps_between"]
        assert max(run["one_gap"], run["cut_later"]) + 0.5 < run["cut"] < run["next"]
        assert 0.4 < run["gaps_causal"] < run["next"]
        assert run["next_one"] < run["next"]
        assert run["few_new"] == 0 < 2 * run["few_vectors"] < run["few_all"]
    means = {name: fmean(100 * run[name] for run in runs) for name in runs[0]}
    told = {"one_gap": 1, "cut_later": 0, "few_all": 58, "few_vectors": 24}
    assert {name: round(means[name]) for name in told} == told
    leads = [round(means[name] - means["cut"]) for name in ("next", "next_one")]
    assert leads == [15, 3]
    under = [round(100 * runs[0][name]) for name in ("gaps", "gaps_asked_causal")]
    assert under == [14, 43]
    assert fmean(run["kinds"] for run in runs) > 0.99


@pytest.mark.usefixtures("as_in_the_pages")
def test_what_the_page_says_of_the_stored_taggers():
    found = results.load("one_encoder")
    scratch, known = (
        100 - fmean(figures.roles_right(start, 4))
        for start in ("scratch", "pre_trained")
    )
    assert round((scratch - known) / scratch, 1) == 0.4  # two of five mistakes
    gains = [
        fmean(figures.roles_right("pre_trained", n))
        - fmean(figures.roles_right("scratch", n))
        for n in (4, 16, 64)
    ]
    assert gains == sorted(gains, reverse=True)
    assert min(figures.roles_right("scratch", 64)) > 99
    assert round(100 * found["by_word"]) == 61
