r"""A decoder-only language model: Radford et al. 2018, section 3.1.

.. math::

   h_0 = U W_e + W_p, \quad h_l = \mathrm{block}(h_{l-1}), \quad
   P = \mathrm{softmax}(h_n W_e^\top)
"""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.core.checks import (
    check_ids,
    check_known,
    check_padded_right,
    check_sizes,
    check_token,
)
from attnbook.core.vocabulary import BOS, EOS
from attnbook.nn.layers import EncoderStack, TransformerConfig, check_config, look_up
from attnbook.nn.masks import target_mask
from attnbook.nn.multi_head import KeysValues

INITIAL_STD = 0.02
"""Standard deviation of both tables at initialisation (Radford et al. 2018, § 4.1)."""


class LanguageState(NamedTuple):
    """What :class:`LanguageModel` carries from step to step."""

    layers: tuple[KeysValues, ...]
    last: Tensor | None = None  # (B,)  of a prompt, not yet read: the next step does

    @property
    def position(self) -> int:
        """The position of the next token, as many having been read."""
        return self.layers[0].k.shape[2]


class LanguageModel(nn.Module):
    """Predicts each token from those before it: encoder layers with a causal mask.

    Each way of decoding continues a prompt, and returns what follows it::

        prompt = torch.tensor([[BOS, *subwords.encode("A man in")]])
        ids = greedy(model.eval(), prompt, max_len=20)  # (1, at most 20)

    Several prompts in a batch must have one length; ``prompt[:, :0]`` is none, for
    texts from their first word on.

    Args:
        config: The sizes; ``source_vocab_size`` is that of the one vocabulary, V.
        max_len: Number of positions that have a vector, ``BOS`` included.

    Examples:
        >>> from attnbook.models import LanguageModel
        >>> from attnbook.nn import TransformerConfig
        >>> sizes = {"d_model": 16, "n_heads": 2, "n_layers": 1, "d_ff": 32}
        >>> model = LanguageModel(TransformerConfig(9, **sizes), max_len=20)
        >>> model(torch.tensor([[1, 4, 5]])).shape  # logits, (B, T, V)
        torch.Size([1, 3, 9])
    """

    def __init__(self, config: TransformerConfig, max_len: int):
        super().__init__()
        check_config(config)
        check_sizes(max_len=max_len)
        self.W_e = make_table(config.source_vocab_size, config.d_model)  # (V, D)
        self.W_p = make_table(max_len, config.d_model)  # (max_len, D)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = EncoderStack(config)

    def forward(self, ids: Tensor) -> Tensor:
        """Predict the token after each position, all at once.

        Args:
            ids: ``BOS`` and the tokens, (B, T), padded on the right.

        Returns:
            Logits, (B, T, V).

        Raises:
            ValueError: If the sequence is longer than ``max_len``, or the ids are not
                of the vocabulary, or not so padded.
        """
        check_ids(ids=ids)
        check_padded_right(ids=ids)
        h = self.dropout(embed(ids, self.W_e, self.W_p))  # (B, T, D)
        return self.stack(h, target_mask(ids)) @ self.W_e.T  # (B, T, V)

    def start(self, prompt: Tensor) -> LanguageState:
        """Read what B texts begin with.

        A decoder gives ``BOS`` to the first step. It has been read before the prompt by
        then, and the step reads the prompt's last token in its place.

        Args:
            prompt: Token ids, (B, P), with ``BOS`` or without; P may be 0.

        Raises:
            ValueError: If there is no row, an id is not in the vocabulary, or the
                prompts are not of one length.
        """
        check_ids(prompt=prompt)
        check_known(prompt, len(self.W_e), "prompt")
        if not len(prompt):
            raise ValueError("a batch of 0 prompts; give at least one row")
        state = LanguageState(self.stack.start(self.W_e.new_empty(len(prompt), 0)))
        if (prompt[:, :1] == BOS).all():
            prompt = prompt[:, 1:]  # (B, P - 1), or (B, 0) as before
        if (prompt < EOS).any():
            raise ValueError(
                "a prompt has padding, or BOS after its beginning; prompts that are "
                "continued together must have one length: continue those of each "
                "length in a batch of their own"
            )
        if not prompt.shape[1]:
            return state
        bos = torch.full_like(prompt[:, :1], BOS)
        read = torch.cat([bos, prompt[:, :-1]], 1)  # (B, P)
        return LanguageState(self._read(read, state)[1], prompt[:, -1])

    def step(self, token: Tensor, state: LanguageState) -> tuple[Tensor, LanguageState]:
        """Read one token more and predict the next.

        Args:
            token: The previous token, (B,); ``BOS`` in the first step after a prompt.
            state: The state after the tokens before it; it is not changed.

        Returns:
            Logits of the next token, (B, V), and the new state.
        """
        check_token(token, len(state.layers[0].k))
        if state.last is not None:
            if (token != BOS).any():
                raise ValueError(
                    f"token is {token.tolist()} in the first step after a prompt; give "
                    "BOS, as decoders do: the prompt's last token is read in its place"
                )
            token = state.last
        h, layers = self._read(token[:, None], state)  # (B, 1, D)
        return (h @ self.W_e.T)[:, 0], LanguageState(layers)

    def _read(self, ids: Tensor, state: LanguageState) -> tuple[Tensor, tuple]:
        """Vectors of further tokens, (B, T) to (B, T, D), and the longer cache."""
        h = embed(ids, self.W_e, self.W_p, state.position)  # (B, T, D)
        return self.stack.step(self.dropout(h), state.layers)


def make_table(rows: int, d_model: int) -> nn.Parameter:
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
        ValueError: If a position or a token has no vector.
    """
    end = offset + ids.shape[1]
    if end > len(W_p):
        raise ValueError(
            f"the text has {end} positions, but only {len(W_p)} have a vector; cut the "
            "text, or make the model with a larger max_len"
        )
    return look_up(ids, W_e) + W_p[offset:end]
