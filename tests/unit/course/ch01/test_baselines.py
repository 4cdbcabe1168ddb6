"""What is reached without the source: computed, against counting in sentences."""

import math
import random
from itertools import islice

import pytest

from attnbook.course.ch01.lab import loss_knowing
from attnbook.data.batching import pooled
from attnbook.toy.data import toy_pairs
from attnbook.toy.language import ADJECTIVES, NOUNS, VERBS


@pytest.mark.parametrize("known", [0, 1])
def test_loss_knowing_is_what_such_a_decoder_reaches(known):
    """Sentence by sentence, in batches of like length as training has them."""
    losses = []
    for group in pooled(islice(toy_pairs(0), 16_384), 64, random.Random(0)):
        nats = tokens = 0
        for pair in group:
            for clause in " ".join(pair.source).split(" and ")[known:]:
                for word in clause.split():
                    if word in NOUNS:
                        nats += math.log(12)
                    elif word in VERBS:
                        nats += math.log(8)
                    elif word in ADJECTIVES:
                        nats += math.log(7)
                    else:
                        nats += math.log(3)
                plain = sum(w in ADJECTIVES for w in clause.split())
                nats += (2 - plain) * math.log(7)  # no adjective is one of seven too
            nats += math.log(4)  # one of four numbers of clauses
            tokens += len(pair.target) + 1
        losses.append(nats / tokens)
    found = sum(losses) / len(losses)
    assert loss_knowing(known) == pytest.approx(found, abs=0.03)
