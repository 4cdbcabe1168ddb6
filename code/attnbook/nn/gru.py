"""One step of a gated recurrent unit, written from the formulas."""

from __future__ import annotations

import torch
from torch import Tensor, nn


def gru_step(
    x: Tensor, h: Tensor, gru: nn.GRU | nn.GRUCell, suffix: str = ""
) -> Tensor:
    r"""Read one input and update the hidden state.

    .. math::
        r &= \sigma(W_r x + b_r + U_r h + b'_r) \\
        z &= \sigma(W_z x + b_z + U_z h + b'_z) \\
        \tilde h &= \tanh(W_h x + b_h + r \circ (U_h h + b'_h)) \\
        h_{\text{new}} &= (1 - z) \circ \tilde h + z \circ h

    The equations are PyTorch's, where the reset gate r acts after the product with U_h.
    So it does in the first version of Cho et al. 2014 on arXiv (1406.1078v1); in the
    published version (equations 5 to 8), and in Bahdanau et al. 2015, it acts before:
    U_h (r ∘ h). Both papers omit the biases.

    Args:
        x: Input, (B, E).
        h: Hidden state, (B, H).
        gru: The module whose weights are used. It stacks the three W, U, b and b' in
            the order r, z, candidate.
        suffix: Which weights of an ``nn.GRU``: "_l0", or "_l0_reverse" for the
            right-to-left direction. An ``nn.GRUCell`` has one set only: "".

    Returns:
        The new hidden state, (B, H).
    """
    names = ("weight_ih", "weight_hh", "bias_ih", "bias_hh")  # W, U, b, b'
    w, u, b_x, b_h = (getattr(gru, name + suffix) for name in names)
    x_r, x_z, x_h = (x @ w.T + b_x).chunk(3, dim=-1)  # three times (B, H)
    h_r, h_z, h_h = (h @ u.T + b_h).chunk(3, dim=-1)
    r = torch.sigmoid(x_r + h_r)
    z = torch.sigmoid(x_z + h_z)
    candidate = torch.tanh(x_h + r * h_h)
    return (1 - z) * candidate + z * h
