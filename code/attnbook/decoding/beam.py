"""Decoding that keeps several translations in mind: beam search."""

from __future__ import annotations

import math
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.steps import select_rows, token_log_probs


class Hypotheses(NamedTuple):
    """The W best translations found of each of B sentences, the best first."""

    ids: Tensor  # (B, W, max_len)  PAD after EOS; all PAD where none was found
    scores: Tensor  # (B, W)  log p over the length penalty; -inf where none was found


@torch.no_grad()
def beam_search(
    model: nn.Module, src: Tensor, max_len: int, width: int = 4, alpha: float = 0.6
) -> Hypotheses:
    r"""Follow the W most probable beginnings at once, and keep what ends best.

    Translations y are ranked by :math:`\log p(y) / lp(|y|)`, see
    :func:`length_penalty`. A sentence is done when none of its beginnings can overtake
    the best translation that it has; the others are what was found by then. W = 4 and
    α = 0.6 are the choice of Vaswani et al. 2017, section 6.1.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``; see
            :func:`~attnbook.decoding.steps.select_rows` for what a state may be.
        src: Source ids, (B, S).
        max_len: Longest output, EOS included: the last word can only be EOS.
        width: W, the number of beginnings.
        alpha: α of the length penalty.

    Returns:
        The translations; ``PAD`` and ``BOS`` are never said.

    Raises:
        ValueError: If ``max_len`` or ``width`` is not a whole number from 1 on, or α
            not a number from 0 on.
    """
    check_sizes(max_len=max_len, width=width)
    if not 0 <= alpha < math.inf:
        raise ValueError(f"alpha is {alpha}; a length penalty has a number from 0 on")
    b, device = len(src), src.device
    # Row i·W + j of the state belongs to beginning j of sentence i.
    first_row = width * torch.arange(b, device=device)[:, None]  # (B, 1)
    state = select_rows(
        model.start(src), torch.arange(b, device=device).repeat_interleave(width)
    )
    begun, best = _first(b, width, max_len, device)
    done = torch.zeros(b, dtype=torch.bool, device=device)
    for length in range(1, max_len + 1):
        logits, state = model.step(begun.ids[:, :, -1].flatten(), state)  # (B·W, V)
        log_p = token_log_probs(logits).unflatten(0, (b, width))  # (B, W, V)
        if length == max_len:
            log_p[..., :EOS] = log_p[..., EOS + 1 :] = -torch.inf
        longer, parent = _continue(begun, log_p)
        ends = longer.ids[..., -1] == EOS  # (B, 2 W)
        scores = longer.scores / length_penalty(length, alpha)
        scores = scores.masked_fill(~ends | done[:, None], -torch.inf)
        best = _merge(best, longer.ids[:, :width], scores[:, :width])
        scores, live = longer.scores.masked_fill(ends, -torch.inf).topk(width)
        begun = Hypotheses(_pick(longer.ids, live), scores)
        # log p can only fall, and no penalty is larger than that of max_len.
        done = scores[:, 0] / length_penalty(max_len, alpha) <= best.scores[:, 0]
        if done.all():
            break
        state = select_rows(state, (first_row + parent.gather(1, live)).flatten())
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


def _first(
    b: int, width: int, max_len: int, device: torch.device
) -> tuple[Hypotheses, Hypotheses]:
    """Begin: W beginnings of nothing but BOS, and no translation yet."""
    scores = torch.full((b, width), -torch.inf, device=device)
    best = Hypotheses(torch.full((b, width, max_len), PAD, device=device), scores)
    only_one = scores.clone()
    only_one[:, 0] = 0.0  # all are alike: follow one of them
    return Hypotheses(torch.full((b, width, 1), BOS, device=device), only_one), best


def _continue(begun: Hypotheses, log_p: Tensor) -> tuple[Hypotheses, Tensor]:
    """Find the 2 W best ways to go on: at most W of them end, so that W can go on.

    Args:
        begun: W beginnings, and their log-probabilities for scores.
        log_p: Of each next word, (B, W, V).

    Returns:
        2 W beginnings, and which of the old ones each continues, (B, 2 W).
    """
    _, width, v = log_p.shape
    scores, place = (begun.scores[..., None] + log_p).flatten(1).topk(2 * width)
    parent, word = place // v, place % v  # (B, 2 W)
    ids = torch.cat([_pick(begun.ids, parent), word[..., None]], dim=-1)
    return Hypotheses(ids, scores), parent


def _merge(best: Hypotheses, ended: Tensor, scores: Tensor) -> Hypotheses:
    """Add W translations, (B, W, 1 + length) with BOS, and keep the best W."""
    ids = torch.full_like(best.ids, PAD)
    ids[..., : ended.shape[-1] - 1] = ended[..., 1:]
    scores, place = torch.cat([best.scores, scores], dim=1).topk(ids.shape[1])
    ids = _pick(torch.cat([best.ids, ids], dim=1), place)
    return Hypotheses(ids.masked_fill(scores.isneginf()[..., None], PAD), scores)


def _pick(rows: Tensor, place: Tensor) -> Tensor:
    """Take for each sentence the rows of (B, N, L) that (B, W) names: (B, W, L)."""
    return rows.gather(1, place[..., None].expand(-1, -1, rows.shape[-1]))
