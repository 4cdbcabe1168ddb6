"""Translators that lose a mask: that of padding, or the causal one of some layers."""

import copy
from collections.abc import Collection
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.masks import key_mask, target_mask
from attnbook.translation.translator import Translator


class PaddingInSight(Transformer):
    """Nothing hides the padding of the source from the model's attention.

    That of the target needs no mask of its own: it stands on the right, where the
    causal mask hides it from all words.
    """

    def encode(self, src: Tensor, mask: Tensor | None = None) -> Tensor:
        """Encode without the padding mask."""
        return super().encode(src, _everything(src))

    def decode(self, tgt_in: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Predict all at once, without the padding mask."""
        return super().decode(tgt_in, memory, _everything(memory[..., 0]))

    def start(self, src: Tensor) -> TransformerState:
        """Read the source; the steps' cross-attention gets no mask."""
        return super().start(src)._replace(source_mask=_everything(src))


def _everything(src: Tensor) -> Tensor:
    return torch.ones(len(src), 1, 1, src.shape[1], dtype=torch.bool)


def as_kind(
    model: Transformer, kind: type[Transformer] = PaddingInSight
) -> Transformer:
    """The same weights in another class, in eval mode."""
    changed = copy.copy(model)
    changed.__class__ = kind
    return changed.eval()


def without_padding_mask(translator: Translator) -> Translator:
    """The same translator, whose attention also reads padding."""
    changed = copy.copy(translator)
    changed.model = as_kind(translator.model)
    return changed


class Prefix(NamedTuple):
    """What :class:`Recomputing` carries from step to step: no keys and no values."""

    ids: Tensor  # (B, t)  the target tokens so far
    memory: Tensor  # (B, S, D)
    source_mask: Tensor  # (B, 1, 1, S)


class Uncovered(Transformer):
    """A decoder some of whose layers, those in ``bare``, have no causal mask."""

    bare: Collection[int] = ()

    def decode(self, tgt_in: Tensor, memory: Tensor, memory_mask: Tensor) -> Tensor:
        """Predict; in a bare layer, positions also attend to later ones."""
        y = self.positions(self.target_embedding(tgt_in))  # (B, T, D)
        for number, layer in enumerate(self.decoder):
            mask_of = key_mask if number in self.bare else target_mask
            y = layer(y, memory, mask_of(tgt_in), memory_mask)
        return self.out(self.decoder_norm(y))  # (B, T, V)


class Recomputing(nn.Module):
    """Decodes without a cache: every step puts the whole prefix through the decoder."""

    def __init__(self, model: Transformer, bare: Collection[int] = ()):
        super().__init__()
        self.model = copy.copy(model)  # the same weights
        self.model.__class__, self.model.bare = Uncovered, bare
        self.eval()

    def start(self, src: Tensor) -> Prefix:
        """Read the source, (B, S)."""
        mask = key_mask(src)  # (B, 1, 1, S)
        return Prefix(src[:, :0], self.model.encode(src, mask), mask)

    def step(self, token: Tensor, state: Prefix) -> tuple[Tensor, Prefix]:
        """Add a token, (B,), to the prefix; logits of the next, (B, V), and state."""
        ids = torch.cat([state.ids, token[:, None]], dim=1)  # (B, t)
        logits = self.model.decode(ids, state.memory, state.source_mask)  # (B, t, V)
        return logits[:, -1], state._replace(ids=ids)


def without_causal_mask(translator: Translator, bare: Collection[int]) -> Translator:
    """The same translator without cache; decoder layers in ``bare`` have no mask."""
    changed = copy.copy(translator)
    changed.model = Recomputing(translator.model, bare)
    return changed
