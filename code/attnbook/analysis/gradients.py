"""Gradients by the path on which they come back, and the first step they cause."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch
from torch import Tensor, nn

from attnbook.nn.multi_head import MultiHeadAttention, merge_heads
from attnbook.nn.precision import wide


def gradient_through_values(
    blocks: Iterable[MultiHeadAttention], x: Tensor, direction: Tensor
) -> float:
    """Norm of the input's gradient when the attention weights are held fixed.

    The gradient of x + attention(x) comes back through the skip connection, the values
    and the scores. Fixed weights cut the last of these paths.

    Args:
        blocks: Self-attentions, each connected as x + attention(x).
        x: The input of the first block, (B, T, D).
        direction: The gradient at the output of the last block, (B, T, D).

    Returns:
        The norm of the gradient of ``x``.
    """
    start = z = x.clone().requires_grad_()
    for block in blocks:
        with torch.no_grad():
            _, weights = block(z, z, z, need_weights=True)  # (B, H, T, T)
        _, values = block.keys_values(z, z)  # (B, H, T, d_k)
        z = z + block.W_O(merge_heads(weights @ values))  # (B, T, D)
    (found,) = torch.autograd.grad(z, start, direction)
    return wide(found).norm().item()


def first_adam_step(
    loss: Tensor, parameters: Sequence[nn.Parameter], learning_rate: float
) -> tuple[list[float], list[float]]:
    """Gradients of some parameters, and how far Adam's first step moves them.

    Adam divides each gradient by its size (Kingma and Ba 2015), so that the first step
    is about as large as the learning rate, however large the gradient. The parameters
    are changed in place.

    Args:
        loss: A scalar that depends on the parameters.
        parameters: Any of a model's.
        learning_rate: Of Adam.

    Returns:
        For each parameter the norm of its gradient, and the root mean square of the
        change of its entries.
    """
    old = [parameter.detach().clone() for parameter in parameters]
    adam = torch.optim.Adam(parameters, lr=learning_rate)
    loss.backward()
    adam.step()
    moved = [
        (wide(parameter) - wide(before)).square().mean().sqrt().item()
        for parameter, before in zip(parameters, old, strict=True)
    ]
    return [wide(parameter.grad).norm().item() for parameter in parameters], moved
