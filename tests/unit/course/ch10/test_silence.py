"""Silence: log p of nothing at all, next to that of what a beam finds."""

import torch
from torch import nn

from attnbook.core.vocabulary import BOS, EOS
from experiments import ch10_silence as silence


class Coin(nn.Module):
    """Ends with a probability of 0.4 at each step, whatever it reads; else token 4."""

    log_p = torch.tensor([1e-9, 1e-9, 0.4, 1e-9, 0.6]).log()

    def forward(self, src, tgt_in):
        return self.log_p.expand(*tgt_in.shape, -1)

    def start(self, src):
        return src

    def step(self, token, state):
        return self.log_p.expand(len(token), -1), state


def test_nothing_is_compared_with_the_most_probable_of_the_beam():
    src = torch.tensor([[4, EOS]])
    empty, best, ids = silence.compare(Coin(), src)
    assert torch.allclose(empty.exp(), torch.tensor([0.4]))
    assert ids[0, 0] == EOS
    assert torch.equal(empty, best)
    assert BOS not in ids


def test_lengths_are_counted():
    rows = [(3, True, False), (3, False, False), (9, True, True)]
    assert silence.by_length(rows) == [[3, 2, 1], [9, 1, 1]]
