"""The page of silent bugs: each bug in its place, and the checks that find it."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis import bug_zoo
from attnbook.analysis.model_checks import (
    Check,
    check_attention,
    check_loss,
    check_model,
    check_norm,
)
from attnbook.core.vocabulary import PAD
from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.scaled_dot_product import attention

V = 20


def build(kind: type[Transformer] = Transformer) -> Transformer:
    """A small Transformer, untrained."""
    torch.manual_seed(0)
    sizes = {"d_model": 16, "n_heads": 4, "n_layers": 2, "d_ff": 32}
    return kind(TransformerConfig(V, V, norm_first=True, **sizes))


def with_attention(kind: type) -> nn.Module:
    """The Transformer with another attention."""
    model = build()
    bug_zoo.replace_attention(model, kind)
    return model


def without_counting() -> nn.Module:
    """The Transformer with each token of a cached decoder at position 0."""
    model = build()
    model.positions = bug_zoo.Uncounted(model.config.d_model)
    return model


def infinite(q: Tensor, k: Tensor, v: Tensor, mask: Tensor) -> Tensor:
    """Attention whose fully masked rows are NaN."""
    scores = q @ k.mT / q.shape[-1] ** 0.5
    return scores.masked_fill(~mask, float("-inf")).softmax(-1) @ v


def of_one(x: Tensor) -> Tensor:
    """A norm by the unbiased standard deviation."""
    return (x - x.mean(-1, keepdim=True)) / (x.std(-1, keepdim=True) + 1e-6)


def flat(logits: Tensor, targets: Tensor, **settings: int) -> Tensor:
    """Cross-entropy of (B, T, V) and (B, T)."""
    return F.cross_entropy(logits.flatten(0, 1), targets.flatten(), **settings)


BUGS: dict[str, Callable[[], list[Check]]] = {
    "heads split by view": lambda: check_model(with_attention(bug_zoo.WrongSplit), V),
    "scores divided by √(d_k/H)": lambda: check_attention(
        lambda *inputs: attention(*inputs, scale=(inputs[0].shape[-1] / 2) ** -0.5)
    ),
    "masks in the order of the heads": lambda: check_model(
        with_attention(bug_zoo.RepeatedMask), V
    ),
    "padding isn't masked": lambda: check_model(with_attention(bug_zoo.Unmasked), V),
    "causal mask only in training": lambda: check_model(
        build(bug_zoo.CausalInTraining), V
    ),
    "a fully masked row is NaN": lambda: check_attention(infinite),
    "the variance divides by D − 1": lambda: check_norm(of_one),
    "softmax inside the model": lambda: check_model(bug_zoo.SoftmaxInside(build()), V),
    "the loss counts padding": lambda: check_loss(flat),
    "a softmax before the loss": lambda: check_loss(
        lambda logits, targets: flat(logits.softmax(-1), targets, ignore_index=PAD)
    ),
    "each token at position 0": lambda: check_model(without_counting(), V),
    "one cache for all hypotheses": lambda: check_model(build(bug_zoo.OneCache), V),
}
"""Each bug, with the checks of what has it."""


def found_table() -> Table:
    """Which check finds which bug."""
    rows = []
    for name, checks in BUGS.items():
        failed = [check.should for check in checks() if not check.holds]
        rows.append((name, len(failed), failed[0]))
    return table(["bug", Column("checks failed", digits=0), "such as"], rows)
