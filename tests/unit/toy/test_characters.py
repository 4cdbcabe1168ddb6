"""Text of the toy language by characters, and the least loss on it."""

import math
from itertools import islice

import pytest
import torch

from attnbook.toy.characters import (
    CHARACTERS,
    character_batches,
    character_texts,
    encode_characters,
    least_loss,
)
from attnbook.toy.language import is_sentence


def test_texts_are_lines_of_the_toy_language():
    for text in islice(character_texts(0, 300), 5):
        assert len(text) == 301
        assert text[0] == "\n"
        lines = text[1:].split("\n")
        assert all(is_sentence(line) for line in lines[:-1])
        assert all(line.count(" and ") <= 1 for line in lines)


def test_batches_predict_the_next_character():
    ids, targets = next(character_batches(3, 40, batch_size=5))
    assert ids.shape == targets.shape == (5, 40)
    assert torch.equal(ids[:, 1:], targets[:, :-1])
    texts = [*islice(character_texts(3, 40), 5)]
    decoded = ["".join(CHARACTERS.decode(row)) for row in ids.tolist()]
    assert decoded == [t[:-1] for t in texts]
    assert torch.equal(encode_characters(texts)[:, 1:], targets)
    assert ids.min() >= 4


def test_the_least_loss_of_a_sentence_is_minus_the_log_of_its_probability():
    """Two phrases of 252, a verb of 8; half of all sentences have one clause."""
    one = "\nthe old farmer sees a bird\n"
    two = "\nthe old farmer sees a bird and an old king helps this dog\n"
    clause = 2 * math.log(252) + math.log(8)
    assert sum(least_loss(one)) == pytest.approx(clause + math.log(2))
    assert sum(least_loss(two)) == pytest.approx(2 * clause + math.log(2))
    assert sum(least_loss(one + one[1:])) == pytest.approx(2 * sum(least_loss(one)))


def test_it_is_the_loss_of_probabilities_that_sum_to_one():
    text = "\nthe old farmer sees a bird and this"
    for end in range(1, len(text)):
        total = 0.0
        for character in CHARACTERS.words[4:]:
            try:
                total += math.exp(-least_loss(text[:end] + character)[-1])
            except ValueError:
                continue
        assert total == pytest.approx(1)


@pytest.mark.parametrize("text", ["\nold", "\nthe farmer sees a old", "\nthe farmer\n"])
def test_what_the_grammar_does_not_allow_is_refused(text):
    with pytest.raises(ValueError, match="no beginning of a text"):
        least_loss(text)


def test_a_length_of_zero_is_refused():
    with pytest.raises(ValueError, match="length is 0"):
        next(character_texts(0, 0))


def test_a_text_begins_with_the_end_of_a_line():
    with pytest.raises(ValueError, match="begins with 'X'"):
        least_loss("Xthe cat")
