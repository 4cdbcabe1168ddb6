"""What chapter 2's experiments measure, at small size."""

import pytest
import torch

from attnbook.models.bahdanau import Bahdanau
from attnbook.nn.losses import token_loss
from attnbook.toy.data import SOURCE, TARGET, make_batch
from attnbook.toy.language import translate_by_rule
from experiments import ch02

# Snapshots


def test_mean_at_the_aligned_words_by_hand():
    pair = translate_by_rule("a dog sees a cat")
    weights = torch.zeros(1, 6, 6)
    weights[0, range(5), pair.alignment] = torch.tensor([0.5, 0.1, 0.2, 0.3, 0.9])
    assert ch02.mean_at_aligned(weights, [pair]) == pytest.approx(0.4)


class Raised(Bahdanau):
    """One score can be raised by hand."""

    rise, place, at, steps = 0.0, 0, 0, 0

    def attend(self, s, source):
        scores = self.score(s[:, None], source.keys)[:, 0]
        if self.steps == self.at:
            scores = scores + self.rise * torch.eye(6).double()[self.place]
        self.steps += 1
        weights = scores.softmax(-1)
        return (weights[:, None] @ source.states)[:, 0], weights


def test_descent_is_how_much_the_loss_falls():
    pair = translate_by_rule("a dog sees a cat")
    torch.manual_seed(0)
    model = Raised(len(SOURCE), len(TARGET)).double()
    descent = ch02.score_descent(model, [pair])  # (1, 6, 6)
    assert descent.shape == (1, 6, 6)
    src, tgt_in, tgt_out = make_batch([pair])
    for model.at, model.place in ((0, 1), (3, 4), (5, 5)):
        losses = []
        for model.rise in (-1e-4, 1e-4):
            model.steps = 0
            losses.append(6 * token_loss(model(src, tgt_in), tgt_out).item())
        slope = (losses[0] - losses[1]) / 2e-4
        found = descent[0, model.at, model.place].item()
        assert found == pytest.approx(slope, abs=1e-8)
