r"""A decoder-only language model: Radford et al. 2018, section 3.1.

.. math::

   h_0 = U W_e + W_p, \quad h_l = \mathrm{block}(h_{l-1}), \quad
   P = \mathrm{softmax}(h_n W_e^\top)
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.checks import check_ids, check_sizes
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import target_mask
from attnbook.nn.multi_head import KeysValues
from attnbook.nn.stack import EncoderStack

INITIAL_STD = 0.02
"""Standard deviation of both tables at initialisation (Radford et al. 2018, § 4.1)."""


class LanguageState(NamedTuple):
    """What :class:`LanguageModel` carries from step to step."""

    layers: tuple[KeysValues, ...]

    @property
    def position(self) -> int:
        """The position of the next token, as many having been read."""
        return self.layers[0].k.shape[2]


class LanguageModel(nn.Module):
    """Predicts each token from those before it: encoder layers with a causal mask.

    Args:
        config: The sizes; ``source_vocab_size`` is that of the one vocabulary, V.
        max_len: Number of positions that have a vector, ``BOS`` included.
    """

    def __init__(self, config: TransformerConfig, max_len: int):
        super().__init__()
        check_sizes(max_len=max_len)
        self.W_e = table(config.source_vocab_size, config.d_model)  # (V, D)
        self.W_p = table(max_len, config.d_model)  # (max_len, D)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = EncoderStack(config)

    def forward(self, ids: Tensor) -> Tensor:
        """Predict the token after each position, all at once.

        Args:
            ids: ``BOS`` and the tokens, (B, T), padded on the right.

        Returns:
            Logits, (B, T, V).

        Raises:
            ValueError: If the sequence is longer than ``max_len``.
        """
        check_ids(ids=ids)
        h = self.dropout(embed(ids, self.W_e, self.W_p))  # (B, T, D)
        return self.stack(h, target_mask(ids)) @ self.W_e.T  # (B, T, V)

    def start(self, src: Tensor) -> LanguageState:
        """Begin B texts: there is no source, and of ``src``, (B, S), only B counts."""
        return LanguageState(self.stack.start(self.W_e.new_empty(len(src), 0)))

    def step(self, token: Tensor, state: LanguageState) -> tuple[Tensor, LanguageState]:
        """Read one token more and predict the next.

        Args:
            token: The previous token, (B,).
            state: The state after the tokens before it; it is not changed.

        Returns:
            Logits of the next token, (B, V), and the new state.
        """
        h = embed(token[:, None], self.W_e, self.W_p, state.position)  # (B, 1, D)
        h, layers = self.stack.step(self.dropout(h), state.layers)
        return (h @ self.W_e.T)[:, 0], LanguageState(layers)


def table(rows: int, d_model: int) -> nn.Parameter:
    """Make a table of learned vectors, (rows, D)."""
    check_sizes(rows=rows, d_model=d_model)
    return nn.Parameter(INITIAL_STD * torch.randn(rows, d_model))


def embed(ids: Tensor, W_e: Tensor, W_p: Tensor, offset: int = 0) -> Tensor:  # noqa: N803
    """Add the vectors of tokens and positions: U W_e + W_p.

    Args:
        ids: (B, T).
        W_e: A vector for each token, (V, D).
        W_p: A vector for each position, (max_len, D).
        offset: Position of the first token.

    Returns:
        (B, T, D).

    Raises:
        ValueError: If a position has no vector.
    """
    end = offset + ids.shape[1]
    if end > len(W_p):
        raise ValueError(
            f"the text has {end} positions, but only {len(W_p)} have a vector; cut the "
            "text, or make the model with a larger max_len"
        )
    return F.embedding(ids, W_e) + W_p[offset:end]
