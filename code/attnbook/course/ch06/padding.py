"""A Transformer that attends to the padding of its source."""

from __future__ import annotations

import copy

import torch
from torch import Tensor

from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.masks import PreparedMask, prepare_mask
from attnbook.translation.translator import Translator


class PaddingInSight(Transformer):
    """Nothing hides the padding of the source from the attentions named in ``sees``.

    That of the target needs no mask of its own: it stands on the right, where the
    causal mask hides it from all words.
    """

    sees = frozenset({"encoder", "cross"})

    def encode(self, src: Tensor, mask: Tensor | PreparedMask | None = None) -> Tensor:
        """Encode, with or without the padding mask."""
        seen = "encoder" in self.sees
        return super().encode(src, _everything(src) if seen else mask)

    def decode(
        self, tgt_in: Tensor, memory: Tensor, memory_mask: Tensor | PreparedMask
    ) -> Tensor:
        """Predict all at once, with or without the padding mask."""
        seen = "cross" in self.sees
        return super().decode(
            tgt_in, memory, _everything(memory[..., 0]) if seen else memory_mask
        )

    def start(self, src: Tensor) -> TransformerState:
        """Read the source; the steps' cross-attention keeps its mask, or gets none."""
        state = super().start(src)
        if "cross" not in self.sees:
            return state
        return state._replace(source_mask=_everything(src))


class ZerosAsPadding(PaddingInSight):
    """The same, with vectors of zeros at the padding of the encoder's input."""

    def encode(self, src: Tensor, mask: Tensor | PreparedMask | None = None) -> Tensor:
        """Encode words and zeros alike."""
        real = prepare_mask(mask).mask[:, 0, 0, :, None]  # (B, S, 1)
        x = self.positions(self.source_embedding(src)) * real  # (B, S, D)
        for layer in self.encoder:
            x = layer(x, _everything(src))
        return self.encoder_norm(x)


def _everything(src: Tensor) -> PreparedMask:
    return prepare_mask(torch.ones(len(src), 1, 1, src.shape[1], dtype=torch.bool))


def as_kind(
    model: Transformer,
    kind: type[Transformer] = PaddingInSight,
    sees: frozenset[str] | None = None,
) -> Transformer:
    """The same weights in another class, in eval mode."""
    changed = copy.copy(model)
    changed.__class__ = kind
    if sees is not None:
        changed.sees = sees
    return changed.eval()


def without_padding_mask(translator: Translator) -> Translator:
    """The same translator, whose attention also reads padding."""
    changed = copy.copy(translator)
    changed.model = as_kind(translator.model)
    return changed
