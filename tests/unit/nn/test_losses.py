"""Label smoothing and R-Drop: against their formulas and PyTorch."""

import pytest
import torch
from compare import close, numbers, same, stacked
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Categorical, kl_divergence
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.nn.losses import (
    label_smoothing_loss,
    symmetric_kl,
    token_loss,
)


def targets_of(seed, b, t, v):
    """Ids, pads among them; the first is none."""
    targets = torch.randint(v, (b, t), generator=torch.Generator().manual_seed(seed))
    targets[0, 0] = 1
    return targets


def by_loop(logits, targets, smoothing):
    """Cross-entropy against a list of V probabilities, place after place."""
    b, t, v = logits.shape
    rows = []
    for i in range(b):
        row = []
        for j in range(t):
            p = logits[i, j].exp() / logits[i, j].exp().sum()
            labels = [smoothing / v] * v
            labels[targets[i, j]] += 1 - smoothing
            loss = -sum(q * p[word].log() for word, q in enumerate(labels))
            row.append(loss * (targets[i, j] != PAD))
        rows.append(row)
    return stacked([stacked(row) for row in rows])


@given(
    *[st.integers(1, 3)] * 2, st.integers(2, 5), st.floats(0, 0.9), st.integers(0, 99)
)
@settings(max_examples=25)
def test_it_equals_a_loop_and_cross_entropy(b, t, v, smoothing, seed):
    (logits,) = numbers(seed, (b, t, v))
    targets = targets_of(seed, b, t, v)
    ours = label_smoothing_loss(logits, targets, smoothing)
    tenth = label_smoothing_loss(logits, targets, 0.1)
    assert torch.equal(label_smoothing_loss(logits, targets), tenth)
    same(ours, by_loop(logits, targets, smoothing), [logits])
    theirs = F.cross_entropy(
        logits.flatten(0, 1),
        targets.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
    )
    same(ours.sum() / (targets != PAD).sum(), theirs, [logits])


def test_without_smoothing_it_is_the_plain_loss():
    (logits,) = numbers(0, (3, 5, 9))
    targets = targets_of(0, 3, 5, 9)
    ours = label_smoothing_loss(logits, targets, 0.0).sum() / (targets != PAD).sum()
    same(ours, token_loss(logits, targets), [logits])


# R-Drop


def divergence_by_loop(logits, targets):
    """Half of KL(p‖q) + KL(q‖p), place after place."""
    b, t = targets.shape
    rows = []
    for i in range(b):
        row = []
        for j in range(t):
            p, q = (x.exp() / x.exp().sum() for x in (logits[i, j], logits[b + i, j]))
            there = sum(p[w] * (p[w] / q[w]).log() for w in range(len(p)))
            back = sum(q[w] * (q[w] / p[w]).log() for w in range(len(p)))
            row.append((there + back) / 2 * (targets[i, j] != PAD))
        rows.append(stacked(row))
    return stacked(rows)


@given(*[st.integers(1, 4)] * 2, st.integers(2, 6), st.integers(0, 99))
@settings(max_examples=30)
def test_r_drop_equals_a_loop_and_pytorchs(b, t, v, seed):
    (logits,) = numbers(seed, (2 * b, t, v))
    g = torch.Generator().manual_seed(seed)
    targets = torch.randint(3, (b, t), generator=g)
    ours = symmetric_kl(logits, targets)
    same(ours, divergence_by_loop(logits, targets), [logits])
    one, other = (Categorical(logits=x) for x in (logits[:b], logits[b:]))
    theirs = (kl_divergence(one, other) + kl_divergence(other, one)) / 2
    same(ours, theirs.masked_fill(targets == PAD, 0), [logits])


# At the edge

LOSSES = [token_loss, label_smoothing_loss]
INF = float("inf")


def by_cross_entropy(logits, targets, smoothing):
    return F.cross_entropy(
        logits.flatten(0, -2),
        targets.flatten().long(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="none",
    ).view(targets.shape)


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
@pytest.mark.parametrize("target", [3, 2, PAD])
def test_an_impossible_token_costs_what_it_costs_in_pytorch(smoothing, target):
    """Nothing without smoothing, unless it is the target; and with it, everything."""
    logits = torch.tensor([[0.0, 1.0, -INF, 0.5]]).double().requires_grad_()
    targets = torch.tensor([target])
    both = label_smoothing_loss, by_cross_entropy
    found, wanted = (loss(logits, targets, smoothing) for loss in both)
    assert torch.equal(found.isinf(), wanted.isinf())
    close(found.nan_to_num(), wanted.nan_to_num())
    if wanted.isfinite():
        same(found, wanted, [logits])
        if target != PAD:
            close(token_loss(logits, targets), F.cross_entropy(logits, targets))


def test_r_drop_of_an_impossible_token():
    """In both predictions it adds nothing; in one alone it is infinitely far."""
    one, other = torch.tensor([[[[0.0, 1.0, -INF]]], [[[0.5, -1.0, -INF]]]]).double()
    logits = torch.cat([one, other]).requires_grad_()
    found = symmetric_kl(logits, torch.ones(1, 1).long())
    close(found, symmetric_kl(logits[..., :2], torch.ones(1, 1).long()))
    assert torch.autograd.grad(found.sum(), logits)[0].isfinite().all()
    alone = torch.cat([one, other.nan_to_num(neginf=0.0)])
    assert symmetric_kl(alone, torch.ones(1, 1).long()).item() == INF


@pytest.mark.parametrize("loss", [*LOSSES, symmetric_kl])
def test_ids_may_have_32_bits(loss):
    (logits,) = numbers(0, (4, 5, 9))
    targets = targets_of(0, 2 if loss is symmetric_kl else 4, 5, 9)
    same(loss(logits, targets.int()), loss(logits, targets), [logits])


def test_a_batch_of_padding_alone_is_as_in_pytorch():
    logits, nothing = torch.zeros(2, 3, 5), torch.full((2, 3), PAD)
    assert token_loss(logits, nothing).isnan()
    assert F.cross_entropy(logits.mT, nothing, ignore_index=PAD).isnan()
    assert torch.equal(label_smoothing_loss(logits, nothing), torch.zeros(2, 3))
    assert torch.equal(symmetric_kl(logits, nothing[:1]), torch.zeros(1, 3))
    assert label_smoothing_loss(logits[:0], nothing[:0]).shape == (0, 3)
