r"""How well does a source place fit what the decoder needs? Four scores.

They have one interface.

A score compares a query, the decoder's state, with keys, the encoder's states:

    score = make_score("general", d_query=64, d_key=128)
    keys = score.prepare(states)   # once a sentence: all that needs no query
    e = score(query, keys)         # (B, T, Q), (B, S, ·) → (B, T, S)

``prepare`` may be slow, as it is called once; the call itself is repeated at each step
of decoding.
"""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.checks import check_sizes

LONGEST = 64
"""Source places that a location score knows by default; eight clauses need 64."""


class AdditiveScore(nn.Module):
    r"""A small network with one hidden layer, :math:`v^\top \tanh(W s + U h)`.

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
        """Compute U h for all places at once: (B, S, K) → (B, S, A)."""
        check_shape("states", states, "S", self.U.in_features)
        return self.U(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, Q) against prepared (B, S, A): (B, T, S)."""
        check_shapes(query, self.W.in_features, keys, self.U.out_features)
        hidden = torch.tanh(self.W(query)[:, :, None] + keys[:, None])  # (B, T, S, A)
        return self.v(hidden).squeeze(-1)  # (B, T, S)


class DotScore(nn.Module):
    r"""The dot product, :math:`s^\top h`: nothing to learn. Luong et al. 2015.

    Args:
        d_query: Width Q of the query s.
        d_key: Width K of a state h; the same.

    Raises:
        ValueError: If the widths differ.
    """

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key)
        if d_query != d_key:
            raise ValueError(
                f"a dot product needs two vectors of one width, not {d_query} and "
                f"{d_key}; make them equal, or choose 'general', which has a matrix "
                "in between"
            )
        self.width = d_key

    def prepare(self, states: Tensor) -> Tensor:
        """Give the states back: (B, S, K)."""
        check_shape("states", states, "S", self.width)
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, K) against (B, S, K): (B, T, S)."""
        check_shapes(query, self.width, keys, self.width)
        return query @ keys.transpose(1, 2)  # (B, T, S)


class GeneralScore(nn.Module):
    r"""A dot product with a matrix in between, :math:`s^\top W h`. Luong et al. 2015.

    Args:
        d_query: Width Q of the query s.
        d_key: Width K of a state h.
    """

    def __init__(self, d_query: int, d_key: int):
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key)
        self.W = nn.Linear(d_key, d_query, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        """Compute W h for all places at once: (B, S, K) → (B, S, Q)."""
        check_shape("states", states, "S", self.W.in_features)
        return self.W(states)

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, Q) against prepared (B, S, Q): (B, T, S)."""
        check_shapes(query, self.W.out_features, keys, self.W.out_features)
        return query @ keys.transpose(1, 2)  # (B, T, S)


class LocationScore(nn.Module):
    """A learned row for each source place, :math:`W s`: what stands there is not seen.

    Luong et al. 2015, equation 8: the score of place j is entry j of a product with the
    query alone. A short source uses the first rows (footnote 6).

    Args:
        d_query: Width Q of the query s.
        d_key: Width of a state; not used.
        longest: Number of places that have a row.
    """

    def __init__(self, d_query: int, d_key: int, longest: int = LONGEST):
        super().__init__()
        check_sizes(d_query=d_query, d_key=d_key, longest=longest)
        self.W = nn.Linear(d_query, longest, bias=False)

    def prepare(self, states: Tensor) -> Tensor:
        """Give the states back, to be counted, not looked at: (B, S, K).

        Raises:
            ValueError: If there are more places than rows.
        """
        if states.shape[1] > self.W.out_features:
            raise ValueError(
                f"the source has {states.shape[1]} places, but the location score "
                f"has learned {self.W.out_features}; make it with a larger `longest`, "
                "or shorten the source"
            )
        return states

    def forward(self, query: Tensor, keys: Tensor) -> Tensor:
        """Score (B, T, Q) at as many places as ``keys``, (B, S, ·), has: (B, T, S)."""
        check_shapes(query, self.W.in_features, keys, keys.shape[-1])
        return self.W(query)[..., : keys.shape[1]]  # (B, T, S)


SCORES = {
    "dot": DotScore,
    "general": GeneralScore,
    "concat": AdditiveScore,
    "location": LocationScore,
}


def make_score(name: str, d_query: int, d_key: int) -> nn.Module:
    """Make a score by its name in Luong et al. 2015.

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
            f"{len(query)} queries for {len(keys)} sentences; row i of the one must "
            "belong to row i of the other"
        )


def check_shape(name: str, tensor: Tensor, letter: str, width: int) -> None:
    """Raise a ValueError unless ``tensor`` is (B, T or S, width)."""
    if tensor.dim() != 3 or tensor.shape[-1] != width:
        raise ValueError(
            f"{name} has shape {tuple(tensor.shape)}; it must be "
            f"(B, {letter}, {width}), batch first"
        )
