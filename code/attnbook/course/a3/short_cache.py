"""A decoder whose cache holds few positions: the last ones, and some for ever."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.data.batching import Batch
from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.layers import LayerCache
from attnbook.nn.multi_head import KeysValues


class ShortState(NamedTuple):
    """What :class:`ShortCache` carries from step to step."""

    inner: TransformerState
    held: tuple[int, ...]  # the positions whose keys and values are in the cache
    position: int  # of the next token


class ShortCache(nn.Module):
    """Decodes with a trained Transformer, and drops keys and values on the way.

    Args:
        model: In eval mode.
        size: Positions to which a token may attend, its own included.
        always: Positions that are never dropped.
        first: Keys and values that replace those of position 0, layer by layer, for all
            tokens after it: (1, H, 1, d_k) each.
    """

    def __init__(
        self,
        model: Transformer,
        size: int,
        always: Collection[int] = (),
        first: Sequence[KeysValues] | None = None,
    ):
        super().__init__()
        self.model, self.size, self.always, self.first = model, size, always, first

    def start(self, src: Tensor) -> ShortState:
        """Read the source, (B, S)."""
        return ShortState(self.model.start(src), (), 0)

    def step(self, token: Tensor, state: ShortState) -> tuple[Tensor, ShortState]:
        """Read a token, (B,); predict the next, (B, V); drop what has no room."""
        m, (inner, held, position) = self.model, state
        y = m.positions(m.target_embedding(token[:, None]), offset=position)
        caches = []
        for layer, cache in zip(m.decoder, inner.layers, strict=True):
            y, cache = layer.step(y, cache, inner.source_mask)
            caches.append(cache)
        logits = m.out(m.decoder_norm(y))[:, 0]  # (B, V)
        if position == 0 and self.first is not None:
            caches = [
                _with_target(c, new) for c, new in zip(caches, self.first, strict=True)
            ]
        held = (*held, position)
        rows = self.rows_to_keep(held)
        caches = [_select(cache, rows) for cache in caches]
        held = tuple(held[i] for i in rows)
        inner = TransformerState(tuple(caches), inner.source_mask)
        return logits, ShortState(inner, held, position + 1)

    def rows_to_keep(self, held: Sequence[int]) -> list[int]:
        """Make room for the next position: the oldest that may go is dropped."""
        rows = list(range(len(held)))
        if len(rows) >= self.size:
            rows.remove(next(i for i in rows if held[i] not in self.always))
        return rows


def _select(cache: LayerCache, rows: list[int]) -> LayerCache:
    k, v = cache.target
    return cache._replace(target=KeysValues(k[:, :, rows], v[:, :, rows]))


def _with_target(cache: LayerCache, new: KeysValues) -> LayerCache:
    k, v = (x.expand(len(cache.target.k), -1, -1, -1) for x in new)
    return cache._replace(target=KeysValues(k, v))


@torch.no_grad()
def mean_first(model: Transformer, data: Sequence[Batch]) -> list[KeysValues]:
    """Average the keys and values of position 0 over all sentences, in each layer."""
    found = []
    for batch in data:
        _, state = model.step(batch.tgt_in[:, 0], model.start(batch.src))
        found.append([cache.target for cache in state.layers])
    layers = zip(*found, strict=True)
    return [
        KeysValues(
            *(torch.cat(x).mean(0, keepdim=True) for x in zip(*layer, strict=True))
        )
        for layer in layers
    ]
