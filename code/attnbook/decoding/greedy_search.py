"""Decoding token by token, and the greedy way: the most probable token at each step."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.decoding.steps import check_decoder, row_limits, token_log_probs


@torch.no_grad()
def generate(
    model: nn.Module,
    src: Tensor,
    max_len: Tensor | Sequence[int] | int,
    choose: Callable[[Tensor], Tensor],
) -> Tensor:
    """Choose a token, feed it back, and so on until EOS.

    Args:
        model: Has ``start(src) -> state`` and
            ``step(token, state) -> (logits, state)``.
        src: Source ids, (B, S).
        max_len: Maximum length of the output, EOS included: one for all sentences, or
            one for each.
        choose: From log-probabilities, (B, V), to tokens, (B,); special tokens but EOS
            have -inf.

    Returns:
        Target ids, (B, at most ``max_len``); ``PAD`` after EOS or the maximum.

    Raises:
        ValueError: If the model cannot decode, ``max_len`` is not a whole number from 1
            on, or logits are not finite.
    """
    check_decoder(model)
    state = model.start(src)
    limits = torch.tensor(row_limits(max_len, len(src)), device=src.device)  # (B,)
    token = torch.full_like(limits, BOS)
    finished = torch.zeros_like(limits, dtype=torch.bool)
    output = []
    while not finished.all():
        logits, state = model.step(token, state)  # (B, V)
        token = choose(token_log_probs(logits)).masked_fill(finished, PAD)  # (B,)
        output.append(token)
        finished = finished | (token == EOS) | (limits == len(output))
    return torch.stack(output, dim=1)


def greedy(
    model: nn.Module, src: Tensor, max_len: Tensor | Sequence[int] | int
) -> Tensor:
    """Generate the most probable token at each step; see :func:`generate`.

    Examples:
        >>> from attnbook.decoding import greedy
        >>> from attnbook.toy import SOURCE, TARGET, load_toy_model
        >>> src = torch.tensor([SOURCE.encode("the old farmer sees a bird".split())])
        >>> TARGET.decode(greedy(load_toy_model("transformer"), src, max_len=20)[0])
        ['maron', 'velin', 'ken', 'lipas', 'dos', 'mirat']
    """
    return generate(model, src, max_len, lambda log_p: log_p.argmax(-1))
