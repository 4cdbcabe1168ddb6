"""Losses: cross-entropy, label smoothing, and the divergence term of R-Drop."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import padding_mask


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
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}, targets {tuple(targets.shape)}; "
            "they must agree in all axes but the last of the logits, as (B, T, V) "
            "and (B, T) do"
        )
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
        ValueError: If ``smoothing`` is not from 0 to below 1.
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is {smoothing}; it must be from 0 to below 1")
    log_p = logits.log_softmax(-1)  # (B, T, V)
    of_targets = log_p.gather(-1, targets[..., None]).squeeze(-1)  # (B, T)
    loss = -(1 - smoothing) * of_targets - smoothing * log_p.mean(-1)
    return loss.masked_fill(~padding_mask(targets), 0.0)


def fused_smoothing_loss(
    logits: Tensor, targets: Tensor, smoothing: float = 0.1
) -> Tensor:
    """Compute :func:`label_smoothing_loss` by PyTorch's function, for training.

    With V = 8,000 it takes 0.6 of the time on a CPU, where the loss is a sixth of a
    training step of a small model.

    Args:
        logits: (B, T, V).
        targets: Ids, (B, T).
        smoothing: ε, from 0 to below 1.

    Returns:
        (B, T), in nats; 0 at padding.
    """
    return F.cross_entropy(
        logits.flatten(0, -2),  # (B T, V)
        targets.flatten(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="none",
    ).view_as(targets)


def symmetric_kl(logits: Tensor, targets: Tensor) -> Tensor:
    r"""Symmetric KL divergence of two predictions of each token, for R-Drop.

    :math:`\frac12 (KL(p_1 \Vert p_2) + KL(p_2 \Vert p_1))`: Liang et al. 2021,
    equation 2.

    Args:
        logits: (2 B, T, V): the same batch twice, with two draws of dropout.
        targets: Ids, (B, T).

    Returns:
        (B, T), in nats; 0 at padding.
    """
    log_p, log_q = logits.log_softmax(-1).chunk(2)
    both = F.kl_div(log_q, log_p, reduction="none", log_target=True)
    both = both + F.kl_div(log_p, log_q, reduction="none", log_target=True)
    return (both.sum(-1) / 2).masked_fill(~padding_mask(targets), 0.0)
