"""Decoding that keeps several translations in mind: beam search."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.decoding import check_max_len, state_rows, words_log_p
from attnbook.vocabulary import BOS, EOS, PAD


class Translations(NamedTuple):
    """The W best translations found of each of B sentences, the best first."""

    ids: Tensor  # (B, W, max_len)  PAD after EOS
    scores: Tensor  # (B, W)  log p over the length penalty; -inf where none was found


@torch.no_grad()
def beam_search(
    model: nn.Module, src: Tensor, max_len: int, width: int = 4, alpha: float = 0.6
) -> Translations:
    r"""Follow the W most probable beginnings at once, and keep what ends best.

    Translations y are ranked by :math:`\log p(y) / lp(|y|)`, see
    :func:`length_penalty`. A sentence is done when none of its beginnings can overtake
    the best translation that it has. W = 4 and α = 0.6 are the choice of Vaswani et
    al. 2017, section 6.1.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``; see
            :func:`~attnbook.decoding.state_rows` for what a state may be.
        src: Source ids, (B, S).
        max_len: Longest output, EOS included: the last word can only be EOS.
        width: W, the number of beginnings.
        alpha: α of the length penalty.

    Returns:
        The translations; ``PAD`` and ``BOS`` are never said.

    Raises:
        ValueError: If ``max_len`` or ``width`` is less than 1, or α negative.
    """
    check_max_len(max_len)
    if width < 1:
        raise ValueError(f"width is {width}; a beam follows at least 1 beginning")
    if alpha < 0:
        raise ValueError(f"alpha is {alpha}; a length penalty has 0 or more")
    b, device = len(src), src.device
    # Row i·W + j of token and state belongs to beginning j of sentence i.
    first_row = width * torch.arange(b, device=device)[:, None]  # (B, 1)
    state = state_rows(model.start(src), first_row.expand(b, width).flatten() // width)
    begun = torch.full((b, width, 1), BOS, device=device)  # (B, W, length), with BOS
    log_p = torch.full((b, width), -torch.inf, device=device)
    log_p[:, 0] = 0.0  # all beginnings are BOS: follow one of them
    best = Translations(
        torch.full((b, width, max_len), PAD, device=device),
        torch.full((b, width), -torch.inf, device=device),
    )
    for length in range(1, max_len + 1):
        logits, state = model.step(begun[:, :, -1].flatten(), state)  # (B·W, V)
        steps = words_log_p(logits).unflatten(0, (b, width))  # (B, W, V)
        if length == max_len:
            steps[..., :EOS] = steps[..., EOS + 1 :] = -torch.inf
        # Of the best 2 W continuations at most W end, so that W can be followed.
        top, place = (log_p[..., None] + steps).flatten(1).topk(2 * width)  # (B, 2 W)
        parent, word = place // steps.shape[-1], place % steps.shape[-1]
        longer = torch.cat([_pick(begun, parent), word[..., None]], dim=-1)
        ends = word == EOS
        scores = top.masked_fill(~ends, -torch.inf) / length_penalty(length, alpha)
        best = _merge(best, longer[:, :width], scores[:, :width])
        log_p, live = top.masked_fill(ends, -torch.inf).topk(width)  # (B, W)
        begun, parent = _pick(longer, live), parent.gather(1, live)
        # log p can only fall, and no penalty is larger than that of max_len.
        if (log_p[:, 0] / length_penalty(max_len, alpha) <= best.scores[:, 0]).all():
            break
        state = state_rows(state, (first_row + parent).flatten())
    return best


def length_penalty(length: int, alpha: float) -> float:
    r""":math:`lp = ((5 + |y|)/6)^\alpha`: Wu et al. 2016, equation 14.

    Log-probabilities only fall with each word, so that without it, α = 0, short
    translations are preferred.

    Args:
        length: Number of words said, EOS included.
        alpha: α.
    """
    return ((5 + length) / 6) ** alpha


def _merge(best: Translations, ended: Tensor, scores: Tensor) -> Translations:
    """Add W translations, (B, W, 1 + length) with BOS, and keep the best W."""
    ids = torch.full_like(best.ids, PAD)
    ids[..., : ended.shape[-1] - 1] = ended[..., 1:]
    scores, place = torch.cat([best.scores, scores], dim=1).topk(ids.shape[1])
    return Translations(_pick(torch.cat([best.ids, ids], dim=1), place), scores)


def _pick(rows: Tensor, place: Tensor) -> Tensor:
    """Take for each sentence the rows of (B, N, L) that (B, W) names: (B, W, L)."""
    return rows.gather(1, place[..., None].expand(-1, -1, rows.shape[-1]))
