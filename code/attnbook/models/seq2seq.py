"""Sequence to sequence without attention: the source is encoded as one vector.

The two models differ in where the decoder receives that vector:

- :class:`InitialState` (after Sutskever et al. 2014): once, as its initial state.
- :class:`StaticContext` (after Cho et al. 2014): at every step.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnbook.core.checks import (
    check_batch,
    check_dropout,
    check_sizes,
    check_source,
    check_token,
)
from attnbook.core.vocabulary import PAD
from attnbook.nn.layers import TokenEmbedding
from attnbook.nn.masks import padding_mask


class Encoder(nn.Module):
    """A GRU encoder, bidirectional by default.

    Sequences are packed, so that neither direction reads padding: each starts at its
    first real token and stops at its last.

    Args:
        vocab_size: Number of source tokens.
        d_embed: Width of the token embeddings.
        d_hidden: Width of the hidden state, in each direction.
        bidirectional: Whether a second GRU reads from right to left.
        dropout: Dropout rate of the token embeddings.
    """

    def __init__(
        self,
        vocab_size: int,
        d_embed: int,
        d_hidden: int,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(vocab_size=vocab_size, d_embed=d_embed, d_hidden=d_hidden)
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(vocab_size, d_embed, padding_idx=PAD)
        self.gru = nn.GRU(
            d_embed, d_hidden, batch_first=True, bidirectional=bidirectional
        )
        self.width = d_hidden * (2 if bidirectional else 1)

    def forward(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """Encode a padded batch.

        Args:
            src: Source ids, (B, S), padded on the right.

        Returns:
            All hidden states, (B, S, width), zero at padding; and the final states of
            both directions, concatenated, (B, width).

        Raises:
            ValueError: If ``src`` is not a matrix of known ids, or a row has no token,
                or padding before its last one.
        """
        check_source(src, self.embedding.num_embeddings)
        lengths = padding_mask(src).sum(1).cpu()
        packed = pack_padded_sequence(
            self.dropout(self.embedding(src)),
            lengths,
            batch_first=True,
            enforce_sorted=False,
        )
        states, last = self.gru(packed)
        states, _ = pad_packed_sequence(
            states, batch_first=True, total_length=src.shape[1]
        )
        return states, torch.cat(list(last), dim=-1)


class Readout(nn.Module):
    """The output network: one hidden layer, then a logit for each target token.

    Its hidden layer has a tanh, where Cho et al. 2014 and Bahdanau et al. 2015 have a
    maxout layer.

    Args:
        d_in: Total width of decoder state, embedding of the previous token and context.
        d_hidden: Width of the hidden layer.
        vocab_size: Number of target tokens.
        dropout: Dropout rate of the hidden layer, before its tanh.
    """

    def __init__(self, d_in: int, d_hidden: int, vocab_size: int, dropout: float = 0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear(d_in, d_hidden)
        self.out = nn.Linear(d_hidden, vocab_size)

    def forward(self, *parts: Tensor) -> Tensor:
        """Concatenate the parts, (..., their widths), and compute logits, (..., V)."""
        hidden = self.dropout(self.hidden(torch.cat(parts, -1)))
        return self.out(torch.tanh(hidden))


class InitialState(nn.Module):
    """The source vector initialises the decoder's state, and is not used again.

    After Sutskever et al. 2014. They have four layers of LSTMs, a unidirectional
    encoder that reads the source reversed, the encoder's final state itself as the
    decoder's initial state, and a linear output layer. Here are one layer of GRUs, a
    bidirectional encoder, a tanh layer between the states, and a :class:`Readout`.

    Args:
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens.
        d_embed: Width of the token embeddings.
        d_hidden: Width of the hidden states.
        bidirectional: Passed to :class:`Encoder`.
        dropout: Dropout rate of the token embeddings and of the readout's hidden layer.

    Examples:
        >>> from attnbook.models import InitialState
        >>> model = InitialState(source_vocab_size=9, target_vocab_size=11)
        >>> src, tgt_in = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6, 7, 8]])
        >>> model(src, tgt_in).shape  # logits, (B, T, V)
        torch.Size([1, 4, 11])
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_embed: int = 32,
        d_hidden: int = 64,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(target_vocab_size=target_vocab_size)
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(
            source_vocab_size, d_embed, d_hidden, bidirectional, dropout
        )
        self.bridge = nn.Linear(self.encoder.width, d_hidden)
        self.embedding = TokenEmbedding(target_vocab_size, d_embed)
        self.gru = nn.GRU(d_embed, d_hidden, batch_first=True)
        self.readout = Readout(d_hidden + d_embed, d_hidden, target_vocab_size, dropout)

    def start(self, src: Tensor) -> Tensor:
        """Encode the source, (B, S), and return the decoder's initial state, (B, H)."""
        _, c = self.encoder(src)  # (B, width)
        return torch.tanh(self.bridge(c))  # (B, H)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict each target token from those before it, for all steps at once.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T): teacher forcing.

        Returns:
            Logits, (B, T, V).

        Raises:
            ValueError: If the batch sizes differ.
        """
        check_batch(src, tgt_in)
        s = self.start(src)  # (B, H)
        y = self.dropout(self.embedding(tgt_in))  # (B, T, E)
        states, _ = self.gru(y, s[None])  # (B, T, H)
        return self.readout(states, y)  # (B, T, V)

    def step(self, token: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """Take one decoding step.

        Args:
            token: The previous output token, (B,).
            s: Decoder state, (B, H).

        Returns:
            Logits of the next token, (B, V), and the new state, (B, H).
        """
        check_token(token, len(s))
        y = self.dropout(self.embedding(token))  # (B, E)
        _, s = self.gru(y[:, None], s[None])  # (1, B, H)
        return self.readout(s[0], y), s[0]


class StaticState(NamedTuple):
    """The decoder state of :class:`StaticContext`."""

    s: Tensor  # (B, H)      decoder state
    c: Tensor  # (B, width)  context, the same at every step


class StaticContext(nn.Module):
    """The source vector is an input of every decoder step, and of the readout.

    Cho et al. 2014, section 2.2: s_i = f(s_{i-1}, y_{i-1}, c) and
    p(y_i | y_<i, x) = g(s_i, y_{i-1}, c).

    Args:
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens.
        d_embed: Width of the token embeddings.
        d_hidden: Width of the hidden states.
        summary: The source vector: "last", the encoder's final states, or "mean", the
            mean of all its states.
        dropout: Dropout rate of the token embeddings and of the readout's hidden layer.

    Raises:
        ValueError: If ``summary`` is neither.
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_embed: int = 32,
        d_hidden: int = 64,
        summary: str = "last",
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(target_vocab_size=target_vocab_size)
        if summary not in ("last", "mean"):
            raise ValueError(f"summary is {summary!r}; choose 'last' or 'mean'")
        self.summary = summary
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(source_vocab_size, d_embed, d_hidden, dropout=dropout)
        width = self.encoder.width
        self.bridge = nn.Linear(width, d_hidden)
        self.embedding = TokenEmbedding(target_vocab_size, d_embed)
        self.gru = nn.GRU(d_embed + width, d_hidden, batch_first=True)
        self.readout = Readout(
            d_hidden + d_embed + width, d_hidden, target_vocab_size, dropout
        )

    def start(self, src: Tensor) -> StaticState:
        """Encode the source, (B, S), and return the initial state and the context."""
        states, c = self.encoder(src)  # (B, S, width), (B, width)
        if self.summary == "mean":
            # The states are zero at padding, so the sum is over real tokens alone.
            c = states.sum(1) / padding_mask(src).sum(1, keepdim=True)
        return StaticState(torch.tanh(self.bridge(c)), c)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict each target token from those before it: see :class:`InitialState`."""
        check_batch(src, tgt_in)
        s, c = self.start(src)
        c = c[:, None].expand(-1, tgt_in.shape[1], -1)  # (B, T, width)
        y = self.dropout(self.embedding(tgt_in))  # (B, T, E)
        states, _ = self.gru(torch.cat([y, c], -1), s[None])  # (B, T, H)
        return self.readout(states, y, c)  # (B, T, V)

    def step(self, token: Tensor, state: StaticState) -> tuple[Tensor, StaticState]:
        """Take one decoding step; as in :class:`InitialState`."""
        check_token(token, len(state.s))
        y = self.dropout(self.embedding(token))  # (B, E)
        y_and_c = torch.cat([y, state.c], -1)[:, None]  # (B, 1, E + width)
        _, s = self.gru(y_and_c, state.s[None])  # (1, B, H)
        return self.readout(s[0], y, state.c), StaticState(s[0], state.c)
