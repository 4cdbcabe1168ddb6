"""A mixture of experts with a top-k router: Shazeer et al. 2017."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.precision import wide


class MixtureOfExperts(nn.Module):
    r"""Several networks, of which each position uses the k that the router rates best.

    :math:`\sum_e w_e\, E_e(x)` over the k experts with the largest components of
    :math:`x W_r`, whose softmax gives the weights :math:`w_e`: Shazeer et al. 2017, but
    without their noise, as in Jiang et al. 2024. No loss balances the experts.

    Args:
        d_model: Width D of what comes in and goes out.
        experts: E networks that map (..., D) to (..., D), such as
            :class:`~attnbook.nn.gated_feed_forward.SwiGLU`.
        top_k: How many of them each position uses.

    Raises:
        ValueError: If there are fewer experts than ``top_k``, or a size is below 1.
    """

    def __init__(self, d_model: int, experts: Sequence[nn.Module], top_k: int = 2):
        super().__init__()
        check_sizes(d_model=d_model, top_k=top_k)
        if top_k > len(experts):
            raise ValueError(
                f"top_k is {top_k}, but there are {len(experts)} experts; give more, "
                "or let each position use fewer"
            )
        self.experts, self.top_k = nn.ModuleList(experts), top_k
        self.router = nn.Linear(d_model, len(experts), bias=False)
        nn.init.xavier_uniform_(self.router.weight)

    def route(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """Choose k experts for each position, (..., D).

        Returns:
            Their weights, (..., k), which sum to 1, and their numbers, (..., k).
        """
        best, chosen = self.router(x).topk(self.top_k, -1)  # (..., k) each
        return wide(best).softmax(-1), chosen

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        rows = x.reshape(-1, x.shape[-1])  # (N, D)
        weights, chosen = self.route(rows)  # (N, k) each
        out = torch.zeros_like(wide(rows))
        for number, expert in enumerate(self.experts):
            row, rank = (chosen == number).nonzero(as_tuple=True)
            found = weights[row, rank, None] * expert(rows[row])  # (its positions, D)
            out = out.index_add(0, row, found.to(out.dtype))  # autocast narrows it
        return out.view_as(x).to(x.dtype)
