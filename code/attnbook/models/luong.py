"""Attention after the recurrent step: Luong, Pham and Manning (2015)."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_batch, check_sizes
from attnbook.core.vocabulary import PAD
from attnbook.models.bahdanau import Source
from attnbook.models.seq2seq import Encoder
from attnbook.nn.local_attention import make_alignment
from attnbook.nn.masks import padding_mask
from attnbook.nn.scores import make_score


class LuongState(NamedTuple):
    """What :class:`Luong` carries from step to step."""

    h: Tensor  # (B, H)
    h_tilde: Tensor  # (B, H)  zeros before the first step
    t: int  # number of the step to come, from 0
    source: Source
    weights: Tensor  # (B, S)  of the step just taken; zeros before the first


class Luong(nn.Module):
    """The decoder moves first and looks then: h_t → a_t → c_t → h̃_t.

    Luong et al. 2015, equations 5 to 10, with one layer of GRUs for four of LSTMs and
    an encoder that reads from both ends. Its two halves side by side are as wide as the
    decoder's state, so that a dot product is possible.

    Args:
        n_source: Number of source words.
        n_target: Number of target words.
        d_embed: Width of the word vectors.
        d_hidden: Width H of the decoder's state; even.
        score: "dot", "general", "concat" or "location".
        align: "global", "local-m" or "local-p".
        half_width: D of the local forms.
        input_feeding: Whether each step also reads the h̃ of the step before (§3.3).
        dropout: Of word vectors, and of the h̃ that the output layer reads.

    Raises:
        ValueError: If a size, a name or their combination is not possible.
    """

    def __init__(
        self,
        n_source: int,
        n_target: int,
        d_embed: int = 32,
        d_hidden: int = 128,
        score: str = "general",
        align: str = "global",
        half_width: int | None = None,
        input_feeding: bool = True,
        dropout: float = 0.0,
    ):
        super().__init__()
        check_sizes(n_target=n_target, d_hidden=d_hidden)
        if d_hidden % 2:
            raise ValueError(
                f"d_hidden is {d_hidden}; it must be even, one half for each "
                "direction of the encoder"
            )
        self.dropout = nn.Dropout(dropout)
        self.encoder = Encoder(n_source, d_embed, d_hidden // 2, dropout=dropout)
        self.bridge = nn.Linear(d_hidden, d_hidden)
        self.embedding = nn.Embedding(n_target, d_embed, padding_idx=PAD)
        self.input_feeding = input_feeding
        width = d_embed + (d_hidden if input_feeding else 0)
        self.gru = nn.GRU(width, d_hidden, batch_first=True)
        self.score = make_score(score, d_hidden, d_hidden)
        self.align = make_alignment(align, d_hidden, half_width)
        self.combine = nn.Linear(2 * d_hidden, d_hidden, bias=False)  # W_c
        self.out = nn.Linear(d_hidden, n_target, bias=False)  # W_s

    def start(self, src: Tensor) -> LuongState:
        """Read the source, (B, S), and return the first state."""
        states, last = self.encoder(src)  # (B, S, H), (B, H)
        source = Source(states, self.score.prepare(states), padding_mask(src))
        h = torch.tanh(self.bridge(last))
        return LuongState(
            h, torch.zeros_like(h), 0, source, torch.zeros_like(states[..., 0])
        )

    def attend(self, h: Tensor, first: int, source: Source) -> tuple[Tensor, Tensor]:
        """From T states to T attentional states: equations 5 and 7.

        Args:
            h: (B, T, H).
            first: Number of the first of the T steps.
            source: The source.

        Returns:
            h̃, (B, T, H), and the weights, (B, T, S).
        """
        scores = self.score(h, source.keys)  # (B, T, S)
        weights = self.align(scores, h, first, source.mask)  # (B, T, S)
        c = weights @ source.states  # (B, T, H)
        return torch.tanh(self.combine(torch.cat([c, h], -1))), weights

    def step(self, token: Tensor, state: LuongState) -> tuple[Tensor, LuongState]:
        """Take one step of decoding.

        Args:
            token: The word just said, (B,).
            state: The state after saying it.

        Returns:
            Logits of the next word, (B, V), and the new state.
        """
        read = self.dropout(self.embedding(token))  # (B, E)
        if self.input_feeding:
            read = torch.cat([read, state.h_tilde], -1)  # (B, E + H)
        _, h = self.gru(read[:, None], state.h[None])  # (1, B, H)
        h_tilde, weights = self.attend(h.transpose(0, 1), state.t, state.source)
        new = LuongState(h[0], h_tilde[:, 0], state.t + 1, state.source, weights[:, 0])
        return self.out(self.dropout(h_tilde[:, 0])), new

    def forward(
        self, src: Tensor, tgt_in: Tensor, need_weights: bool = False
    ) -> Tensor | tuple[Tensor, Tensor]:
        """Predict every target word from those before it.

        Without input feeding no state depends on the attention, so all T states, and
        then all T looks at the source, are computed at once. With it, step by step.

        Args:
            src: Source ids, (B, S).
            tgt_in: Target ids shifted right by one, (B, T); teacher forcing.
            need_weights: Whether to return the weights too.

        Returns:
            Logits, (B, T, V); with ``need_weights`` also the weights, (B, T, S).

        Raises:
            ValueError: If the two batches are of different size.
        """
        check_batch(src, tgt_in)
        state = self.start(src)
        if self.input_feeding:
            logits, weights = self._step_by_step(tgt_in, state)
        else:
            y = self.dropout(self.embedding(tgt_in))  # (B, T, E)
            h, _ = self.gru(y, state.h[None])  # (B, T, H)
            h_tilde, weights = self.attend(h, 0, state.source)
            logits = self.out(self.dropout(h_tilde))  # (B, T, V)
        return (logits, weights) if need_weights else logits

    def _step_by_step(self, tgt_in: Tensor, state: LuongState) -> tuple[Tensor, Tensor]:
        logits, weights = [], []
        for token in tgt_in.unbind(dim=1):
            step, state = self.step(token, state)
            logits.append(step)
            weights.append(state.weights)
        return torch.stack(logits, dim=1), torch.stack(weights, dim=1)
