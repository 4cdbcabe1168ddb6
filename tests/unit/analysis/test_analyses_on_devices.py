"""Metrics and analyses make nothing without naming a device, as a GPU needs.

In the test "meta" is the default, whose tensors fit to nothing of the CPU.
"""

import pytest
import torch

from attnbook.analysis.leaks import influence
from attnbook.analysis.maps import attention_maps, cross_weights
from attnbook.analysis.occlusion import (
    bahdanau_hiding_effects,
    replacing_effects,
)
from attnbook.analysis.probes import fit_probe
from attnbook.toy.data import held_out_pairs, make_batch
from attnbook.toy.metrics import attention_weights, correct_tokens
from attnbook.toy.models import load_toy_model

PAIRS = held_out_pairs(1, 3)


def encoded(model):
    """The states of each word of some sentences, and the words."""
    src = make_batch(PAIRS).src
    real = src != 0
    return model.encode(src)[real], src[real]


def maps(model):
    batch = make_batch(PAIRS)
    return [*attention_maps(model, batch.src, batch.tgt_in).values()]


def influences(model):
    src = make_batch(PAIRS).src
    return [influence(model.encode, src, src.flip(0))]


ANALYSES = [
    ("transformer", maps),
    ("transformer", lambda model: [cross_weights(model, PAIRS)]),
    ("transformer", lambda model: [fit_probe(*encoded(model)).weight]),
    ("transformer", influences),
    ("transformer", lambda model: correct_tokens(model, PAIRS)),
    ("bahdanau", lambda model: [attention_weights(model, PAIRS)]),
    ("bahdanau", lambda model: [bahdanau_hiding_effects(model, PAIRS[0])]),
    ("bahdanau", lambda model: [replacing_effects(model, PAIRS[0])]),
]


@pytest.mark.parametrize(("name", "analyse"), ANALYSES)
def test_an_analysis_stays_on_its_models_device(name, analyse):
    model = load_toy_model(name).double()
    wanted = analyse(model)
    with torch.device("meta"):
        found = analyse(model)
    for ours, theirs in zip(found, wanted, strict=True):
        torch.testing.assert_close(ours, theirs, equal_nan=True)
