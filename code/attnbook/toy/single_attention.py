"""The smallest model with attention: embeddings, positions, one attention, output."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions
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
        vocab_size: Number V of tokens, ``PAD`` included.
        n_answers: Number K of answers at each position.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        positions: nn.Module | None = None,
        vocab_size: int = TASK_VOCAB_SIZE,
        n_answers: int = 1,
    ):
        super().__init__()
        check_sizes(vocab_size=vocab_size, n_answers=n_answers)
        self.embedding = nn.Embedding(vocab_size, attention.d_model)
        self.positions = nn.Identity() if positions is None else positions
        self.attention = attention
        self.out = nn.Linear(attention.d_model, n_answers * vocab_size)
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
