"""Losses: cross-entropy, plain and with label smoothing."""

from __future__ import annotations

import torch
import torch.nn.functional as F
from torch import Tensor

from attnbook.core.checks import ID_TYPES, check_shares, ids_beyond
from attnbook.core.vocabulary import PAD
from attnbook.nn.attention_checks import check_tensors
from attnbook.nn.masks import padding_mask
from attnbook.nn.precision import wide


def check_targets(logits: Tensor, targets: Tensor) -> None:
    """Raise a ValueError unless there is one target id for each distribution."""
    check_tensors(logits=logits, targets=targets)
    if not logits.is_floating_point():
        raise ValueError(
            f"logits are of type {logits.dtype}; they must be floating-point numbers, "
            "one for each token of the vocabulary: is it ids that were given?"
        )
    if targets.dtype not in ID_TYPES:
        raise ValueError(
            f"targets are of type {targets.dtype}; they must be integer ids of 64 or "
            "32 bits: targets.long() makes them"
        )
    if logits.shape[:-1] != targets.shape:
        raise ValueError(
            f"logits have shape {tuple(logits.shape)}, targets {tuple(targets.shape)}; "
            "they must agree in all axes but the last of the logits, as (B, T, V) "
            "and (B, T) do"
        )


def check_target_ids(logits: Tensor, targets: Tensor) -> None:
    """Raise a ValueError unless each target is the id of a token, too.

    Ids on a GPU are not looked at, since it would have to be waited for.
    """
    check_targets(logits, targets)
    if targets.device.type == "cpu" and not torch.compiler.is_compiling():
        size = logits.shape[-1]
        if (wrong := ids_beyond(targets, size)).numel():
            raise ValueError(
                f"target id {wrong[0].item()} is not in 0 … {size - 1}, the tokens of "
                f"these logits; what is not to count is padding, id {PAD}: "
                f"targets.masked_fill(targets < 0, {PAD})"
            )


def token_loss(logits: Tensor, targets: Tensor) -> Tensor:
    """Cross-entropy: mean of -log p(target token), padding excluded.

    Equal to ``F.cross_entropy(..., ignore_index=PAD)``, also where all targets are
    padding: the mean over no token is NaN.

    Args:
        logits: (B, T, V), or with more axes before V.
        targets: Ids, (B, T), or the same axes without V.

    Returns:
        A scalar, in nats per token, at least float32.

    Raises:
        ValueError: If the shapes do not agree, or a target is no token's id.

    Examples:
        >>> logits = torch.zeros(1, 3, 4)  # four tokens, equally probable
        >>> token_loss(logits, torch.tensor([[3, 2, 0]]))  # ln 4; the 0 is padding
        tensor(1.3863)
    """
    check_target_ids(logits, targets)
    log_p = wide(logits).log_softmax(-1)  # (B, T, V)
    of_targets = log_p.gather(-1, targets.long()[..., None]).squeeze(-1)  # (B, T)
    return -of_targets[padding_mask(targets)].mean()


def label_smoothing_loss(
    logits: Tensor, targets: Tensor, smoothing: float = 0.1
) -> Tensor:
    r"""Cross-entropy of each token with smoothed labels: Szegedy et al. 2016, § 7.

    The target distribution gives 1 - ε to the target token y and spreads ε evenly over
    all V tokens: :math:`-(1 - ε) \log p_y - \frac{ε}{V} \sum_v \log p_v`.

    Args:
        logits: (B, T, V).
        targets: Ids, (B, T).
        smoothing: ε; Vaswani et al. 2017 use 0.1.

    Returns:
        (B, T), in nats, at least float32; 0 at padding.

    Raises:
        ValueError: If ``smoothing`` is not from 0 to below 1, the shapes do not agree,
            or a target is no token's id.

    Examples:
        >>> logits = torch.zeros(1, 3, 4)
        >>> label_smoothing_loss(logits, torch.tensor([[3, 2, 0]]), smoothing=0.1)
        tensor([[1.3863, 1.3863, 0.0000]])
    """
    check_target_ids(logits, targets)
    check_shares(smoothing=smoothing)
    return F.cross_entropy(
        wide(logits).reshape(-1, logits.shape[-1]),
        targets.reshape(-1).long(),
        ignore_index=PAD,
        label_smoothing=smoothing,
        reduction="none",
    ).view_as(targets)
