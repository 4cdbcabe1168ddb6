"""What training makes small."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from attnbook.nn.masks import padding_mask


def token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Mean of -log p(right word), over the real target tokens; pads do not count.

    Equal to ``F.cross_entropy(..., ignore_index=PAD)``.

    Args:
        logits: (B, T, V), or with more axes between.
        targets: The same axes but the last: ids, (B, T).

    Returns:
        A scalar, in nats a token.

    Raises:
        ValueError: If the shapes do not belong together.
    """
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}, targets {tuple(targets.shape)}; "
            "they must agree in all axes but the last of the logits, as (B, T, V) "
            "and (B, T) do"
        )
    log_p = logits.log_softmax(-1)  # (B, T, V)
    right = log_p.gather(-1, targets[..., None]).squeeze(-1)  # (B, T)
    return -right[padding_mask(targets)].mean()


def label_smoothing_loss(
    logits: Tensor, targets: Tensor, smoothing: float = 0.1
) -> Tensor:
    r"""Loss of each target token against smoothed labels: Szegedy et al. 2016, § 7.

    The right word is given the probability 1 - ε, and all V words share ε evenly:
    :math:`-(1 - ε) \log p_{right} - \frac{ε}{V} \sum_v \log p_v`. The sum over a batch
    divided by its number of tokens is ``F.cross_entropy(..., ignore_index=PAD,
    label_smoothing=ε)``.

    Args:
        logits: (B, T, V).
        targets: Ids, (B, T).
        smoothing: ε; Vaswani et al. 2017 take 0.1.

    Returns:
        (B, T), in nats; 0 at pads.

    Raises:
        ValueError: If ``smoothing`` is not in 0 … 1, with 1 left out.
    """
    if not 0 <= smoothing < 1:
        raise ValueError(f"smoothing is {smoothing}; it must be from 0 to below 1")
    log_p = logits.log_softmax(-1)  # (B, T, V)
    right = log_p.gather(-1, targets[..., None]).squeeze(-1)  # (B, T)
    loss = -(1 - smoothing) * right - smoothing * log_p.mean(-1)
    return loss.masked_fill(~padding_mask(targets), 0.0)


def symmetric_kl(logits: Tensor, targets: Tensor) -> Tensor:
    r"""Divergence between two predictions of each token, half of it each way.

    :math:`\frac12 (KL(p_1 \Vert p_2) + KL(p_2 \Vert p_1))`: Liang et al. 2021,
    equation 2.

    Args:
        logits: (2 B, T, V): the batch with one draw of dropout, then with another.
        targets: Ids, (B, T).

    Returns:
        (B, T), in nats; 0 at pads.
    """
    log_p, log_q = logits.log_softmax(-1).chunk(2)
    both = F.kl_div(log_q, log_p, reduction="none", log_target=True)
    both = both + F.kl_div(log_p, log_q, reduction="none", log_target=True)
    return (both.sum(-1) / 2).masked_fill(~padding_mask(targets), 0.0)
