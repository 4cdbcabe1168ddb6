"""The losses, with and without label smoothing: against formula and PyTorch."""

import pytest
import torch
from compare import close, numbers, same, stacked
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.nn import functional as F

from attnbook.core.vocabulary import PAD
from attnbook.nn.losses import label_smoothing_loss, token_loss


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
    without = F.cross_entropy(logits.flatten(0, 1), targets.flatten(), ignore_index=PAD)
    same(token_loss(logits, targets), without, [logits])
    several = logits[:, None], targets[:, None]  # (B, 1, T, V): answers of a place
    same(token_loss(*several), without, [logits])


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


@pytest.mark.parametrize("loss", LOSSES)
def test_ids_may_have_32_bits(loss):
    (logits,) = numbers(0, (4, 5, 9))
    targets = targets_of(0, 4, 5, 9)
    same(loss(logits, targets.int()), loss(logits, targets), [logits])


def test_a_batch_of_padding_alone_is_as_in_pytorch():
    logits, nothing = torch.zeros(2, 3, 5), torch.full((2, 3), PAD)
    assert token_loss(logits, nothing).isnan()
    assert F.cross_entropy(logits.mT, nothing, ignore_index=PAD).isnan()
    assert torch.equal(label_smoothing_loss(logits, nothing), torch.zeros(2, 3))
    assert label_smoothing_loss(logits[:0], nothing[:0]).shape == (0, 3)
