"""Attention before the recurrent step: Bahdanau, Cho and Bengio (2015)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_batch, check_sizes, check_token
from attnbook.models.seq2seq import Encoder, Readout
from attnbook.nn.layers import TokenEmbedding
from attnbook.nn.masks import masked_softmax, padding_mask
from attnbook.nn.scores import AdditiveScore


class EncodedSource(NamedTuple):
    """What the decoder needs of the source; computed once per sentence."""

    states: Tensor  # (B, S, width)  annotations h_j
    keys: Tensor  # (B, S, A)        U h_j
    mask: Tensor  # (B, S)           True at real tokens


class BahdanauState(NamedTuple):
    """The decoder state of :class:`Bahdanau`."""

    s: Tensor  # (B, H)
    source: EncodedSource
    weights: Tensor  # (B, S)  of the latest step; zeros before the first


class Bahdanau(nn.Module):
    """Each target token has its own context vector: a weighted mean of encoder states.

    Bahdanau et al. 2015: equations 4 to 6 and appendix A.2, with a tanh layer instead
    of the maxout layer. One step is s_{i-1} → e_i → α_i → c_i → s_i.

    Args:
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens.
        d_embed: Width of the token embeddings.
        d_hidden: Width of the decoder state, and of each direction of the encoder.
        d_attention: Width of the score's hidden layer.
        dropout: Dropout rate of the token embeddings and of the readout's hidden layer.

    Examples:
        >>> from attnbook.models import Bahdanau
        >>> model = Bahdanau(source_vocab_size=9, target_vocab_size=11)
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
        d_attention: int = 64,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(target_vocab_size=target_vocab_size)
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(source_vocab_size, d_embed, d_hidden, dropout=dropout)
        width = self.encoder.width
        self.bridge = nn.Linear(d_hidden, d_hidden)
        self.score = AdditiveScore(d_hidden, width, d_attention)
        self.embedding = TokenEmbedding(target_vocab_size, d_embed)
        self.cell = nn.GRUCell(d_embed + width, d_hidden)
        self.readout = Readout(
            d_hidden + d_embed + width, d_hidden, target_vocab_size, dropout
        )

    def start(self, src: Tensor) -> BahdanauState:
        """Encode the source, (B, S), and return the initial state."""
        states, last = self.encoder(src)  # (B, S, width), (B, width)
        backward = last[:, self.cell.hidden_size :]  # at the first token; (B, H)
        s = torch.tanh(self.bridge(backward))
        mask = padding_mask(src)
        source = EncodedSource(states, self.score.prepare(states), mask)
        return BahdanauState(s, source, torch.zeros_like(states[..., 0]))

    def attend(self, s: Tensor, source: EncodedSource) -> tuple[Tensor, Tensor]:
        """Compute the context vector for the state s_{i-1}: equations 5 and 6.

        Args:
            s: Decoder state s_{i-1}, (B, H).
            source: The encoded source.

        Returns:
            c_i, (B, width), and the weights α_i, (B, S).
        """
        scores = self.score(s[:, None], source.keys)[:, 0]  # e_ij: (B, S)
        weights = masked_softmax(scores, source.mask)  # (B, S)
        context = (weights[:, None] @ source.states)[:, 0]  # (B, width)
        return context, weights

    def step(self, token: Tensor, state: BahdanauState) -> tuple[Tensor, BahdanauState]:
        """Take one decoding step.

        Args:
            token: The previous output token, (B,).
            state: The state after the previous step.

        Returns:
            Logits of the next token, (B, V), and the new state.
        """
        check_token(token, len(state.s))
        y = self.dropout(self.embedding(token))  # (B, E)
        c, weights = self.attend(state.s, state.source)
        s = self.cell(torch.cat([y, c], -1), state.s)  # (B, H)
        return self.readout(s, y, c), BahdanauState(s, state.source, weights)

    def forward(
        self, src: Tensor, tgt_in: Tensor, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predict each target token from those before it.

        The steps are sequential: each context depends on the previous state, and each
        state on its context.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T): teacher forcing.
            need_weights: Whether to return the weights too.

        Returns:
            Logits, (B, T, V); with ``need_weights`` also α, (B, T, S).

        Raises:
            ValueError: If the batch sizes differ.
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
