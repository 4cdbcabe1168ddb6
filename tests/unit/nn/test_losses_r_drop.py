"""R-Drop's divergence: against a loop and PyTorch's."""

import torch
from compare import numbers, same, stacked
from hypothesis import given, settings
from hypothesis import strategies as st
from torch.distributions import Categorical, kl_divergence

from attnbook.core.vocabulary import PAD
from attnbook.nn.losses import ROWS, symmetric_kl


def by_loop(logits, targets):
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
def test_it_equals_a_loop_and_pytorchs(b, t, v, seed):
    (logits,) = numbers(seed, (2 * b, t, v))
    g = torch.Generator().manual_seed(seed)
    targets = torch.randint(3, (b, t), generator=g)
    ours = symmetric_kl(logits, targets)
    same(ours, by_loop(logits, targets), [logits])
    one, other = (Categorical(logits=x) for x in (logits[:b], logits[b:]))
    theirs = (kl_divergence(one, other) + kl_divergence(other, one)) / 2
    same(ours, theirs.masked_fill(targets == PAD, 0), [logits])


def test_two_equal_passes_agree():
    (logits,) = numbers(0, (2, 3, 5))
    assert symmetric_kl(logits.repeat(2, 1, 1), torch.ones(2, 3)).abs().max() < 1e-12


def test_groups_of_rows_change_nothing():
    (logits,) = numbers(0, (6, ROWS // 2, 3))
    targets = torch.ones(3, ROWS // 2, dtype=torch.long)
    sentences = logits.chunk(2)
    one_by_one = [
        symmetric_kl(torch.stack(pair), targets[:1])
        for pair in zip(*sentences, strict=True)
    ]
    same(symmetric_kl(logits, targets), torch.cat(one_by_one), [logits])
