"""The feed-forward network with a gate: SwiGLU, Shazeer 2020."""

from __future__ import annotations

from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.checks import check_sizes


class SwiGLU(nn.Module):
    r"""Two hidden layers, one of which gates the other, at each position.

    :math:`(\mathrm{SiLU}(x W_{gate}) \odot x W_{up}) W_{down}`, without biases, with
    :math:`\mathrm{SiLU}(z) = z\,\sigma(z)`: Shazeer 2020, who calls it Swish.

    Args:
        d_model: Width D of what comes in and goes out.
        d_hidden: Width of both hidden layers. Two thirds of the width of a network
            without gate give about as many parameters: three matrices instead of two.
    """

    def __init__(self, d_model: int, d_hidden: int):
        super().__init__()
        check_sizes(d_model=d_model, d_hidden=d_hidden)
        self.W_gate = nn.Linear(d_model, d_hidden, bias=False)
        self.W_up = nn.Linear(d_model, d_hidden, bias=False)
        self.W_down = nn.Linear(d_hidden, d_model, bias=False)
        for linear in (self.W_gate, self.W_up, self.W_down):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        return self.W_down(F.silu(self.W_gate(x)) * self.W_up(x))
