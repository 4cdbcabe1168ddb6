"""Models that fill gaps and models that write: their texts, and what they are asked."""

from statistics import fmean

import pytest
import torch

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.a1 import experiment_writers as writers
from attnbook.course.a1 import figures, writing
from attnbook.course.a1.writing import MASK, TokenModel
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE

SENTENCE = ["the", "old", "farmer", "sees", "a", "bird"]


class Recite(torch.nn.Module):
    """Predicts the words of one sentence by position, and ``EOS`` behind them."""

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


def test_cut_texts_differ_from_whole_ones_behind_the_gap_alone():
    whole, cut = (next(writing.one_gap_batches(0, cut)) for cut in (False, True))
    assert torch.equal(whole[1], cut[1])
    assert torch.equal((cut[1] != PAD).sum(1), torch.ones(len(cut[1])).long())
    behind = (cut[1] != PAD).cumsum(1) - (cut[1] != PAD).long() > 0
    assert torch.equal(cut[0], whole[0].masked_fill(behind, PAD))


def test_a_share_of_the_next_words_are_targets():
    (ids, every), (_, few) = (
        next(writing.some_next_words(0, share)) for share in (1.0, 0.15)
    )
    assert (ids[:, 0] == BOS).all()
    assert torch.equal(few, every.where(few != PAD, PAD))
    assert 0.1 < (few != PAD).sum() / (every != PAD).sum() < 0.2


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


def test_a_gap_is_filled_and_kinds_are_compared():
    assert writing.guesses(Recite(SENTENCE), "the old [M] sees a bird")[0] == "farmer"
    assert writers.same_kind("old", "big")
    assert writers.same_kind("and", "and")
    assert not writers.same_kind("old", "bird")
    assert not writers.same_kind("<eos>", "and")


def test_training_goes_on_from_other_weights(monkeypatch):
    monkeypatch.setattr(writing, "LEARNING_RATE", 0.0)
    torch.manual_seed(5)
    start = TokenModel(key_mask)
    model = writing.train(target_mask, writing.some_next_words(0), 0, 1, start)
    assert torch.equal(model.W_e, start.W_e)


def test_writers_at_small_size(monkeypatch):
    monkeypatch.setattr(writers, "SEEDS", (0,))
    monkeypatch.setattr(writing, "STEPS", 1)
    for name in ("LONGER", "FEW"):
        monkeypatch.setattr(writers, name, 1)
    monkeypatch.setattr(writers, "NUMBER", 4)
    monkeypatch.setattr(
        writers, "train", lambda m, b, seed, steps=1, start=None: TokenModel(m).eval()
    )
    (run,) = writers.writers()["runs"]
    assert {*figures.TRAININGS} <= run.keys()
    assert all(0 <= share <= 1 for name, share in run.items() if name != "seed")


@pytest.mark.usefixtures("as_in_the_pages")
def test_what_the_page_says_of_the_stored_runs():
    runs = results.load("writers")["runs"]
    assert sorted(run["gaps"] for run in runs)[2] == runs[4]["gaps"]
    for run in runs:
        assert run["kinds"] > 0.98
        assert max(run["gaps"], run["one_gap"]) < 0.3 < 0.45 < run["gaps_between"]
        assert run["one_gap"] + 0.5 < run["cut"] < run["next"]
        assert run["next_few"] < run["next"]
        assert run["new_after_few"] + 0.4 < run["gaps_after_few"]
    means = {name: fmean(100 * run[name] for run in runs) for name in runs[0]}
    told = {"one_gap": 1, "next_few": 77, "gaps_after_few": 64, "new_after_few": 9}
    assert {name: round(means[name]) for name in told} == told
    luckiest = max(runs, key=lambda run: run["gaps"])
    assert [round(100 * luckiest[n]) for n in ("gaps", "gaps_asked_causal")] == [28, 52]
