"""What all ways to decode refuse, and the key words of what they say then."""

import math
import re

import pytest
import torch
from compare import DECODERS, decoder_of, make_transformer, sentences

from attnbook.core.vocabulary import BOS
from attnbook.decoding import beam_search, greedy, log_probability, sample

SRC = sentences(0, [6, 4, 1, 3], 12)
model = make_transformer(12, d_model=8, n_heads=2, n_layers=1, d_ff=12)
g, linear = torch.Generator(), torch.nn.Linear(2, 2)
WAYS = {
    "greedy": lambda model, src, n=3: greedy(model, src, n),
    "beam": lambda model, src, n=3: beam_search(model, src, n),
    "sample": lambda model, src, n=3: sample(model, src, n, g),
}
TABLE = [
    (lambda: beam_search(model, SRC, 5, 0), "width is 0"),
    (lambda: beam_search(model, SRC, 5, 2, -0.1), "alpha is -0.1"),
    (lambda: beam_search(model, SRC, 5, 2, math.nan), "alpha is nan"),
    (lambda: beam_search(model, SRC, 5, 2, math.inf), "alpha is inf"),
    (lambda: sample(model, SRC, 5, g, 0.0), "temperature is 0.0"),
    (lambda: sample(model, SRC, 5, g, 1e-50), "temperature is 1e-50"),
    (lambda: sample(model, SRC, 5, g, top_k=0), "top_k is 0"),
    (lambda: sample(model, SRC, 5, g, top_p=0), "top_p is 0"),
    (lambda: sample(model, SRC, 5, g, top_p=1.5), "top_p is 1.5"),
    (lambda: log_probability(model, 0 * SRC, SRC), "source sentence 0 has no word"),
    (
        lambda: log_probability(model, SRC, SRC.flip(1)),
        "output: sentence 1 has padding",
    ),
    (lambda: log_probability(model, SRC, SRC.tolist()), "output is a list"),
    (lambda: log_probability(linear, SRC, SRC), "Linear has no `start` and `step`"),
]


@pytest.mark.parametrize(("call", "words"), TABLE)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()


@pytest.mark.parametrize("way", WAYS.values(), ids=WAYS)
def test_each_way_looks_at_its_model_and_limits(way):
    for given, words in (
        (0, "max_len is 0"),
        (2.5, "max_len is 2.5"),
        ([2, 3], "max_len has 2 numbers for 4 sentences"),
        (torch.ones(4), "max_len is 1.0"),
    ):
        with pytest.raises(ValueError, match=re.escape(words)):
            way(model, SRC, given)
    with pytest.raises(ValueError, match="a Linear has no `start` and `step`"):
        way(linear, SRC)


@pytest.mark.parametrize("name", DECODERS)
def test_every_model_looks_at_what_comes_in(name):
    model = decoder_of(name)
    for src, words in (
        (SRC + 9, r"id \d+ is not in 0 … 11, .*; encode with"),
        (-SRC, r"id -\d+ is not in 0 … 11"),
        (0 * SRC, "sentence 0 has no word, only padding; leave it out"),
        (SRC.flip(1), "sentence 1 has padding before its last token; .* on the right"),
        (SRC.double(), "torch.float64"),
        (SRC.short(), r"torch.int16; .* 32 bits: .* ids.long\(\) of other integers"),
        (SRC[0], r"src has shape \(6,\)"),
        (SRC.tolist(), "src is a list"),
    ):
        with pytest.raises(ValueError, match=words):
            greedy(model, src, 3)
    for rows in (3, 5):
        token = torch.full((rows,), BOS)
        with pytest.raises(ValueError, match=f"{rows} tokens for a state of 4"):
            model.step(token, model.start(SRC))
