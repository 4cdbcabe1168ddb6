"""What training makes small."""

from __future__ import annotations

from torch import Tensor

from attnbook.masks import padding_mask


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
