"""Global and local attention: Luong et al. 2015, sections 3.1 and 3.2.

Each of the three alignments turns scores into weights; all have one interface::

    weights = alignment(scores, h, first_step, mask)   # (B, T, S)

where ``scores`` are (B, T, S), ``h`` the decoder states, (B, T, H), ``first_step`` the
index of the first of these T steps, and ``mask`` the padding mask of the source,
(B, S). Positions and steps are counted from 0.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.masks import check_mask, masked_softmax
from attnbook.nn.precision import wide


class GlobalAlignment(nn.Module):
    """Global attention over all source positions: equation 7."""

    def forward(
        self, scores: Tensor, h: Tensor, first_step: int, mask: Tensor
    ) -> Tensor:
        """Weights over the real tokens, (B, T, S); they sum to 1."""
        check_source_mask(mask, scores)
        return masked_softmax(scores, mask[:, None])


class MonotonicAlignment(nn.Module):
    """Monotonic local attention (local-m, §3.2): a window around p_t = t.

    If there is no token in the window, all weights are 0.

    Args:
        half_width: D; the window has 2D + 1 positions, fewer at the borders.
    """

    def __init__(self, half_width: int):
        super().__init__()
        check_sizes(0, half_width=half_width)
        self.half_width = half_width

    def forward(
        self, scores: Tensor, h: Tensor, first_step: int, mask: Tensor
    ) -> Tensor:
        """Weights over the real tokens in the window, (B, T, S); they sum to 1."""
        check_source_mask(mask, scores)
        steps = torch.arange(first_step, first_step + h.shape[1], device=h.device)
        centre = steps.expand(h.shape[:2])  # (B, T), int: bfloat16 has no 257
        return masked_softmax(scores, source_window(centre, mask, self.half_width))


class PredictiveAlignment(nn.Module):
    r"""Predictive local attention (local-p, §3.2): a window around a predicted p_t.

    Equations 9 and 10: :math:`p_t = S \sigma(v_p^\top \tanh(W_p h_t))`, and the softmax
    over the window is multiplied by a Gaussian around p_t. The product is not
    normalised again, so the weights sum to less than 1, unless sigma is infinite.

    Args:
        d_hidden: Width H of the decoder states.
        half_width: D; the window contains the positions within D of p_t.
        sigma: Standard deviation of the Gaussian, in positions; D/2 if not given.

    Raises:
        ValueError: If ``sigma`` is not positive.
    """

    def __init__(self, d_hidden: int, half_width: int, sigma: float | None = None):
        super().__init__()
        check_sizes(d_hidden=d_hidden)
        check_sizes(0, half_width=half_width)
        self.half_width = half_width
        self.sigma = half_width / 2 if sigma is None else sigma
        if not self.sigma > 0:
            raise ValueError(
                f"sigma is {self.sigma}; it must be positive: give one, or a "
                "half_width from 1 on, half of which is the default"
            )
        self.W = nn.Linear(d_hidden, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def centre(self, h: Tensor, mask: Tensor) -> Tensor:
        """Predict p_t from (B, T, H): (B, T), within the sentence, at least float32."""
        hidden = torch.tanh(self.W(h))
        fraction = torch.sigmoid(wide(self.v(hidden))).squeeze(-1)  # (B, T)
        length = mask.sum(-1, keepdim=True)  # S of each sentence, (B, 1)
        # S · sigmoid can exceed the last position, S - 1; rounding even makes it S.
        return torch.minimum(length * fraction, (length - 1).to(fraction.dtype))

    def forward(
        self, scores: Tensor, h: Tensor, first_step: int, mask: Tensor
    ) -> Tensor:
        """Weights over the real tokens in the window; they sum to at most 1."""
        check_source_mask(mask, scores)
        p = self.centre(h, mask)
        inside = source_window(p, mask, self.half_width)
        factor = gaussian(p, scores.shape[-1], self.sigma)  # (B, T, S)
        return (masked_softmax(wide(scores), inside) * factor).to(scores.dtype)


def distance_from_centre(centre: Tensor, source_len: int) -> Tensor:
    """Signed distance of each source position from p_t: (B, T) → (B, T, S).

    Args:
        centre: p_t, (B, T).
        source_len: S.
    """
    s = torch.arange(source_len, device=centre.device)
    return s - wide(centre)[..., None]


def source_window(centre: Tensor, mask: Tensor, half_width: int) -> Tensor:
    """Mask of the real tokens within ``half_width`` of the centre.

    Args:
        centre: p_t, (B, T).
        mask: Padding mask of the source, (B, S), bool.
        half_width: D.

    Returns:
        (B, T, S), bool.

    Raises:
        ValueError: If the mask is not bool or does not have B rows, or D is negative.
    """
    check_sizes(0, half_width=half_width)
    check_mask(mask, (len(centre), mask.shape[-1]))
    near = distance_from_centre(centre, mask.shape[-1]).abs() <= half_width  # (B, T, S)
    return near & mask[:, None]


def gaussian(centre: Tensor, source_len: int, sigma: float) -> Tensor:
    r"""The Gaussian factor :math:`\exp(-(s - p_t)^2 / 2\sigma^2)`: 1 at the centre.

    Args:
        centre: p_t, (B, T).
        source_len: S.
        sigma: Standard deviation, in positions; infinite gives 1 everywhere.

    Returns:
        (B, T, S).
    """
    d = distance_from_centre(centre, source_len)  # (B, T, S)
    return torch.exp(-d.square() / (2 * sigma * sigma))


def check_source_mask(mask: Tensor, scores: Tensor) -> None:
    """Raise a ValueError unless ``mask`` is (B, S) for scores (B, T, S)."""
    wanted = (len(scores), scores.shape[-1])
    if mask.shape != wanted:
        raise ValueError(
            f"the source's mask has shape {tuple(mask.shape)}; for scores of shape "
            f"{tuple(scores.shape)} it must be {wanted}: padding_mask(src) makes it"
        )


ALIGNMENTS = ("global", "local-m", "local-p")


def make_alignment(name: str, d_hidden: int, half_width: int | None) -> nn.Module:
    """Create an alignment by its name in Luong et al. 2015.

    Args:
        name: "global", "local-m" or "local-p".
        d_hidden: Width of the decoder states.
        half_width: D, for the local ones.

    Returns:
        The alignment.

    Raises:
        ValueError: If there is none of that name, a local one has no ``half_width``, or
            the global one has one.
    """
    if name not in ALIGNMENTS:
        raise ValueError(f"no alignment is named {name!r}; choose among {ALIGNMENTS}")
    if (name == "global") != (half_width is None):
        rule = "has no window" if name == "global" else "needs a window"
        raise ValueError(
            f"{name!r} attention {rule}, but half_width is {half_width}; give it for "
            "'local-m' and 'local-p', and for these only"
        )
    if name == "local-p":
        return PredictiveAlignment(d_hidden, half_width)
    return GlobalAlignment() if name == "global" else MonotonicAlignment(half_width)
