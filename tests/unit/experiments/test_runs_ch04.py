"""What chapter 4's experiments measure, at small size."""

import torch
from compare import close, double

from experiments import ch04


def test_a_look_up_reads_nothing_but_its_mean_of_values():
    model = double(ch04.LookUp, 8, ch04.ScaledRead(8, 0.3))
    asked, keys, values, _ = ch04.examples(3, torch.Generator().manual_seed(0))
    q, k = model.read.W_Q(model.key(asked)), model.read.W_K(model.key(keys))
    v = model.W_V(model.value(values))
    weights = (torch.einsum("bd,bsd->bs", q, k) * 0.3).softmax(-1)
    mean = torch.einsum("bs,bsd->bd", weights, v)
    close(model(asked, keys, values), model.out(mean))


def test_a_swapped_caption_has_its_adjective_behind_the_noun():
    text = "Two dogs and a black cat on the green grass."
    assert ch04.swapped(text) == "Two dogs and a cat black on the green grass."
    assert ch04.swapped("Old men and a dog.") is None
    words = ["two", "dogs", "and", "a", "cat", "black", "on", "the", "lawn", "<eos>"]
    assert ch04.SWAPPED["swapped: noun"](words) == [(5, 4)]
    assert ch04.SWAPPED["swapped: next"](words) == [(5, 6)]


def test_words_before_a_noun_are_counted_by_their_kind():
    words = ["a", "small", "white", "dog", "and", "the", "red", "lawnmower", "<eos>"]
    found = {name: rule(words) for name, rule in ch04.USUAL.items()}
    assert found["noun"] == [(2, 3)]
    assert (found["determiner"], found["no noun"]) == ([], [(6, 7)])
    assert found["next"] == [(i, i + 1) for i in range(7)]
