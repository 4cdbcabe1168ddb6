"""The smallest model that attends: symbols, positions, one attention, answers."""

from __future__ import annotations

from functools import partial

from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions, SinusoidalPositions
from attnbook.nn.relative import RelativeAttention
from attnbook.nn.rotary import RotaryAttention
from attnbook.toy.tasks import TASK_VOCAB_SIZE

POSITIONS = ("none", "sinusoidal", "learned", "relative", "rotary")
"""The five ways of chapter 7."""


class OneLayer(nn.Module):
    """Turns words into vectors, attends once, and reads answers off what it found.

    There is nothing else in it, no recurrent state and no second layer: whatever it
    knows of other places has come through the one attention.

    Args:
        attention: Its width is that of the word vectors.
        positions: Adds to each word a vector that says where it stands; None: nothing.
        n_words: Number of words V, ``PAD`` included.
        n_answers: Number K of answers at each place.
    """

    def __init__(
        self,
        attention: MultiHeadAttention,
        positions: nn.Module | None = None,
        n_words: int = TASK_VOCAB_SIZE,
        n_answers: int = 1,
    ):
        super().__init__()
        check_sizes(n_words=n_words, n_answers=n_answers)
        self.embedding = nn.Embedding(n_words, attention.d_model)
        self.positions = nn.Identity() if positions is None else positions
        self.attention = attention
        self.out = nn.Linear(attention.d_model, n_answers * n_words)
        self.n_answers = n_answers

    def forward(
        self, ids: Tensor, mask: Tensor | None = None, *, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Answer at each place.

        Args:
            ids: (B, L).
            mask: True where a place may attend, as of ``MultiHeadAttention``.
            need_weights: Whether to return the weights too.

        Returns:
            Logits, (B, L, K, V); with ``need_weights`` also weights, (B, H, L, L).
        """
        x = self.positions(self.embedding(ids))  # (B, L, D)
        found = self.attention(x, x, x, mask, need_weights=need_weights)
        if not need_weights:
            return self.answers(found)
        found, weights = found
        return self.answers(found), weights

    def answers(self, found: Tensor) -> Tensor:
        """Turn what was found, (B, L, D), into logits, (B, L, K, V)."""
        return self.out(found).unflatten(-1, (self.n_answers, -1))  # (B, L, K, V)


def one_layer(
    positions: str,
    longest: int,
    d_model: int = 64,
    n_heads: int = 2,
    n_answers: int = 2,
) -> OneLayer:
    """Make one that knows positions in one of the five ways of chapter 7.

    Args:
        positions: One of :data:`POSITIONS`.
        longest: The longest sequence: of a learned table the number of rows, of a
            relative bias one more than the largest distance.
        d_model: Width D.
        n_heads: Number H of heads.
        n_answers: Number K of answers at each place.

    Raises:
        ValueError: If there is no such way.
    """
    if positions not in POSITIONS:
        raise ValueError(
            f"positions is {positions!r}; choose one of {', '.join(POSITIONS)}"
        )
    attention = {
        "relative": partial(RelativeAttention, farthest=longest - 1),
        "rotary": RotaryAttention,
    }.get(positions, MultiHeadAttention)
    added = {
        "sinusoidal": partial(SinusoidalPositions, d_model),
        "learned": partial(LearnedPositions, longest, d_model),
    }.get(positions, lambda: None)
    return OneLayer(attention(d_model, n_heads), added(), n_answers=n_answers)
