"""Attention as Bahdanau, Cho and Bengio (2015) introduced it."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_batch, check_sizes
from attnbook.core.vocabulary import PAD
from attnbook.models.seq2seq import Encoder, Readout
from attnbook.nn.masks import masked_softmax, padding_mask
from attnbook.nn.scores import AdditiveScore


class Source(NamedTuple):
    """The source as the decoder sees it; computed once a sentence."""

    states: Tensor  # (B, S, width)  annotations h_j
    keys: Tensor  # (B, S, A)        U h_j
    mask: Tensor  # (B, S)           True at real tokens


class BahdanauState(NamedTuple):
    """What :class:`Bahdanau` carries from step to step."""

    s: Tensor  # (B, H)
    source: Source
    weights: Tensor  # (B, S)  of the step just taken; zeros before the first


class Bahdanau(nn.Module):
    """Each target word gets a context of its own: a weighted mean of encoder states.

    Bahdanau et al. 2015: equations 4 to 6 and appendix A.2, with a tanh for the maxout
    layer. One step is s_{i-1} → e_i → α_i → c_i → s_i.

    Args:
        n_source: Number of source words.
        n_target: Number of target words.
        d_embed: Width of the word vectors.
        d_hidden: Width of the states, in each direction of the encoder.
        d_attention: Width of the score's hidden layer.
        dropout: Of word vectors, and of the readout's hidden layer.
    """

    def __init__(
        self,
        n_source: int,
        n_target: int,
        d_embed: int = 32,
        d_hidden: int = 64,
        d_attention: int = 64,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(n_target=n_target)
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(n_source, d_embed, d_hidden, dropout=dropout)
        width = self.encoder.width
        self.bridge = nn.Linear(d_hidden, d_hidden)
        self.score = AdditiveScore(d_hidden, width, d_attention)
        self.embedding = nn.Embedding(n_target, d_embed, padding_idx=PAD)
        self.cell = nn.GRUCell(d_embed + width, d_hidden)
        self.readout = Readout(d_hidden + d_embed + width, d_hidden, n_target, dropout)

    def start(self, src: Tensor) -> BahdanauState:
        """Read the source, (B, S), and return the first state."""
        states, last = self.encoder(src)  # (B, S, width), (B, width)
        backward = last[:, self.cell.hidden_size :]  # at the first word; (B, H)
        s = torch.tanh(self.bridge(backward))
        mask = padding_mask(src)
        source = Source(states, self.score.prepare(states), mask)
        return BahdanauState(s, source, torch.zeros_like(states[..., 0]))

    def attend(self, s: Tensor, source: Source) -> tuple[Tensor, Tensor]:
        """Compute a context for the state s_{i-1}: equations 5 and 6.

        Args:
            s: (B, H).
            source: The source.

        Returns:
            c_i, (B, width), and the weights α_i, (B, S).
        """
        scores = self.score(s[:, None], source.keys)[:, 0]  # e_ij: (B, S)
        weights = masked_softmax(scores, source.mask)  # (B, S)
        context = (weights[:, None] @ source.states)[:, 0]  # (B, width)
        return context, weights

    def step(self, token: Tensor, state: BahdanauState) -> tuple[Tensor, BahdanauState]:
        """Take one step of decoding.

        Args:
            token: The word just said, (B,).
            state: The state after saying it.

        Returns:
            Logits of the next word, (B, V), and the new state.
        """
        y = self.dropout(self.embedding(token))  # (B, E)
        c, weights = self.attend(state.s, state.source)
        s = self.cell(torch.cat([y, c], -1), state.s)  # (B, H)
        return self.readout(s, y, c), BahdanauState(s, state.source, weights)

    def forward(
        self, src: Tensor, tgt_in: Tensor, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predict every target word from those before it.

        The steps wait for each other: a context needs the state before it, and a state
        the context before it.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T); teacher forcing.
            need_weights: Whether to return the weights too.

        Returns:
            Logits, (B, T, V); with ``need_weights`` also α, (B, T, S).

        Raises:
            ValueError: If the two batches are of different size.
        """
        check_batch(src, tgt_in)
        state = self.start(src)
        logits, weights = [], []
        for token in tgt_in.unbind(dim=1):
            step, state = self.step(token, state)
            logits.append(step)
            weights.append(state.weights)
        logits = torch.stack(logits, dim=1)  # (B, T, V)
        return (logits, torch.stack(weights, dim=1)) if need_weights else logits
