"""Mistakes of widely copied code, kept alive so that the checks can be seen at work.

None of them stops a forward pass. Only experiments and figures use them.
"""

from __future__ import annotations

import math

from torch import Tensor, nn

from attnbook.core.devices import model_device
from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.masks import causal_mask, key_mask, target_mask
from attnbook.nn.multi_head import (
    KeysValues,
    MultiHeadAttention,
    merge_heads,
    split_heads,
)
from attnbook.nn.positions import SinusoidalPositions


class WrongSplit(MultiHeadAttention):
    """Deals out positions to the heads, not features: a ``view`` and no transpose.

    Each head gets all the features of a few positions, and never reads the others.
    Their number decides which, so keys can't be kept from step to step, and a model
    with it can't decode token by token.
    """

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **how
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend, but with heads that hold whole positions."""
        q, k, v = (merge_heads(x).view(x.shape) for x in (q, k, v))  # wrongly
        out = super().attend(q, k, v, mask, **how)
        heads, *weights = out if how["need_weights"] else (out,)
        together = heads.reshape(len(heads), -1, self.d_model)  # (B, T, D), wrongly
        heads = split_heads(together, self.n_heads)  # (B, H, T, d_k)
        return (heads, *weights) if weights else heads

    def start(self, x: Tensor) -> KeysValues:
        """Refuse by a ValueError, before a search begins."""
        raise ValueError(
            "an attention with wrongly split heads has no keys and values to keep; "
            "compare the logits of all positions at once instead of decoding"
        )


class RepeatedMask(MultiHeadAttention):
    """Repeats the mask for the heads in the order of the heads, not of the sentences.

    Heads that are folded into the batch come sentence by sentence, but ``repeat`` gives
    all masks once for each head: some heads get another sentence's mask.
    """

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **how
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend with the masks, (B or 1, 1, T or 1, S), in the wrong order."""
        if mask is not None:
            mask = mask.expand(len(q), -1, -1, -1).repeat(self.n_heads, 1, 1, 1)
            mask = mask.view(len(q), self.n_heads, *mask.shape[2:])  # (B, H, …, S)
        return super().attend(q, k, v, mask, **how)


class Unmasked(MultiHeadAttention):
    """Attends to padding, too: only the causal part of a mask is used."""

    def attend(
        self, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, **how
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Attend with a causal mask, if there is one for several queries."""
        t = 1 if mask is None else mask.shape[-2]
        mask = causal_mask(t, device=mask.device) if t > 1 else None
        return super().attend(q, k, v, mask, **how)


def replace_attention(model: nn.Module, kind: type[MultiHeadAttention]) -> None:
    """Make each attention of a model one of this kind, with the same weights."""
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            module.__class__ = kind


# Chapter 9: mistakes of a whole model


def split_wrongly(model: nn.Module) -> None:
    """Give a model :class:`WrongSplit` for each of its attentions; new weights."""
    for parent in [*model.modules()]:
        for name, child in [*parent.named_children()]:
            if isinstance(child, MultiHeadAttention):
                wrong = WrongSplit(
                    *(child.d_model, child.n_heads),
                    bias=child.W_Q.bias is not None,
                    dropout=child.dropout,
                )
                setattr(parent, name, wrong.to(model_device(child)))


def scale_wrongly(model: nn.Module) -> None:
    """Divide the scores of each attention by √(d_k/H), not by √d_k.

    This is what comes out if the width of a head is divided by the number of heads once
    more.
    """
    for module in model.modules():
        if isinstance(module, MultiHeadAttention):
            d_k = module.d_model // module.n_heads
            module.scale = math.sqrt(module.n_heads / d_k)


class SoftmaxInside(nn.Module):
    """Returns probabilities where the loss expects logits.

    Args:
        model: Returns logits.
    """

    def __init__(self, model: nn.Module):
        super().__init__()
        self.model = model

    def forward(self, *inputs: Tensor) -> Tensor:
        """Call the model and make its logits probabilities."""
        return self.model(*inputs).softmax(-1)


# Chapter 10: mistakes in decoding


class Uncounted(SinusoidalPositions):
    """Ignores the offset: token by token, every position is 0."""

    def forward(self, x: Tensor, offset: int = 0) -> Tensor:
        """Add to (B, T, D) the codes of positions 0 … T - 1, whatever the offset."""
        return super().forward(x)


class CausalInTraining(Transformer):
    """Applies the causal mask only in training mode.

    Except for the mask, ``decode`` is a copy of the Transformer's.
    """

    def decode(self, tgt_in: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Predict; in eval mode, positions also attend to later ones."""
        mask = target_mask(tgt_in) if self.training else key_mask(tgt_in)
        y = self.dropout(self.positions(self.target_embedding(tgt_in)))  # (B, T, D)
        for layer in self.decoder:
            y = layer(y, memory, mask, memory_mask)
        return self.out(self.decoder_norm(y))  # (B, T, V)


class OneCache(Transformer):
    """Stores the cache in the model instead of the state."""

    def start(self, src: Tensor) -> TransformerState:
        """Read the source, and drop the last sentence's cache."""
        self.state = super().start(src)
        return self.state

    def step(
        self, token: Tensor, state: TransformerState
    ) -> tuple[Tensor, TransformerState]:
        """Read one more token, after all those read since ``start``."""
        logits, self.state = super().step(token, self.state)
        return logits, self.state
