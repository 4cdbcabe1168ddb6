"""The language models of chapter 6: their least loss, their samples, their leak."""

import json
import math
from itertools import product
from pathlib import Path

import pytest
import torch
from notebook_cells import run_cell

from attnbook.core import results
from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.ch06 import next_word
from attnbook.nn.masks import key_mask, target_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions
from attnbook.toy.data import SOURCE
from attnbook.toy.language import PHRASE, VERBS, phrase_words, translate_by_rule
from attnbook.toy.next_words import next_word_batches, shifted_words
from attnbook.toy.single_attention import OneLayer
from attnbook.toy.training import fit
from experiments import ch06_next_word as experiment
from experiments import ch06_order

FARMER = translate_by_rule("the old farmer sees a bird")
MASKS = ("key", "target")
LONGER = translate_by_rule("the king helps a cat and the old dog sees the queen")
PAGE = Path(__file__).resolve().parents[4] / "book" / "ch06_masks.ipynb"


@pytest.fixture(scope="module")
def models():
    torch.manual_seed(0)
    return next_word.NextWord().eval()


def test_the_model_is_that_of_the_page(models):
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    (cell,) = [c for c in cells if "class NextWord" in "".join(c["source"])]
    names = run_cell("".join(cell["source"]), {"SOURCE": SOURCE})
    torch.manual_seed(0)
    shown, (ids, _) = names["NextWord"](), shifted_words([FARMER, LONGER])
    assert torch.equal(shown(ids, target_mask(ids)), models(ids, target_mask(ids)))


def test_the_least_loss_by_enumerating_a_phrase_word_by_word():
    """The product of all choices of a phrase, by counting continuations."""
    phrases = [tuple(phrase_words(*kinds)) for kinds in product(*PHRASE)]
    assert len(phrases) == 252

    def nats(phrase):
        total = 0.0
        for i in range(len(phrase)):
            before = [p for p in phrases if p[:i] == phrase[:i] and len(p) > i]
            after = [p for p in before if p[i] == phrase[i]]
            total -= math.log(len(after) / len(before))
        return total

    clause = nats(("the", "old", "farmer")) + nats(("a", "bird")) + math.log(len(VERBS))
    wanted = (clause + math.log(2)) / 7
    assert next_word.least_loss([FARMER]) == pytest.approx(wanted)
    assert next_word.least_loss([LONGER]) == pytest.approx(
        (2 * clause + math.log(2)) / 13
    )


def test_a_table_of_word_pairs_is_their_conditional_frequency():
    cats = translate_by_rule("the cat sees the dog")
    loss = next_word.loss_by_last_word([cats], [cats])
    assert loss == pytest.approx(2 * math.log(2) / 6)  # only "the" has two successors


def test_word_by_word_a_causal_model_is_what_it_is_at_once(models):
    ids, _ = shifted_words([FARMER])
    one_by_one = next_word.word_by_word(models, target_mask, ids)
    with torch.no_grad():
        torch.testing.assert_close(one_by_one, models(ids, target_mask(ids)))
        last = models(ids[:, :3], key_mask(ids[:, :3]))[:, -1]
    full = next_word.word_by_word(models, key_mask, ids)
    torch.testing.assert_close(full[:, 2], last)


def test_it_writes_until_the_end_by_the_model_s_odds():
    """A model that is sure of each word."""
    words = SOURCE.encode(["the", "cat"])

    def sure(ids, mask):
        after = {BOS: words[0], words[0]: words[1]}
        logits = torch.full((*ids.shape, len(SOURCE)), -torch.inf)
        for at in product(*map(range, ids.shape)):
            logits[at][after.get(ids[at].item(), EOS)] = 0
        return logits

    assert next_word.write(sure, key_mask, 2, longest=5) == ["the cat"] * 2
    assert next_word.write(sure, key_mask, 1, longest=1) == ["the"]


def test_what_copies_its_next_input_is_found_and_what_is_causal_is_not():
    def copies(ids, mask):
        return torch.nn.functional.one_hot(ids.roll(-1, 1), len(SOURCE)).double() * 9

    robot = translate_by_rule("the robot sees a robot")
    found = experiment.next_is_largest(copies, key_mask, [FARMER, robot])
    assert found == (6 + 5, 6 + 5)
    itself = torch.nn.functional.one_hot
    assert experiment.next_is_largest(
        lambda ids, mask: itself(ids, len(SOURCE)).double(), key_mask, [FARMER]
    ) == (0, 6)


def test_a_head_learns_to_look_at_the_next_word_where_the_target_is():
    """How the chapter's first model copies; with the causal mask no head can."""
    looks = []
    for mask_of in (key_mask, target_mask):
        torch.manual_seed(0)
        layers = MultiHeadAttention(64, n_heads=2), LearnedPositions(32, 64)
        model = OneLayer(*layers, vocab_size=len(SOURCE))
        batches = next_word_batches(mask_of, seed=0)
        batches = ((ids, mask, targets[..., None]) for ids, mask, targets in batches)
        fit(model, batches, steps=200, learning_rate=1e-2)
        ids, _ = shifted_words([FARMER])
        with torch.no_grad():
            _, weights = model(ids, mask_of(ids), need_weights=True)  # (1, 2, 7, 7)
        looks.append(weights[0].diagonal(1, -2, -1).mean(-1).max())
    assert looks[0] > 0.8
    assert looks[1] == 0


def test_what_was_measured_of_both_language_models():
    """Beyond what the chapter's table shows, of three seeds each."""
    runs = results.load("next_word")["runs"]
    full, causal = ([r for r in runs if r["mask"] == f"{m}_mask"] for m in MASKS)
    for run in causal:
        found = [round(100 * run[name], 1) for name in ("at_once", "word_by_word")]
        assert found == [25.6, 25.6]  # the best possible
        assert run["empty"] == run["next_largest"] == 0
        assert 1.77 < run["training_loss"] < 1.78
    assert [run["copies"] for run in causal] == [1, 4, 3]
    assert not any(run["copies"] for run in full)
    assert [run["empty"] for run in full] == [23, 171, 194]
    assert [run["next_largest"] for run in full] == [258, 256, 257]
    assert min(run["at_once"] for run in full) > 0.998
    assert max(run["word_by_word"] for run in full) < 0.17
    assert max(run["training_loss"] for run in full) < 0.005


def test_the_best_guess_without_order_is_the_most_frequent_symbol(monkeypatch):
    """Sequences of three: at the last position, one of two earlier symbols."""
    monkeypatch.setattr(ch06_order, "LENGTH", 3)
    found = [ch06_order.bag_guess(causal=causal) for causal in (True, False)]
    assert found == pytest.approx([(1 + 1 / 16) / 2] * 2, abs=0.01)
    monkeypatch.setattr(ch06_order, "LENGTH", 4)
    two, three = (1 + 1 / 16) / 2, (15 * 14 / 3 + 45 * 2 / 3 + 1) / 256
    wanted = (two + three) / 2, three
    found = [ch06_order.bag_guess(causal=causal) for causal in (True, False)]
    assert found == pytest.approx(wanted, abs=0.01)
