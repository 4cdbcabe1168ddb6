"""How far must one look? Global and local attention, after Luong et al. 2015.

Each of the three turns scores into weights, by one interface:

    weights = alignment(scores, h, first, mask)   # (B, T, S)

where ``scores`` are (B, T, S), ``h`` the decoder's states (B, T, H), ``first`` the
number of the first of these T steps, and ``mask`` the source's padding mask, (B, S).
Places and steps are counted from 0.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.masks import check_mask, masked_softmax


class GlobalAlignment(nn.Module):
    """Every source word may be used: equation 7."""

    def forward(self, scores: Tensor, h: Tensor, first: int, mask: Tensor) -> Tensor:
        """Weights over the real places; they sum to 1."""
        check_source_mask(mask, scores)
        return masked_softmax(scores, mask[:, None])


class MonotonicAlignment(nn.Module):
    """Only the words within D places of p_t = t may be used (*monotonic*, §3.2).

    Where the window holds no word at all, all weights are 0.

    Args:
        half_width: D; the window is 2D + 1 places wide, less at the borders.
    """

    def __init__(self, half_width: int):
        super().__init__()
        check_half_width(half_width)
        self.half_width = half_width

    def forward(self, scores: Tensor, h: Tensor, first: int, mask: Tensor) -> Tensor:
        """Weights over the real places in the window; they sum to 1."""
        check_source_mask(mask, scores)
        steps = torch.arange(first, first + h.shape[1], device=h.device)
        centre = steps.expand(h.shape[:2])  # (B, T), int: bfloat16 has no 257
        return masked_softmax(scores, window(centre, mask, self.half_width))


class PredictiveAlignment(nn.Module):
    r"""Only the words within D places of a *predicted* p_t, the nearer the more (§3.2).

    Equations 9 and 10: :math:`p_t = S \sigma(v_p^\top \tanh(W_p h_t))`, and the softmax
    over the window is multiplied by a Gaussian around p_t. The product is not divided
    by its sum, so the weights sum to less than 1, unless sigma is infinite.

    Args:
        d_hidden: Width H of the decoder's states.
        half_width: D; the window holds the places within D of p_t.
        sigma: Standard deviation of the Gaussian, in places; D/2 if not given.

    Raises:
        ValueError: If ``sigma`` is not positive.
    """

    def __init__(self, d_hidden: int, half_width: int, sigma: float | None = None):
        super().__init__()
        check_sizes(d_hidden=d_hidden)
        check_half_width(half_width)
        self.half_width = half_width
        self.sigma = half_width / 2 if sigma is None else sigma
        if not self.sigma > 0:
            raise ValueError(
                f"sigma is {self.sigma}; it must be positive: give one, or a "
                "half_width from 1 on, half of which it is by default"
            )
        self.W = nn.Linear(d_hidden, d_hidden, bias=False)
        self.v = nn.Linear(d_hidden, 1, bias=False)

    def centre(self, h: Tensor, mask: Tensor) -> Tensor:
        """Predict p_t from (B, T, H): (B, T), within the sentence."""
        share = torch.sigmoid(self.v(torch.tanh(self.W(h)))).squeeze(-1)  # (B, T)
        length = mask.sum(-1, keepdim=True)  # S of each sentence, (B, 1)
        # S · sigmoid can lie behind the last place, S - 1; rounding even makes it S.
        return torch.minimum(length * share, (length - 1).to(share.dtype))

    def forward(self, scores: Tensor, h: Tensor, first: int, mask: Tensor) -> Tensor:
        """Weights over the real places in the window; they sum to at most 1."""
        check_source_mask(mask, scores)
        p = self.centre(h, mask)
        inside = window(p, mask, self.half_width)
        return masked_softmax(scores, inside) * gaussian(
            p, scores.shape[-1], self.sigma
        )


def distance(centre: Tensor, places: int) -> Tensor:
    """How far each place lies from each centre: (B, T) → (B, T, S), signed."""
    s = torch.arange(places, device=centre.device)
    return s - centre[..., None]


def window(centre: Tensor, mask: Tensor, half_width: int) -> Tensor:
    """Mark the real places within ``half_width`` of a centre.

    Args:
        centre: p_t, (B, T).
        mask: Real places, (B, S), bool.
        half_width: D.

    Returns:
        (B, T, S), bool.

    Raises:
        ValueError: If the mask is not bool or not of B rows, or D is negative.
    """
    check_half_width(half_width)
    check_mask(mask, (len(centre), mask.shape[-1]))
    near = distance(centre, mask.shape[-1]).abs() <= half_width  # (B, T, S)
    return near & mask[:, None]


def gaussian(centre: Tensor, places: int, sigma: float) -> Tensor:
    r"""The factor :math:`\exp(-(s - p_t)^2 / 2\sigma^2)`: 1 at the centre.

    Args:
        centre: p_t, (B, T).
        places: S.
        sigma: Standard deviation, in places; infinite gives 1 everywhere.

    Returns:
        (B, T, S).
    """
    return torch.exp(-distance(centre, places).square() / (2 * sigma**2))


def check_source_mask(mask: Tensor, scores: Tensor) -> None:
    """Raise a ValueError unless ``mask`` is (B, S) for scores (B, T, S)."""
    wanted = (len(scores), scores.shape[-1])
    if mask.shape != wanted:
        raise ValueError(
            f"the source's mask has shape {tuple(mask.shape)}; for scores of shape "
            f"{tuple(scores.shape)} it must be {wanted}: padding_mask(src) makes it"
        )


def check_half_width(half_width: int) -> None:
    """Raise a ValueError unless ``half_width`` is a whole number from 0 on."""
    if not isinstance(half_width, int) or half_width < 0:
        raise ValueError(
            f"half_width is {half_width!r}; it must be a whole number from 0 on: the "
            "places to either side that may be used"
        )


ALIGNMENTS = ("global", "local-m", "local-p")


def make_alignment(name: str, d_hidden: int, half_width: int | None) -> nn.Module:
    """Make an alignment by its name in Luong et al. 2015.

    Args:
        name: "global", "local-m" or "local-p".
        d_hidden: Width of the decoder's states.
        half_width: D, for the local forms.

    Returns:
        The alignment.

    Raises:
        ValueError: If there is none of that name, a local one is given no
            ``half_width``, or the global one is given one.
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
