"""Small models for tasks on symbols: an attention, a stack of layers, any one layer."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.checks import check_sizes
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions, check_even
from attnbook.nn.relative import RelativeAttention
from attnbook.nn.rotary import Rotary
from attnbook.toy.tasks import TASK_VOCAB_SIZE

POSITION_KINDS = ("none", "sinusoidal", "learned", "relative", "rotary")
"""The five kinds of positional encoding compared in chapter 7."""


class OneLayer(nn.Module):
    """Token embeddings, one attention, and a linear output; nothing else.

    There is no recurrent state and no second layer, so a position can learn about other
    positions only through the one attention.

    Args:
        attention: Its width is that of the token embeddings.
        positions: Adds a positional encoding to the embeddings; None adds nothing.
        n_answers: Number K of answers at each position.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        positions: nn.Module | None = None,
        n_answers: int = 1,
    ):
        super().__init__()
        check_sizes(n_answers=n_answers)
        self.embedding = nn.Embedding(TASK_VOCAB_SIZE, attention.d_model)
        self.positions = nn.Identity() if positions is None else positions
        self.attention = attention
        self.out = nn.Linear(attention.d_model, n_answers * TASK_VOCAB_SIZE)
        self.n_answers = n_answers

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predict the answers at each position.

        Args:
            ids: (B, L).
            mask: True where a position may attend, as in ``MultiHeadAttention``.
            need_weights: Whether to return the weights too.

        Returns:
            Logits, (B, L, K, V); with ``need_weights`` also weights, (B, H, L, L).
        """
        x = self.positions(self.embedding(ids))  # (B, L, D)
        out = self.attention(x, x, x, mask, need_weights=need_weights)
        if not need_weights:
            return self.answers(out)
        out, weights = out
        return self.answers(out), weights

    def answers(self, out: Tensor) -> Tensor:
        """Map the attention's output, (B, L, D), to logits, (B, L, K, V)."""
        return self.out(out).unflatten(-1, (self.n_answers, -1))  # (B, L, K, V)


def one_layer(
    positions: str,
    max_len: int,
    d_model: int = 64,
    n_heads: int = 2,
    n_answers: int = 2,
) -> OneLayer:
    """Create a model with one of the five kinds of positional encoding of chapter 7.

    Args:
        positions: One of :data:`POSITION_KINDS`.
        max_len: Maximum length of a sequence: the number of rows of a learned table,
            and one more than the maximum distance of a relative bias.
        d_model: Width D.
        n_heads: Number H of heads.
        n_answers: Number K of answers at each position.

    Raises:
        ValueError: If there is no such kind.
    """
    if positions not in POSITION_KINDS:
        raise ValueError(
            f"positions is {positions!r}; choose one of {', '.join(POSITION_KINDS)}"
        )
    attention = {
        "relative": partial(RelativeAttention, max_distance=max_len - 1),
        "rotary": partial(MultiHeadAttention, turn=Rotary()),
    }.get(positions, MultiHeadAttention)
    added = {
        "sinusoidal": partial(SinusoidalPositions, d_model),
        "learned": partial(LearnedPositions, max_len, d_model),
    }.get(positions, lambda: None)
    return OneLayer(attention(d_model, n_heads), added(), n_answers=n_answers)


class Tagger(nn.Module):
    """Embeddings, positions, a stack of layers, and an output at each position.

    Args:
        embedding: Maps ids, (B, L), to vectors, (B, L, D).
        layers: Each maps (B, L, D) to (B, L, D).
        norm: Applied after the last layer; None: none, as post-norm needs none.
    """

    def __init__(
        self,
        embedding: nn.Embedding,
        layers: list[nn.Module],
        norm: nn.Module | None = None,
    ):
        super().__init__()
        d_model = embedding.embedding_dim
        self.embedding = embedding
        self.positions = SinusoidalPositions(d_model)
        self.layers = nn.ModuleList(layers)
        self.norm = nn.Identity() if norm is None else norm
        self.out = nn.Linear(d_model, embedding.num_embeddings)

    def forward(self, ids: Tensor) -> Tensor:
        """Compute logits at each position: (B, L, 1, V), as the tasks expect."""
        x = self.positions(self.embedding(ids))  # (B, L, D)
        for layer in self.layers:
            x = layer(x)
        return self.out(self.norm(x))[..., None, :]  # (B, L, 1, V)


class InductionModel(nn.Module):
    """Embeds each symbol together with the previous one; one layer; one output.

    Args:
        layer: Keeps the shape (B, n, D).
        d_model: Width D; each of the two symbols gets half of it.

    Raises:
        ValueError: If the width is odd.
    """

    def __init__(self, layer: nn.Module, d_model: int):
        super().__init__()
        check_even(d_model)
        self.own = nn.Embedding(TASK_VOCAB_SIZE, d_model // 2)
        self.previous = nn.Embedding(TASK_VOCAB_SIZE, d_model // 2)
        self.layer = layer
        self.out = nn.Linear(d_model, TASK_VOCAB_SIZE)

    def forward(self, ids: Tensor) -> Tensor:
        """Map ids, (B, n), to the logits of the last position, (B, 1, V)."""
        before = F.pad(ids[:, :-1], (1, 0))  # PAD before the first
        x = torch.cat([self.own(ids), self.previous(before)], -1)  # (B, n, D)
        return self.out(self.layer(x)[:, -1:])
