"""Encoder and decoder without attention: one vector carries the sentence across.

The two models differ in one thing, where the decoder meets that vector:

- :class:`InitialState` (after Sutskever et al. 2014): once, as its first state.
- :class:`StaticContext` (after Cho et al. 2014): at every step.
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnbook.core.checks import check_batch, check_dropout, check_sizes, check_source
from attnbook.core.vocabulary import PAD
from attnbook.nn.masks import padding_mask


class Encoder(nn.Module):
    """A GRU reads the source, from both ends unless told otherwise.

    Pads are never read: each direction begins at the first real token that it meets
    and stops at the last.

    Args:
        vocabulary: Number of source words.
        d_embed: Width of the word vectors.
        d_hidden: Width of the state, in each direction.
        bidirectional: Whether a second GRU reads from right to left.
        dropout: Share of the word vectors' components set to 0 in training.
    """

    def __init__(
        self,
        vocabulary: int,
        d_embed: int,
        d_hidden: int,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(vocabulary=vocabulary, d_embed=d_embed, d_hidden=d_hidden)
        check_dropout(dropout)
        self.dropout = nn.Dropout(dropout)
        self.embedding = nn.Embedding(vocabulary, d_embed, padding_idx=PAD)
        self.gru = nn.GRU(
            d_embed, d_hidden, batch_first=True, bidirectional=bidirectional
        )
        self.width = d_hidden * (2 if bidirectional else 1)

    def forward(self, src: Tensor) -> tuple[Tensor, Tensor]:
        """Read a padded batch.

        Args:
            src: Source ids, (B, S).

        Returns:
            All states, (B, S, width), zero at pads; and the last states of the
            directions side by side, (B, width).

        Raises:
            ValueError: If ``src`` is not a matrix of known ids, or a row is all pads.
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
    """From what the decoder knows to a score for each word: one hidden layer.

    Cho et al. 2014 and Bahdanau et al. 2015 have a maxout layer here, we a tanh.

    Args:
        d_in: Width of the decoder's state, last word and context side by side.
        d_hidden: Width of the hidden layer.
        n_target: Number of target words.
        dropout: Share of the hidden layer set to 0 in training.
    """

    def __init__(self, d_in: int, d_hidden: int, n_target: int, dropout: float = 0.0):
        super().__init__()
        self.dropout = nn.Dropout(dropout)
        self.hidden = nn.Linear(d_in, d_hidden)
        self.out = nn.Linear(d_hidden, n_target)

    def forward(self, *parts: Tensor) -> Tensor:
        """Turn parts (..., their widths) into logits (..., V)."""
        hidden = self.dropout(self.hidden(torch.cat(parts, -1)))
        return self.out(torch.tanh(hidden))


class InitialState(nn.Module):
    """The source vector sets the decoder's first state, and is not seen again.

    Sutskever et al. 2014, with GRUs for LSTMs and an encoder that reads from both ends.

    Args:
        n_source: Number of source words.
        n_target: Number of target words.
        d_embed: Width of the word vectors.
        d_hidden: Width of the states.
        bidirectional: Passed to :class:`Encoder`.
        dropout: Of word vectors, and of the readout's hidden layer.
    """

    def __init__(
        self,
        n_source: int,
        n_target: int,
        d_embed: int = 32,
        d_hidden: int = 64,
        bidirectional: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(n_target=n_target)
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(n_source, d_embed, d_hidden, bidirectional, dropout)
        self.bridge = nn.Linear(self.encoder.width, d_hidden)
        self.embedding = nn.Embedding(n_target, d_embed, padding_idx=PAD)
        self.gru = nn.GRU(d_embed, d_hidden, batch_first=True)
        self.readout = Readout(d_hidden + d_embed, d_hidden, n_target, dropout)

    def start(self, src: Tensor) -> Tensor:
        """Read the source, (B, S), and return the decoder's first state, (B, H)."""
        _, c = self.encoder(src)  # (B, width)
        return torch.tanh(self.bridge(c))  # (B, H)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict every target word from those before it, all steps at once.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T); teacher forcing.

        Returns:
            Logits, (B, T, V).

        Raises:
            ValueError: If the two batches are of different size.
        """
        check_batch(src, tgt_in)
        s = self.start(src)  # (B, H)
        y = self.dropout(self.embedding(tgt_in))  # (B, T, E)
        states, _ = self.gru(y, s[None])  # (B, T, H)
        return self.readout(states, y)  # (B, T, V)

    def step(self, token: Tensor, s: Tensor) -> tuple[Tensor, Tensor]:
        """Take one step of decoding.

        Args:
            token: The word just said, (B,).
            s: State, (B, H).

        Returns:
            Logits of the next word, (B, V), and the new state, (B, H).
        """
        y = self.dropout(self.embedding(token))  # (B, E)
        _, s = self.gru(y[:, None], s[None])  # (1, B, H)
        return self.readout(s[0], y), s[0]


class StaticState(NamedTuple):
    """What :class:`StaticContext` carries from step to step."""

    s: Tensor  # (B, H)      decoder state
    c: Tensor  # (B, width)  context, the same at every step


class StaticContext(nn.Module):
    """The source vector is fed to every step of the decoder, and to its output.

    Cho et al. 2014, section 2.2: s_i = f(s_{i-1}, y_{i-1}, c) and
    p(y_i | y_<i, x) = g(s_i, y_{i-1}, c).

    Args:
        n_source: Number of source words.
        n_target: Number of target words.
        d_embed: Width of the word vectors.
        d_hidden: Width of the states.
        summary: What the vector is: "last", the encoder's last states, or "mean", the
            mean of all its states.
        dropout: Of word vectors, and of the readout's hidden layer.

    Raises:
        ValueError: If ``summary`` is neither.
    """

    def __init__(
        self,
        n_source: int,
        n_target: int,
        d_embed: int = 32,
        d_hidden: int = 64,
        summary: str = "last",
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(n_target=n_target)
        if summary not in ("last", "mean"):
            raise ValueError(f"summary is {summary!r}; choose 'last' or 'mean'")
        self.summary = summary
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(n_source, d_embed, d_hidden, dropout=dropout)
        width = self.encoder.width
        self.bridge = nn.Linear(width, d_hidden)
        self.embedding = nn.Embedding(n_target, d_embed, padding_idx=PAD)
        self.gru = nn.GRU(d_embed + width, d_hidden, batch_first=True)
        self.readout = Readout(d_hidden + d_embed + width, d_hidden, n_target, dropout)

    def start(self, src: Tensor) -> StaticState:
        """Read the source, (B, S), and return the first state and the context."""
        states, c = self.encoder(src)  # (B, S, width), (B, width)
        if self.summary == "mean":
            # The states are zero at pads, so the sum runs over real tokens alone.
            c = states.sum(1) / padding_mask(src).sum(1, keepdim=True)
        return StaticState(torch.tanh(self.bridge(c)), c)

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict every target word from those before it; as :class:`InitialState`."""
        check_batch(src, tgt_in)
        s, c = self.start(src)
        c = c[:, None].expand(-1, tgt_in.shape[1], -1)  # (B, T, width)
        y = self.dropout(self.embedding(tgt_in))  # (B, T, E)
        states, _ = self.gru(torch.cat([y, c], -1), s[None])  # (B, T, H)
        return self.readout(states, y, c)  # (B, T, V)

    def step(self, token: Tensor, state: StaticState) -> tuple[Tensor, StaticState]:
        """Take one step of decoding; as :class:`InitialState`."""
        y = self.dropout(self.embedding(token))  # (B, E)
        y_and_c = torch.cat([y, state.c], -1)[:, None]  # (B, 1, E + width)
        _, s = self.gru(y_and_c, state.s[None])  # (1, B, H)
        return self.readout(s[0], y, state.c), StaticState(s[0], state.c)
