"""What chapter 6's experiments measure, at small size."""

import json
import math
from itertools import product
from pathlib import Path

import pytest
import torch
from notebook_cells import run_cell

from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE, shifted_words
from attnbook.toy.language import PHRASE, VERBS, phrase_words, translate_by_rule
from experiments import ch06_next_word as words

PAGE = Path(__file__).resolve().parents[3] / "book" / "ch06_masks.ipynb"
FARMER = translate_by_rule("the old farmer sees a bird")
LONGER = translate_by_rule("the king helps a cat and the old dog sees the queen")


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
