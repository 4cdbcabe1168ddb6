"""Attention after the recurrent step: Luong, Pham and Manning (2015)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_batch, check_sizes, check_token
from attnbook.models.bahdanau import EncodedSource
from attnbook.models.seq2seq import Encoder
from attnbook.nn.layers import TokenEmbedding
from attnbook.nn.local_attention import make_alignment
from attnbook.nn.masks import padding_mask
from attnbook.nn.scores import make_score


class LuongState(NamedTuple):
    """The decoder state of :class:`Luong`."""

    s: Tensor  # (B, H)
    h_tilde: Tensor  # (B, H)  zeros before the first step
    t: int  # index of the next step, from 0
    source: EncodedSource
    weights: Tensor  # (B, S)  of the latest step; zeros before the first


class Luong(nn.Module):
    """The recurrent step comes first, attention second: s_t → α_t → c_t → h̃_t.

    Luong et al. 2015, equations 5 to 10, with one layer of GRUs instead of four of
    LSTMs, and a bidirectional encoder. Its two directions together are as wide as the
    decoder state, so that a dot product is possible.

    Args:
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens.
        d_embed: Width of the token embeddings.
        d_hidden: Width H of the decoder state; even.
        score: "dot", "general", "concat" or "location".
        align: "global", "local-m" or "local-p".
        half_width: D of local attention.
        input_feeding: Whether the h̃ of each step is an input of the next (§3.3).
        dropout: Dropout rate of the token embeddings and of the h̃ before the output
            layer.

    Raises:
        ValueError: If a size or a name is invalid, or they do not go together.

    Examples:
        >>> from attnbook.models import Luong
        >>> model = Luong(source_vocab_size=9, target_vocab_size=11)
        >>> src, tgt_in = torch.tensor([[4, 5, 2]]), torch.tensor([[1, 6, 7, 8]])
        >>> model(src, tgt_in).shape  # logits, (B, T, V)
        torch.Size([1, 4, 11])
    """

    def __init__(
        self,
        source_vocab_size: int,
        target_vocab_size: int,
        d_embed: int = 32,
        d_hidden: int = 128,
        score: str = "general",
        align: str = "global",
        half_width: int | None = None,
        input_feeding: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(target_vocab_size=target_vocab_size, d_hidden=d_hidden)
        if d_hidden % 2:
            raise ValueError(
                f"d_hidden is {d_hidden}; it must be even, one half for each "
                "direction of the encoder"
            )
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(
            source_vocab_size, d_embed, d_hidden // 2, dropout=dropout
        )
        self.bridge = nn.Linear(d_hidden, d_hidden)
        self.embedding = TokenEmbedding(target_vocab_size, d_embed)
        self.input_feeding = input_feeding
        width = d_embed + (d_hidden if input_feeding else 0)
        self.gru = nn.GRU(width, d_hidden, batch_first=True)
        self.score = make_score(score, d_hidden, d_hidden)
        self.align = make_alignment(align, d_hidden, half_width)
        self.combine = nn.Linear(2 * d_hidden, d_hidden, bias=False)  # W_c
        self.out = nn.Linear(d_hidden, target_vocab_size, bias=False)  # W_s

    def start(self, src: Tensor) -> LuongState:
        """Encode the source, (B, S), and return the initial state."""
        states, last = self.encoder(src)  # (B, S, H), (B, H)
        source = EncodedSource(states, self.score.prepare(states), padding_mask(src))
        s = torch.tanh(self.bridge(last))
        return LuongState(
            s, torch.zeros_like(s), 0, source, torch.zeros_like(states[..., 0])
        )

    def attend(
        self, s: Tensor, first_step: int, source: EncodedSource
    ) -> tuple[Tensor, Tensor]:
        """Compute T attentional states from T decoder states: equations 5 and 7.

        Args:
            s: Decoder states, (B, T, H).
            first_step: Index of the first of the T steps.
            source: The encoded source.

        Returns:
            h̃, (B, T, H), and the attention weights, (B, T, S).
        """
        scores = self.score(s, source.keys)  # (B, T, S)
        weights = self.align(scores, s, first_step, source.mask)  # (B, T, S)
        weights = weights.to(source.states.dtype)
        c = weights @ source.states  # (B, T, H)
        return torch.tanh(self.combine(torch.cat([c, s], -1))), weights

    def step(self, token: Tensor, state: LuongState) -> tuple[Tensor, LuongState]:
        """Take one decoding step.

        Args:
            token: The previous output token, (B,).
            state: The state after the previous step.

        Returns:
            Logits of the next token, (B, V), and the new state.
        """
        check_token(token, len(state.s))
        x = self.dropout(self.embedding(token))  # (B, E)
        if self.input_feeding:
            x = torch.cat([x, state.h_tilde], -1)  # (B, E + H)
        _, s = self.gru(x[:, None], state.s[None])  # (1, B, H)
        h_tilde, weights = self.attend(s.transpose(0, 1), state.t, state.source)
        new = LuongState(s[0], h_tilde[:, 0], state.t + 1, state.source, weights[:, 0])
        return self.out(self.dropout(h_tilde[:, 0])), new

    def forward(
        self, src: Tensor, tgt_in: Tensor, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predict each target token from those before it.

        Without input feeding no decoder state depends on the attention, so all T states
        and then the attention of all T steps are computed at once. With it, they are
        computed step by step.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T): teacher forcing.
            need_weights: Whether to return the weights too.

        Returns:
            Logits, (B, T, V); with ``need_weights`` also the weights, (B, T, S).

        Raises:
            ValueError: If the batch sizes differ.
        """
        check_batch(src, tgt_in)
        state = self.start(src)
        if self.input_feeding:
            logits, weights = self._step_by_step(tgt_in, state)
        else:
            y = self.dropout(self.embedding(tgt_in))  # (B, T, E)
            s, _ = self.gru(y, state.s[None])  # (B, T, H)
            h_tilde, weights = self.attend(s, 0, state.source)
            logits = self.out(self.dropout(h_tilde))  # (B, T, V)
        return (logits, weights) if need_weights else logits

    def _step_by_step(self, tgt_in: Tensor, state: LuongState) -> tuple[Tensor, Tensor]:
        logits, weights = [], []
        for token in tgt_in.unbind(dim=1):
            step, state = self.step(token, state)
            logits.append(step)
            weights.append(state.weights)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1)
