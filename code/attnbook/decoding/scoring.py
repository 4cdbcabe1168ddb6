"""The log-probability that a model gives to a translation."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import (
    check_ids,
    check_logits,
    check_padded_right,
    check_source,
)
from attnbook.core.vocabulary import BOS
from attnbook.decoding.steps import check_decoder
from attnbook.nn.masks import padding_mask
from attnbook.nn.precision import wide


@torch.no_grad()
def log_probability(model: nn.Module, src: Tensor, output: Tensor) -> Tensor:
    """Log-probability of an output: the sum over its tokens, EOS included.

    Args:
        model: As in greedy decoding, and also called as ``model(src, tgt_in)``.
        src: Source ids, (B, S).
        output: Target ids, (B, T); ``PAD`` after EOS.

    Returns:
        log p(output | src), (B,); -inf if a token of it is impossible.

    Raises:
        ValueError: If a matrix is not one of ids, a source has no word, padding stands
            before a token, or the logits are not finite.

    Examples:
        >>> from attnbook.decoding import greedy, log_probability
        >>> from attnbook.toy import SOURCE, load_toy_model
        >>> model = load_toy_model("transformer")
        >>> src = torch.tensor([SOURCE.encode("the old farmer sees a bird".split())])
        >>> log_p = log_probability(model, src, greedy(model, src, max_len=20))
        >>> 0.9 < log_p.exp().item() < 1  # a translation that it is sure of
        True
    """
    check_decoder(model)
    check_source(src)
    check_ids(output=output)
    check_padded_right(wait=True, output=output)
    bos = torch.full_like(output[:, :1], BOS)
    log_p = wide(model(src, torch.cat([bos, output[:, :-1]], 1))).log_softmax(-1)
    real = padding_mask(output)  # (B, T)
    check_logits(log_p[real])
    of_tokens = log_p.gather(-1, output[..., None]).squeeze(-1)  # (B, T)
    return of_tokens.masked_fill(~real, 0.0).sum(1)
