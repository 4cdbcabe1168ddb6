"""Beam search with a length penalty."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.steps import (
    check_decoder,
    row_limits,
    select_rows,
    token_log_probs,
)


class Hypotheses(NamedTuple):
    """The W best translations found for each of B sentences, the best first."""

    ids: Tensor  # (B, W, longest)  PAD after EOS; all PAD where none was found
    scores: Tensor  # (B, W)  log p over the length penalty; -inf where none was found


@torch.no_grad()
def beam_search(
    model: nn.Module,
    src: Tensor,
    max_len: Tensor | Sequence[int] | int,
    width: int = 4,
    alpha: float = 0.6,
) -> Hypotheses:
    r"""Extend the W best hypotheses at each step, and keep the W best finished ones.

    Finished translations y are ranked by :math:`\log p(y) / lp(|y|)`, see
    :func:`length_penalty`. The search of a sentence stops when none of its unfinished
    hypotheses can still beat its best finished one; the other results are those found
    by then. W = 4 and α = 0.6 are the choice of Vaswani et al. 2017, section 6.1.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``; see
            :func:`~attnbook.decoding.steps.select_rows` for what a state may be.
        src: Source ids, (B, S).
        max_len: Maximum length of the output, EOS included: one for all sentences, or
            one for each. A hypothesis of this length ends with EOS.
        width: Beam width W, the number of hypotheses.
        alpha: α of the length penalty.

    Returns:
        The finished hypotheses; no special token but EOS is generated.

    Raises:
        ValueError: If ``max_len`` or ``width`` is not a whole number from 1 on, or α
            not a number from 0 on, or logits are not finite.

    Examples:
        >>> from attnbook.decoding import beam_search
        >>> from attnbook.toy import SOURCE, TARGET, load_toy_model
        >>> src = torch.tensor([SOURCE.encode("the old farmer sees a bird".split())])
        >>> found = beam_search(load_toy_model("transformer"), src, max_len=20, width=2)
        >>> TARGET.decode(found.ids[0, 0])  # the best one
        ['maron', 'velin', 'ken', 'lipas', 'dos', 'mirat']
    """
    check_sizes(width=width)
    if not 0 <= alpha < math.inf:
        raise ValueError(f"alpha is {alpha}; a length penalty has a number from 0 on")
    check_decoder(model)
    start, limits = model.start(src), row_limits(max_len, len(src))
    b, device = len(src), src.device
    # Row i·W + j of the state belongs to hypothesis j of sentence i.
    first_row = width * torch.arange(b, device=device)[:, None]  # (B, 1)
    state = select_rows(start, torch.arange(b, device=device).repeat_interleave(width))
    unfinished, finished = _start(b, width, max(limits), device)
    largest = [length_penalty(limit, alpha) for limit in limits]
    done = torch.zeros(b, dtype=torch.bool, device=device)
    for length in range(1, max(limits) + 1):
        token = unfinished.ids[:, :, -1].flatten()  # (B·W,)
        logits, state = model.step(token, state)  # (B·W, V)
        log_p = token_log_probs(logits).unflatten(0, (b, width))  # (B, W, V)
        for i in [i for i, limit in enumerate(limits) if limit == length]:
            log_p[i, :, :EOS] = log_p[i, :, EOS + 1 :] = -torch.inf
        extended, parent = _extend(unfinished, log_p)
        ends = extended.ids[..., -1] == EOS  # (B, 2 W)
        scores = extended.scores / length_penalty(length, alpha)
        scores = scores.masked_fill(~ends | done[:, None], -torch.inf)
        finished = _merge(finished, extended.ids[:, :width], scores[:, :width])
        scores, best = extended.scores.masked_fill(ends, -torch.inf).topk(width)
        unfinished = Hypotheses(_pick(extended.ids, best), scores)
        # log p can only fall, and no penalty of a sentence is larger than its last one.
        done = scores[:, 0] / scores.new_tensor(largest) <= finished.scores[:, 0]
        if done.all():
            break
        state = select_rows(state, (first_row + parent.gather(1, best)).flatten())
    return finished


def length_penalty(length: int, alpha: float) -> float:
    r""":math:`lp = ((5 + |y|)/6)^\alpha`: Wu et al. 2016, equation 14.

    The log-probability falls with each token. So without a penalty (α = 0) short
    translations are preferred.

    Args:
        length: Number of tokens, EOS included.
        alpha: α.
    """
    return ((5 + length) / 6) ** alpha


def _start(
    b: int, width: int, max_len: int, device: torch.device
) -> tuple[Hypotheses, Hypotheses]:
    """W unfinished hypotheses of BOS alone, and no finished one yet."""
    scores = torch.full((b, width), -torch.inf, device=device)
    none = Hypotheses(torch.full((b, width, max_len), PAD, device=device), scores)
    only_one = scores.clone()
    only_one[:, 0] = 0.0  # the W hypotheses are equal: extend only one of them
    return Hypotheses(torch.full((b, width, 1), BOS, device=device), only_one), none


def _extend(unfinished: Hypotheses, log_p: Tensor) -> tuple[Hypotheses, Tensor]:
    """Find the 2 W best extensions; at most W end with EOS, so at least W do not.

    Args:
        unfinished: W hypotheses, with their log-probabilities as scores.
        log_p: Log-probabilities of the next token, (B, W, V).

    Returns:
        2 W hypotheses, and the index of the hypothesis that each extends, (B, 2 W).
    """
    _, width, v = log_p.shape
    scores, index = (unfinished.scores[..., None] + log_p).flatten(1).topk(2 * width)
    parent, token = index // v, index % v  # (B, 2 W)
    ids = torch.cat([_pick(unfinished.ids, parent), token[..., None]], dim=-1)
    return Hypotheses(ids, scores), parent


def _merge(finished: Hypotheses, new: Tensor, scores: Tensor) -> Hypotheses:
    """Add W finished hypotheses, (B, W, 1 + length) with BOS, and keep the W best."""
    ids = torch.full_like(finished.ids, PAD)
    ids[..., : new.shape[-1] - 1] = new[..., 1:]
    scores, index = torch.cat([finished.scores, scores], dim=1).topk(ids.shape[1])
    ids = _pick(torch.cat([finished.ids, ids], dim=1), index)
    return Hypotheses(ids.masked_fill(scores.isneginf()[..., None], PAD), scores)


def _pick(rows: Tensor, index: Tensor) -> Tensor:
    """Take of each sentence's rows, (B, N, L), those at index, (B, W): (B, W, L)."""
    return rows.gather(1, index[..., None].expand(-1, -1, rows.shape[-1]))
