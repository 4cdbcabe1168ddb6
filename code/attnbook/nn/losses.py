"""Losses: cross-entropy, label smoothing, and the divergence term of R-Drop."""

from __future__ import annotations

from collections.abc import Iterator

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import padding_mask


def check_targets(logits: Tensor, targets: Tensor) -> None:
    """Raise a ValueError unless there is one target for each distribution."""
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}, targets {tuple(targets.shape)}; "
            "they must agree in all axes but the last of the logits, as (B, T, V) "
            "and (B, T) do"
        )


def token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy: mean of -log p(target token), padding excluded.

    Equal to ``F.cross_entropy(..., ignore_index=PAD)``.

    Args:
        logits: (B, T, V), or with more axes before V.
        targets: Ids, (B, T), or the same axes without V.

    Returns:
        A scalar, in nats per token.

    Raises:
        ValueError: If the shapes do not agree.
    """
    check_targets(logits, targets)
    log_p = logits.log_softmax(-1)  # (B, T, V)
    of_targets = log_p.gather(-1, targets[..., None]).squeeze(-1)  # (B, T)
    return -of_targets[padding_mask(targets)].mean()


def label_smoothing_loss(
    logits: Tensor, targets: Tensor, smoothing: float = 0.1
) -> Tensor:
    r"""Cross-entropy of each token with smoothed labels: Szegedy et al. 2016, § 7.

    The target distribution gives 1 - ε to the target token y and spreads ε evenly over
    all V tokens: :math:`-(1 - ε) \log p_y - \frac{ε}{V} \sum_v \log p_v`. The sum over
    a batch divided by its number of tokens is
    ``F.cross_entropy(..., ignore_index=PAD, label_smoothing=ε)``.

    Args:
        logits: (B, T, V).
        targets: Ids, (B, T).
        smoothing: ε; Vaswani et al. 2017 use 0.1.

    Returns:
        (B, T), in nats; 0 at padding.

    Raises:
        ValueError: If ``smoothing`` is not from 0 to below 1, or the shapes do not
            agree.
    """
    check_targets(logits, targets)
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is {smoothing}; it must be from 0 to below 1")
    log_p = logits.log_softmax(-1)  # (B, T, V)
    of_targets = log_p.gather(-1, targets[..., None]).squeeze(-1)  # (B, T)
    loss = -(1 - smoothing) * of_targets - smoothing * log_p.mean(-1)
    return loss.masked_fill(~padding_mask(targets), 0.0)


ROWS = 64
"""Number of tokens whose logits a CPU takes at a time. With V = 8,000 these are 2 MB,
which a core keeps in its cache; a whole batch would come from memory, pass by pass."""


def _groups(*tensors: Tensor) -> Iterator[tuple[Tensor, ...]]:
    """Split tensors along their first axis on a CPU; a GPU takes all rows at once."""
    rows = ROWS if tensors[0].device.type == "cpu" else max(len(tensors[0]), 1)
    return zip(*(tensor.split(rows) for tensor in tensors), strict=True)


def fused_smoothing_loss(
    logits: Tensor, targets: Tensor, smoothing: float = 0.1
) -> Tensor:
    """Compute :func:`label_smoothing_loss` by PyTorch's function, for training.

    On a CPU it goes through the tokens in groups (:data:`ROWS`).

    Args:
        logits: (B, T, V).
        targets: Ids, (B, T).
        smoothing: ε, from 0 to below 1.

    Returns:
        (B, T), in nats; 0 at padding.

    Raises:
        ValueError: If the shapes do not agree.
    """
    check_targets(logits, targets)
    losses = [
        F.cross_entropy(
            rows, ids, ignore_index=PAD, label_smoothing=smoothing, reduction="none"
        )
        for rows, ids in _groups(logits.flatten(0, -2), targets.flatten())
    ]
    return torch.cat(losses).view_as(targets)


def symmetric_kl(logits: Tensor, targets: Tensor) -> Tensor:
    r"""Symmetric KL divergence of two predictions of each token, for R-Drop.

    :math:`\frac12 (KL(p_1 \Vert p_2) + KL(p_2 \Vert p_1))`: Liang et al. 2021,
    equation 2. It equals :math:`\frac12 \sum_v (p_{1v} - p_{2v})(z_{1v} - z_{2v})` with
    the logits :math:`z`: the constants between logits and log-probabilities cancel,
    since both distributions sum to 1.

    Args:
        logits: (2 B, T, V): the same batch twice, with two draws of dropout.
        targets: Ids, (B, T).

    Returns:
        (B, T), in nats; 0 at padding.

    Raises:
        ValueError: If the shapes do not agree.
    """
    check_targets(logits, targets.repeat(2, 1))
    first, second = logits.chunk(2)
    divergences = []
    for z_1, z_2 in _groups(first.flatten(0, -2), second.flatten(0, -2)):
        p_1, p_2 = z_1.softmax(-1), z_2.softmax(-1)  # fp32 under a GPU's autocast
        difference = z_1.to(p_1.dtype) - z_2.to(p_2.dtype)
        divergences.append(((p_1 - p_2) * difference).sum(-1) / 2)
    divergence = torch.cat(divergences).view_as(targets)
    return divergence.masked_fill(~padding_mask(targets), 0.0)
