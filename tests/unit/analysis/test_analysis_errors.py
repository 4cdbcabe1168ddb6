"""What the room of analysis refuses, and the key words of what it says then."""

import re

import pytest
import torch
from torch import nn

from attnbook.analysis import LinearProbe, fit_probe, influence, probe_accuracy
from attnbook.analysis.head_ablation import without_heads
from attnbook.analysis.word_maps import word_weights
from attnbook.nn.multi_head import MultiHeadAttention

x, ids = torch.zeros(2, 3, 4), torch.zeros(2, 3, dtype=torch.int64)
PROBE = LinearProbe(torch.zeros(3, 2), torch.zeros(2), torch.arange(2))
TWO_OF_EACH = torch.tensor([0, 0, 1, 1])


class Keeper:
    """A model with a memory: it adds what it was given before."""

    memory = 0.0

    def __call__(self, x):
        self.memory = self.memory + x
        return self.memory


def without(head):
    with without_heads(MultiHeadAttention(12, 3), [head]):
        pass


TABLE = [
    (lambda: influence(torch.neg, ids), "torch.int64, so it holds ids; give `repl"),
    (lambda: influence(torch.neg, x, x[:1]), "shape (1, 3, 4), x (2, 3, 4)"),
    (lambda: influence(nn.Dropout(0.5), x + 1), "two different outputs"),
    (lambda: influence(Keeper(), x + 1), "two different outputs"),
    (lambda: influence(torch.log, x - 1), "two different outputs"),
    (lambda: without(3), "no head 3; this layer has the heads 0"),
    (lambda: without(-1), "no head -1; this layer has the heads 0"),
    (lambda: word_weights(x, ["a", "b"], ["c"]), "2 target and 1 source subwords"),
    (lambda: fit_probe(x[0], ids[0, :2]), "3 vectors"),
    (lambda: fit_probe(x[0], torch.arange(3)), "each of the 3 labels occurs once"),
    (lambda: fit_probe(x[0, :0], ids[0, :0]), "no vector"),
    (lambda: fit_probe(torch.zeros(4, 3), TWO_OF_EACH, 0.01), "it is 0.01"),
    (lambda: probe_accuracy(PROBE, torch.zeros(0, 3), torch.ones(0)), "no vector"),
]


@pytest.mark.parametrize(("call", "words"), TABLE)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
