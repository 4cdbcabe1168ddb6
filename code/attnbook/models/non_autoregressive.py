"""Non-autoregressive translation: all target tokens in one step, after Gu et al. 2018.

What the decoder reads is not the tokens before each position, but as many blanks as
the target has positions. So no output depends on another, and one pass is enough.
(Gu et al. copy source tokens there.)
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_batch, check_logits
from attnbook.core.vocabulary import BOS, PAD, UNK
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask


class NonAutoregressive(nn.Module):
    """A Transformer whose decoder reads blanks, without a causal mask.

    The length of the target is given. Gu et al. predict it, as the sum of how many
    target tokens each source token has (its *fertility*).

    Args:
        config: The sizes.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        self.transformer = Transformer(config)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict all target tokens, none of which sees another.

        Args:
            src: Source ids, (B, S).
            tgt_in: Any ids of the target's length, (B, T). Only where they are ``PAD``
                is used.

        Returns:
            Logits, (B, T, V).

        Raises:
            ValueError: If the two batches are of different size.
        """
        check_batch(src, tgt_in)
        model = self.transformer
        source_mask = key_mask(src)  # (B, 1, 1, S)
        memory = model.encode(src, source_mask)  # (B, S, D)
        blanks = torch.full_like(tgt_in, BOS).masked_fill(tgt_in == PAD, PAD)  # (B, T)
        mask = key_mask(blanks)  # (B, 1, 1, T): not causal
        y = model.dropout(model.positions(model.target_embedding(blanks)))  # (B, T, D)
        for layer in model.decoder:
            y = layer(y, memory, mask, source_mask)
        return model.out(model.decoder_norm(y))  # (B, T, V)

    @torch.no_grad()
    def translate(self, src: Tensor, lengths: Tensor) -> Tensor:
        """Take the most probable token at each position, in one pass.

        ``PAD``, ``BOS`` and ``UNK`` are never taken.

        Args:
            src: Source ids, (B, S).
            lengths: Number of tokens of each target, ``EOS`` included, (B,).

        Returns:
            Target ids, (B, longest), ``PAD`` after the last.

        Raises:
            ValueError: If the logits are not finite.
        """
        real = torch.arange(int(lengths.max()), device=src.device) < lengths[:, None]
        logits = self(src, torch.where(real, BOS, PAD))  # (B, T, V)
        logits[..., [PAD, BOS, UNK]] = -torch.inf
        check_logits(logits[real])
        return logits.argmax(-1).masked_fill(~real, PAD)
