"""A decoder whose cache holds few positions: the last ones, and some for ever."""

from __future__ import annotations

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.data.batching import Batch
from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.layers import LayerCache
from attnbook.nn.multi_head import KeysValues

Change = Callable[[Sequence[KeysValues]], Sequence[KeysValues]]
"""Of position 0: from its keys and values in each layer to those that replace them."""


class ShortState(NamedTuple):
    """What :class:`ShortCache` carries from step to step."""

    inner: TransformerState
    held: tuple[int, ...]  # the positions whose keys and values are in the cache
    position: int  # of the next token


class ShortCache(nn.Module):
    """Decodes with a trained Transformer, and drops keys and values on the way.

    Args:
        model: In eval mode.
        size: Positions to which a token may attend, its own included. The first token
            for which there is no room has this position.
        always: Positions that are never dropped, even if there is no room.
        change: What becomes of position 0 once the cache is full, if it is kept.
    """

    def __init__(
        self,
        model: Transformer,
        size: int,
        always: Collection[int] = (),
        change: Change | None = None,
    ):
        super().__init__()
        self.model, self.size, self.always, self.change = model, size, always, change

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
        if position == self.size - 1 and self.change is not None:
            new = self.change([_first(cache) for cache in caches])
            caches = [_with_first(*pair) for pair in zip(caches, new, strict=True)]
        held = (*held, position)
        rows = self.rows_to_keep(held)
        caches = [_select(cache, rows) for cache in caches]
        held = tuple(held[i] for i in rows)
        inner = TransformerState(tuple(caches), inner.source_mask)
        return logits, ShortState(inner, held, position + 1)

    def rows_to_keep(self, held: Sequence[int]) -> list[int]:
        """Make room for the next position: the oldest that may go is dropped."""
        rows = list(range(len(held)))
        may_go = [i for i in rows if held[i] not in self.always]
        if len(rows) >= self.size and may_go:
            rows.remove(may_go[0])
        return rows


def _select(cache: LayerCache, rows: list[int]) -> LayerCache:
    k, v = cache.target
    return cache._replace(target=KeysValues(k[:, :, rows], v[:, :, rows]))


def _first(cache: LayerCache) -> KeysValues:
    return KeysValues(*(x[:, :, :1] for x in cache.target))


def _with_first(cache: LayerCache, new: KeysValues) -> LayerCache:
    joined = []
    for x, first in zip(cache.target, new, strict=True):
        joined.append(torch.cat([first.expand(len(x), -1, -1, -1), x[:, :, 1:]], 2))
    return cache._replace(target=KeysValues(*joined))


def without_values(first: Sequence[KeysValues]) -> list[KeysValues]:
    """Let position 0 take its share of the weight, but add nothing to the output."""
    return [KeysValues(k, torch.zeros_like(v)) for k, v in first]


@torch.no_grad()
def mean_first(model: Transformer, data: Sequence[Batch]) -> list[KeysValues]:
    """Average position 0 over all sentences: per layer, (1, H, 1, d_k) each."""
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
