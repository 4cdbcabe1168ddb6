"""What chapter 6's experiments measure, at small size."""

import json
import math
from itertools import product
from pathlib import Path

import pytest
import torch
from notebook_cells import run_cell
from torch.nn import functional as F

from attnbook.core.vocabulary import BOS, EOS
from attnbook.course.ch06.translators import Recomputing
from attnbook.data.batching import IdPair
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import (
    SOURCE,
    held_out_pairs,
    make_batch,
    shifted_words,
)
from attnbook.toy.language import PHRASE, VERBS, phrase_words, translate_by_rule
from attnbook.toy.models import load_toy_model
from attnbook.translation.corpora import Texts
from experiments import ch06
from experiments import ch06_next_word as words

PAGE = Path(__file__).resolve().parents[3] / "book" / "ch06_masks.ipynb"
FARMER = translate_by_rule("the old farmer sees a bird")
LONGER = translate_by_rule("the king helps a cat and the old dog sees the queen")
TEXTS = Texts(
    ["A dog runs.", "Two men sit on a bench in the park.", "A cat."],
    ["Ein Hund rennt.", "Zwei Männer sitzen auf einer Bank im Park.", "Eine Katze."],
)


@pytest.fixture
def three_captions(monkeypatch):
    monkeypatch.setattr(ch06, "load_texts", lambda *_: TEXTS)
    monkeypatch.setattr(ch06, "CAPTIONS", 3)


# Translators without a mask


def test_with_the_mask_the_loss_is_that_of_all_positions_at_once():
    model, batch = load_toy_model("transformer"), make_batch(held_out_pairs(2, 3))
    with torch.no_grad():
        at_once = token_loss(model(batch.src, batch.tgt_in), batch.tgt_out)
    found = ch06.stepwise_loss(Recomputing(model), [batch])
    assert found == pytest.approx(at_once.item(), rel=1e-4)


def test_outputs_are_compared_with_those_with_the_mask(monkeypatch):
    outputs = {True: ["a", "b"], False: ["a", "c"]}
    decode = {"toy": lambda causal: (outputs[causal], {})}
    monkeypatch.setattr(ch06, "DECODE", decode)
    for causal, changed in ((True, 0), (False, 0.5)):
        found = ch06.mask_at_inference("toy", causal)
        assert found == {"sentences": 2, "changed": changed}


def test_captions_are_scored_with_and_without_the_mask(three_captions):
    (_, with_mask), (_, without) = map(ch06.decode_captions, (True, False))
    assert with_mask["loss"] != without["loss"]
    assert 0 < with_mask["bleu"] <= 100


def test_the_parts_of_bleu_multiply_to_it():
    """Papineni et al. 2002: brevity times the geometric mean of four precisions."""
    found = ch06.bleu_parts(["a b c d e f"], ["a b c d x y z w"])
    assert found["precisions"] == pytest.approx([400 / 6, 60, 50, 100 / 3], abs=0.05)
    assert found["length_ratio"] == 0.75
    mean = (4 / 6 * 3 / 5 * 2 / 4 * 1 / 3) ** 0.25
    assert found["bleu"] == pytest.approx(100 * math.exp(1 - 8 / 6) * mean, abs=0.01)


def test_batches_hold_all_pairs():
    pairs = [IdPair([5] * n, [6] * n) for n in (3, 1, 2)]
    made = ch06.batches(pairs, size=2)
    assert [b.tgt_in.tolist() for b in made] == [
        [[BOS, 6, 0], [BOS, 6, 6]],
        [[BOS, 6, 6, 6]],
    ]
    assert made[1].src[0].tolist() == [5, 5, 5, EOS]


def test_translations_come_back_in_their_order(three_captions):
    changed = {r["batches"]: r["changed"] for r in ch06.padding_captions()["runs"]}
    assert changed["1"] == changed["with the mask, 32 in file order"] == 0
    assert 0 < changed["32 sorted by length"] == changed["32 in file order"]


# Order without positions


def test_the_best_guess_without_order_is_the_most_frequent_symbol(monkeypatch):
    """Sequences of three: at the last position, one of two earlier symbols."""
    monkeypatch.setattr(ch06, "LENGTH", 3)
    found = [ch06.bag_guess(causal=causal) for causal in (True, False)]
    assert found == pytest.approx([(1 + 1 / 16) / 2] * 2, abs=0.01)
    monkeypatch.setattr(ch06, "LENGTH", 4)
    two, three = (1 + 1 / 16) / 2, (15 * 14 / 3 + 45 * 2 / 3 + 1) / 256
    found = [ch06.bag_guess(causal=causal) for causal in (True, False)]
    assert found == pytest.approx([(two + three) / 2, three], abs=0.01)


# Language models


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return words.NextWord().eval()


def test_the_model_is_that_of_the_page(model):
    cells = json.loads(PAGE.read_text(encoding="utf-8"))["cells"]
    (cell,) = [c for c in cells if "class NextWord" in "".join(c["source"])]
    names = run_cell("".join(cell["source"]), {"SOURCE": SOURCE})
    torch.manual_seed(0)
    shown, (ids, _) = names["NextWord"](), shifted_words([FARMER, LONGER])
    assert torch.equal(shown(ids, target_mask(ids)), model(ids, target_mask(ids)))


def test_word_by_word_a_causal_model_is_what_it_is_at_once(model):
    ids, _ = shifted_words([FARMER])
    one_by_one = words.word_by_word(model, target_mask, ids)
    with torch.no_grad():
        torch.testing.assert_close(one_by_one, model(ids, target_mask(ids)))
        last = model(ids[:, :3], key_mask(ids[:, :3]))[:, -1]
    full = words.word_by_word(model, key_mask, ids)
    torch.testing.assert_close(full[:, 2], last)


def test_it_writes_until_the_end_by_the_model_s_odds():
    """A model that is sure of each word."""
    the, cat = SOURCE.encode(["the", "cat"])

    def sure(ids, mask):
        after = torch.full((len(SOURCE),), EOS)
        after[BOS], after[the] = the, cat
        return F.one_hot(after[ids], len(SOURCE)).float().log()

    assert words.write(sure, key_mask, 2, longest=5) == ["the cat"] * 2
    assert words.write(sure, key_mask, 1, longest=1) == ["the"]


def test_what_copies_its_next_input_is_found_and_what_is_causal_is_not():
    def copies(ids, mask):
        return F.one_hot(ids.roll(-1, 1), len(SOURCE)).double() * 9

    def repeats(ids, mask):
        return F.one_hot(ids, len(SOURCE)).double()

    robot = translate_by_rule("the robot sees a robot")
    found = words.next_is_largest(copies, key_mask, [FARMER, robot])
    assert found == (6 + 5, 6 + 5)
    assert words.next_is_largest(repeats, key_mask, [FARMER]) == (0, 6)


def test_a_causal_model_loses_nothing_word_by_word(monkeypatch):
    for name, small in {"STEPS": 20, "SAMPLES": 4, "TRAINED_ON": 64}.items():
        monkeypatch.setattr(words, name, small)
    run = words.train_and_measure(target_mask, 0, held_out_pairs(1, 40))
    assert run["loss"] == run["loss_word_by_word"] < math.log(len(SOURCE))
    assert run["next_largest"] == 0


# The best that can be reached


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
    for pair, clauses, tokens in ((FARMER, 1, 7), (LONGER, 2, 13)):
        wanted = (clauses * clause + math.log(2)) / tokens
        assert words.least_loss([pair]) == pytest.approx(wanted)


def test_a_table_of_word_pairs_is_their_conditional_frequency():
    cats = translate_by_rule("the cat sees the dog")
    loss = words.loss_by_last_word([cats], [cats])
    assert loss == pytest.approx(2 * math.log(2) / 6)  # only "the" has two successors
