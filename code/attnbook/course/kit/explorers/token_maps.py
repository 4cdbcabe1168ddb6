"""Weights between two lists of tokens: of one head, or the mean of several."""

from collections.abc import Iterable, Mapping
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.course.kit.explorers.charts import Map
from attnbook.course.kit.explorers.controls import Menu

MEAN = "mean of all"


class Kind(NamedTuple):
    """One of the three attentions of a Transformer."""

    module: str  # how the names of its modules end, without the number of the layer
    query: str  # what a row is
    key: str  # what a column is
    roles: tuple[str, str]  # the colours of both


KINDS = {
    "cross-attention": Kind(
        "decoder.{}.cross_attention",
        "query: the token predicted",
        "key: source token",
        ("target", "source"),
    ),
    "encoder self-attention": Kind(
        "encoder.{}.attention",
        "query: source token",
        "key: source token",
        ("source", "source"),
    ),
    "decoder self-attention": Kind(
        "decoder.{}.self_attention",
        "query: the token read",
        "key: the token read",
        ("target", "target"),
    ),
}
"""The three, by the names that the reader sees."""


class Tokens(NamedTuple):
    """The tokens of a translation, as each attention has them."""

    source: tuple[str, ...]  # S, EOS included
    read: tuple[str, ...]  # T, what the decoder reads: from BOS on
    predicted: tuple[str, ...]  # T, what it predicts: EOS included

    def of(self, kind: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """Rows and columns of the map of one of :data:`KINDS`."""
        if kind == "cross-attention":
            return self.predicted, self.source
        own = self.source if kind == "encoder self-attention" else self.read
        return own, own


def head_menus(n_layers: int, n_heads: int) -> dict[str, Menu]:
    """Menus for attention, layer and head; layers and heads are counted from 1."""
    numbers = {"layer": n_layers, "head": n_heads}
    return {"kind": Menu("attention", tuple(KINDS), "cross-attention")} | {
        name: Menu(name, (MEAN, *map(str, range(1, n + 1))), MEAN)
        for name, n in numbers.items()
    }


def chosen_weights(
    maps: Mapping[str, Tensor], kind: str, layer: str, head: str
) -> Tensor:
    """The weights that the menus of :func:`head_menus` ask for, (T, S).

    The maps are those of one sentence by the names of the modules, (H, T, S) each.
    """
    n_layers = sum(name.startswith("encoder.") for name in maps)  # one in each layer
    layers = range(n_layers) if layer == MEAN else [int(layer) - 1]
    weights = torch.stack([maps[KINDS[kind].module.format(n)] for n in layers])
    if head == MEAN:
        return weights.mean(dim=(0, 1))
    return weights[:, int(head) - 1].mean(0)


def token_map(
    weights: Tensor,
    tokens: Tokens,
    kind: str,
    frames: Iterable[tuple[int, int | None]] = (),
) -> Map:
    """Weights of one of :data:`KINDS`, (T, S), as a chart; some cells are framed."""
    about = KINDS[kind]
    rows, columns = tokens.of(kind)
    cells = tuple(tuple(round(w, 2) for w in row) for row in weights.tolist())
    marked = tuple((i, j) for i, j in frames if j is not None)
    return Map(rows, columns, cells, about.roles, (about.query, about.key), marked)


def peaks(weights: Tensor, tokens: Tokens, kind: str) -> str:
    """The largest weight of each row in words, for those who cannot see the map."""
    rows, columns = tokens.of(kind)
    best = zip(rows, *(x.tolist() for x in weights.max(-1)), strict=True)
    return "; ".join(f"{row}: {columns[j]}, {w:.2f}" for row, w, j in best)
