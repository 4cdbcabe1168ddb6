"""The training loop of all toy tasks: its updates, its batches, what it refuses."""

import math
from itertools import islice

import pytest
import torch
from torch import nn
from torch.nn import functional as F

from attnbook.core.divergence import DivergedError
from attnbook.models.seq2seq import InitialState
from attnbook.nn.losses import token_loss
from attnbook.toy.data import SOURCE, TARGET, toy_batches
from attnbook.toy.training import fit


def small_model(seed=0):
    torch.manual_seed(seed)
    return InitialState(len(SOURCE), len(TARGET), d_embed=16, d_hidden=16)


@pytest.mark.parametrize("warm_up", [1, 3])
def test_fit_follows_the_cosine_and_clips(warm_up):
    """Against a loop written out, with plain gradient descent's Adam and its rate."""
    batches = list(islice(toy_batches(0, clauses=(1,), batch_size=8), 5))
    model, other = small_model(), small_model()
    fit(model, batches, 5, 1e-2, clip=0.1, warm_up=warm_up)
    optimizer = torch.optim.Adam(other.parameters())
    for step, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * (1 + math.cos(math.pi * step / 5)) / 2
            group["lr"] *= min(1, (step + 1) / warm_up)
        loss = token_loss(other(batch.src, batch.tgt_in), batch.tgt_out)
        gradients = torch.autograd.grad(loss, list(other.parameters()))
        norm = sum(g.square().sum() for g in gradients).sqrt()
        for p, g in zip(other.parameters(), gradients, strict=True):
            p.grad = g * min(1.0, 0.1 / norm)
        optimizer.step()
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


class Adder(nn.Module):
    """Adds up what it is called with, and remembers it."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(5))
        self.calls, self.modes = [], []

    def forward(self, *inputs):
        self.calls.append(inputs)
        self.modes.append(self.training)
        return sum(inputs) + self.bias  # (2, 3, 5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fit_calls_the_model_with_all_but_the_last_of_a_batch(n):
    g = torch.Generator().manual_seed(0)
    batches = [
        (*torch.randn(n, 2, 3, 5, generator=g), torch.randint(1, 5, (2, 3)))
        for _ in range(3)
    ]
    model = Adder().eval()
    coming = iter([*batches, "the next"])
    losses = fit(model, coming, 3, 1e-2)
    assert [*coming] == ["the next"]
    for found, (*inputs, _) in zip(model.calls, batches, strict=True):
        assert len(found) == n
        assert all(a is b for a, b in zip(found, inputs, strict=True))
    assert model.modes == [True] * 3
    assert not model.training
    *inputs, targets = batches[0]
    theirs = F.cross_entropy(sum(inputs).flatten(0, 1), targets.flatten())
    assert losses[0] == pytest.approx(theirs.item(), abs=1e-5)


# Numbers that are no longer finite


class Exploding(nn.Module):
    """From a step on, its logits are NaN, or their gradient is alone."""

    def __init__(self, step, gradient=False):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(5))
        self.step, self.gradient, self.calls = step, gradient, 0

    def forward(self, x):
        self.calls += 1
        if self.calls < self.step:
            return x + self.bias
        if self.gradient:  # the root of 0 is 0, and its slope is infinite
            return x + (self.bias * 0).sqrt()
        return x + self.bias * math.nan


def zeros(steps):
    return [(torch.zeros(2, 3, 5), torch.ones(2, 3).long())] * steps


@pytest.mark.parametrize(("step", "steps"), [(1, 1), (2, 4), (4, 4)])
def test_fit_names_the_first_loss_that_is_not_finite(step, steps):
    with pytest.raises(DivergedError, match=rf"loss of update {step} is nan; lower"):
        fit(Exploding(step), zeros(steps), steps, 1e-2)


def test_fit_notices_what_the_last_update_has_spoiled():
    """The loss before it was finite, and so was every one that it returns."""
    with pytest.raises(DivergedError, match="last update left weights that are not"):
        fit(Exploding(1, gradient=True), zeros(1), 1, 1e-2)


@pytest.mark.parametrize(
    ("given", "message"),
    [
        ({"steps": 0}, "steps is 0"),
        ({"steps": 3}, "ran out after 2 of 3"),
        ({"warm_up": 0}, "warm_up is 0; it must be a whole number"),
        *(
            ({name: value}, rf"{name} is .*; it must be more than 0")
            for name in ("learning_rate", "clip")
            for value in (0, math.nan, -math.inf)
        ),
    ],
)
def test_fit_names_what_is_wrong(given, message):
    arguments = {"steps": 1, "learning_rate": 1e-2, **given}
    with pytest.raises(ValueError, match=message):
        fit(Adder(), zeros(2), **arguments)
