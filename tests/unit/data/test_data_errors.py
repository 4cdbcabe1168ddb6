"""What the room of data refuses, and the key words of what it says then."""

import random
import re

import pytest

from attnbook.core.vocabulary import Vocabulary
from attnbook.data.batching import pad, padding_share, pooled, token_batches
from attnbook.data.bpe_from_scratch import count_pairs, learn_merges
from attnbook.data.multi30k import sentences
from attnbook.data.subwords import Subwords

VOCABULARY = Vocabulary(["bird"])
SUBWORDS = Subwords.train(["ein Mann", "ein Hut"], 40)
TABLE = [
    (lambda: VOCABULARY.encode([]), "no word to encode"),
    (lambda: VOCABULARY.encode(["dragon"]), "'dragon' is not among the 5 words"),
    (lambda: VOCABULARY.decode([5]), "id 5 is not in 0 … 4"),
    (lambda: VOCABULARY.decode([-1]), "id -1 is not in 0 … 4"),
    (lambda: Vocabulary(["a", "a"]), "'a' occurs twice"),
    (lambda: Vocabulary(["<pad>"]), "'<pad>' occurs twice"),
    (lambda: pad([]), "batch of 0"),
    (lambda: pad([[4], []]), "sequence 1 is empty"),
    (lambda: next(pooled([], 0, random.Random(0), 1)), "a whole number from 1 on"),
    (lambda: next(pooled([], 4, random.Random(0), 0)), "a whole number from 1 on"),
    (lambda: token_batches([], 0, random.Random(0)), "batch_tokens is 0; "),
    (lambda: padding_share([]), "there are no batches"),
    (lambda: count_pairs({"ab": ["a", "b"]}, {}), "'ab' has no count; "),
    (lambda: learn_merges({"ab": 2}, -1), "n_merges is -1; it must be 0 or more"),
    (lambda: SUBWORDS.decode([4, -1]), "id -1 is not in 0 … "),
    (lambda: SUBWORDS.decode([len(SUBWORDS)]), f"not in 0 … {len(SUBWORDS) - 1}"),
    (lambda: SUBWORDS.encode(""), "a sentence is empty"),
    (lambda: SUBWORDS.encode("\t\n"), "a sentence is empty"),
    (lambda: Subwords.train(["abcd"], 8), "the text already has 5 different"),
    (lambda: sentences("test", "de"), "no 'test'; choose among train, val, test_20"),
    (lambda: sentences("val", "cs"), "no 'cs'; choose among en, de, fr"),
]


@pytest.mark.parametrize(("call", "words"), TABLE)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
