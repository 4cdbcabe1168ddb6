"""R-Drop: two passes with different dropout should agree. Liang et al. 2021."""

from __future__ import annotations

import torch.nn.functional as F
from torch import Tensor

from attnbook.masks import padding_mask


def disagreement(logits: Tensor, targets: Tensor) -> Tensor:
    r"""Divergence between two predictions of each token, half of it each way.

    :math:`\frac12 (KL(p_1 \Vert p_2) + KL(p_2 \Vert p_1))`: Liang et al. 2021,
    equation 2.

    Args:
        logits: (2 B, T, V): the batch with one draw of dropout, then with another.
        targets: Ids, (B, T).

    Returns:
        (B, T), in nats; 0 at pads.
    """
    log_p, log_q = logits.log_softmax(-1).chunk(2)
    both = F.kl_div(log_q, log_p, reduction="none", log_target=True)
    both = both + F.kl_div(log_p, log_q, reduction="none", log_target=True)
    return (both.sum(-1) / 2).masked_fill(~padding_mask(targets), 0.0)
