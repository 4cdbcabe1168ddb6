r"""Attention scores of Bahdanau et al. 2015 and Luong et al. 2015.

A score compares a query, the decoder's state, with keys, the encoder's states. All four
have one interface::

    score = make_score("general", d_query=64, d_key=128)
    keys = score.prepare(states)   # once per sentence: what does not need the query
    e = score(query, keys)         # (B, T, Q), (B, S, ·) → (B, T, S)

``prepare`` is called once per sentence, the score itself at each decoding step. Dot
products of 16-bit numbers are float32: they are not scaled, and float16 ends at 65,504.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.precision import dot_products

MAX_SOURCE_LEN = 64
"""Default number of source positions of a location score; eight clauses of the toy
language have no more."""


class AdditiveScore(nn.Module):
    r"""Additive score, a small network: :math:`v^\top \tanh(W s + U h)`.

    Bahdanau et al. 2015, section 3.1 and appendix A.1.2. Luong et al. 2015 call it
    *concat* and write :math:`v^\top \tanh(W_a [s; h])`, which is the same: W and U are
    the two halves of :math:`W_a`.

    Args:
        d_query: Width Q of the query s.
        d_key: Width K of a state h.
        d_attention: Width A of the hidden layer.
    """

    def __init__(self, d_query: int, d_key: int, d_attention: int = 64):
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key, d_attention=d_attention)
        self.W = nn.Linear(d_query, d_attention, bias=False)
        self.U = nn.Linear(d_key, d_attention, bias=False)
        self.v = nn.Linear(d_attention, 1, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        """Compute U h for all positions at once: (B, S, K) → (B, S, A)."""
        check_shape("states", states, "S", self.U.in_features)
        return self.U(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, Q) against prepared (B, S, A): (B, T, S)."""
        check_shapes(query, self.W.in_features, keys, self.U.out_features)
        hidden = torch.tanh(self.W(query)[:, :, None] + keys[:, None])  # (B, T, S, A)
        return self.v(hidden).squeeze(-1)  # (B, T, S)


class DotScore(nn.Module):
    r"""Dot product, :math:`s^\top h`, without parameters: Luong et al. 2015.

    Args:
        d_query: Width Q of the query s.
        d_key: Width K of a state h; must equal Q.

    Raises:
        ValueError: If the widths differ.
    """

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key)
        if d_query != d_key:
            raise ValueError(
                f"a dot product needs two vectors of equal width, not {d_query} and "
                f"{d_key}; make them equal, or choose 'general', which has a matrix "
                "in between"
            )
        self.width = d_key

    def prepare(self, states: Tensor) -> Tensor:
        """Return the states unchanged: (B, S, K)."""
        check_shape("states", states, "S", self.width)
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, K) against (B, S, K): (B, T, S)."""
        check_shapes(query, self.width, keys, self.width)
        return dot_products(query, keys)  # (B, T, S)


class GeneralScore(nn.Module):
    r"""Bilinear score, :math:`s^\top W h`: "general" in Luong et al. 2015.

    Args:
        d_query: Width Q of the query s.
        d_key: Width K of a state h.
    """

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key)
        self.W = nn.Linear(d_key, d_query, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        """Compute W h for all positions at once: (B, S, K) → (B, S, Q)."""
        check_shape("states", states, "S", self.W.in_features)
        return self.W(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, Q) against prepared (B, S, Q): (B, T, S)."""
        check_shapes(query, self.W.out_features, keys, self.W.out_features)
        return dot_products(query, keys)  # (B, T, S)


class LocationScore(nn.Module):
    """Location-based score, :math:`W s`: one learned row of W per source position.

    Luong et al. 2015, equation 8: the score of position j is component j of W s. It
    depends on the query and the position only, not on the source states. A short source
    uses the first rows (footnote 6).

    Args:
        d_query: Width Q of the query s.
        d_key: Width of a state; not used.
        max_len: Number of source positions that have a row.
    """

    def __init__(self, d_query: int, d_key: int, max_len: int = MAX_SOURCE_LEN):
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key, max_len=max_len)
        self.W = nn.Linear(d_query, max_len, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        """Return the states unchanged, (B, S, K); only their number S is used.

        Raises:
            ValueError: If there are more positions than rows.
        """
        if states.shape[1] > self.W.out_features:
            raise ValueError(
                f"the source has {states.shape[1]} positions, but the location score "
                f"has {self.W.out_features}; shorten the source, choose another score, "
                "or make a LocationScore with a larger `max_len`"
            )
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, Q) at the S positions of ``keys``, (B, S, ·): (B, T, S)."""
        check_shapes(query, self.W.in_features, keys, keys.shape[-1])
        return self.W(query)[..., : keys.shape[1]]  # (B, T, S)


SCORES = {
    "dot": DotScore,
    "general": GeneralScore,
    "concat": AdditiveScore,
    "location": LocationScore,
}


def make_score(name: str, d_query: int, d_key: int) -> nn.Module:
    """Create a score by its name in Luong et al. 2015.

    Args:
        name: "dot", "general", "concat" or "location".
        d_query: Width of the query.
        d_key: Width of a state.

    Returns:
        The score.

    Raises:
        ValueError: If there is no score of that name.
    """
    if name not in SCORES:
        raise ValueError(f"no score is named {name!r}; choose among {[*SCORES]}")
    return SCORES[name](d_query, d_key)


def check_shapes(query: Tensor, d_query: int, keys: Tensor, d_key: int) -> None:
    """Raise a ValueError unless the two are (B, T, d_query) and (B, S, d_key)."""
    check_shape("query", query, "T", d_query)
    check_shape("keys", keys, "S", d_key)
    if len(query) != len(keys):
        raise ValueError(
            f"the batch has {len(query)} rows of queries, but {len(keys)} of keys; row "
            "i of both must belong to the same sentence"
        )


def check_shape(name: str, tensor: Tensor, letter: str, width: int) -> None:
    """Raise a ValueError unless ``tensor`` is (B, T or S, width)."""
    if tensor.dim() != 3 or tensor.shape[-1] != width:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}; it must be "
            f"(B, {letter}, {width}), batch first"
        )
