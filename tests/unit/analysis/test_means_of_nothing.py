"""A mean of nothing is refused with a sentence."""

import pytest
import torch
from compare import make_bahdanau

from attnbook.analysis import (
    LinearProbe,
    fit_probe,
    probe_accuracy,
)
from attnbook.toy import exact_match
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy
from attnbook.toy.tasks import last_position_accuracy

AND = Pair(("and",), ("und",), (None,))  # a word that renders none
PROBE = LinearProbe(torch.zeros(3, 2), torch.zeros(2), torch.arange(2))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        *[
            (lambda n=n: alignment_accuracy(torch.zeros(n, 3, 3), [AND] * n), "no word")
            for n in (0, 1, 2)
        ],
        (lambda: exact_match(make_bahdanau(), []), "a batch of 0 sequences"),
        (lambda: last_position_accuracy(None, (torch.zeros(0, 4),) * 2), "no sequence"),
        (lambda: probe_accuracy(PROBE, torch.zeros(0, 3), torch.ones(0)), "no vector"),
        (lambda: fit_probe(torch.zeros(0, 3), torch.ones(0).long()), "no vector"),
    ],
)
def test_a_mean_of_nothing_is_refused(call, message):
    with pytest.raises(ValueError, match=f"{message}.*; "):
        call()


def test_equal_vectors_have_no_covariance():
    with pytest.raises(ValueError, match=r"can't be inverted; .* it is 0\.01"):
        fit_probe(torch.zeros(4, 3), torch.tensor([0, 0, 1, 1]), 0.01)
