"""What attention refuses, and what it says then: shapes, types and masks."""

from __future__ import annotations

import torch
from torch import Tensor


def check_tensors(**tensors: Tensor) -> None:
    """Raise a ValueError that names the first argument which is no tensor."""
    for name, x in tensors.items():
        if not isinstance(x, Tensor):
            raise ValueError(
                f"{name} is a {type(x).__name__}; it must be a tensor: "
                f"torch.as_tensor({name}) makes one of lists and arrays"
            )


def check_inputs(q: Tensor, k: Tensor, v: Tensor) -> None:
    """Raise a ValueError unless queries, keys and values belong together."""
    check_tensors(q=q, k=k, v=v)
    for name, tensor in (("q", q), ("k", k), ("v", v)):
        if tensor.dim() < 2:
            raise ValueError(
                f"{name} has shape {tuple(tensor.shape)}; it needs an axis of "
                "positions and one of features: x[None] makes one vector a matrix"
            )
    if not q.is_floating_point() or not q.dtype == k.dtype == v.dtype:
        kind = "q.dtype" if q.is_floating_point() else "torch.float32"
        raise ValueError(
            f"q, k and v are of types {q.dtype}, {k.dtype} and {v.dtype}; they must be "
            f"of one floating-point type: x.to({kind}) turns others into it"
        )
    if not q.shape[:-2] == k.shape[:-2] == v.shape[:-2]:
        raise ValueError(
            f"q, k and v have shapes {tuple(q.shape)}, {tuple(k.shape)} and "
            f"{tuple(v.shape)}; they must agree in all axes but the last two"
        )
    if q.shape[-1] != k.shape[-1]:
        raise ValueError(
            f"queries are {q.shape[-1]} wide, keys {k.shape[-1]}; a dot product needs "
            "one width d_k: project both to it"
        )
    if k.shape[-2] != v.shape[-2]:
        raise ValueError(
            f"there are {k.shape[-2]} keys, but {v.shape[-2]} values; each key needs "
            "one value: make both from the same S positions"
        )
    if k.shape[-2] == 0 or k.shape[-1] == 0:
        raise ValueError(
            f"k has shape {tuple(k.shape)}: there is no key (S = 0) or nothing in it "
            "(d_k = 0); a softmax needs at least one: leave empty sentences out"
        )


def check_lengths(t: int, s: int, offset: int) -> None:
    """Raise a ValueError unless there are queries, keys and no negative position."""
    if t < 1 or s < 1 or offset < 0:
        raise ValueError(
            f"no causal mask of {t} queries from position {offset} on and {s} keys; "
            "queries and keys are counted from 1 on, positions from 0 on"
        )


def check_mask(mask: Tensor, shape: torch.Size) -> None:
    """Raise a ValueError unless ``mask`` is bool and broadcasts to ``shape``."""
    check_tensors(mask=mask)
    if mask.dtype != torch.bool:
        remedy = "mask.bool() turns ones into True"
        if (mask < 0).any() or (mask.is_floating_point() and not mask.any()):
            remedy = (
                "mask == 0 turns one that is added to the scores, of 0 and -inf, into "
                "it; other numbers to add are a `score_bias`"
            )
        raise ValueError(
            f"the mask is of type {mask.dtype}; it must be torch.bool, True where a "
            f"query may attend: {remedy}"
        )
    if not broadcasts(mask.shape, shape):
        raise ValueError(
            f"the mask has shape {tuple(mask.shape)}, the scores {tuple(shape)}; each "
            "axis, counted from the last, must agree or be 1; a padding mask, (B, S), "
            "fits as mask[:, None, None], which key_mask(ids) makes"
        )


def check_score_bias(score_bias: Tensor, shape: torch.Size) -> None:
    """Raise a ValueError unless the bias is of numbers and broadcasts to ``shape``."""
    check_tensors(score_bias=score_bias)
    if not score_bias.is_floating_point():
        raise ValueError(
            f"score_bias is of type {score_bias.dtype}; it must hold numbers to add to "
            "the scores: what may be attended to is said by `mask`"
        )
    if not broadcasts(score_bias.shape, shape):
        raise ValueError(
            f"score_bias has shape {tuple(score_bias.shape)}, the scores "
            f"{tuple(shape)}; each axis, counted from the last, must agree or be 1"
        )


def check_multi_head(
    d_model: int,
    query: Tensor,
    key: Tensor | None,
    value: Tensor | None,
    cache: tuple[Tensor, Tensor] | None = None,
) -> None:
    """Raise a ValueError unless inputs are (B, T, D) and (B, S, D), or cached."""
    given = {"query": query, "key": key, "value": value}
    if cache is not None:
        given = {"query": query}
    elif key is None or value is None:
        raise ValueError(
            "there is no key or no value; give both, three times the same tensor for "
            "self-attention, or a `cache`, which keys_values makes"
        )
    check_tensors(**given)
    for name, x in given.items():
        if x.dim() != 3 or x.shape[-1] != d_model:
            raise ValueError(
                f"{name} has shape {tuple(x.shape)}; it must be (B, "
                f"{'T' if name == 'query' else 'S'}, {d_model}), batch first"
            )
    if cache is None and not len(query) == len(key) == len(value):
        raise ValueError(
            f"query, key and value have {len(query)}, {len(key)} and {len(value)} "
            "sentences; row i of each must belong together"
        )


def check_heads(d_model: int, n_heads: int) -> None:
    """Raise a ValueError unless D can be divided among the heads."""
    if d_model % n_heads:
        raise ValueError(
            f"d_model = {d_model} cannot be divided among {n_heads} heads; choose "
            f"a multiple, such as {n_heads * (d_model // n_heads + 1)}"
        )


def check_groups(n_heads: int, n_groups: int) -> None:
    """Raise a ValueError unless the heads can be divided into groups."""
    if n_heads % n_groups:
        raise ValueError(
            f"{n_heads} heads cannot be divided into {n_groups} groups; choose a "
            "number of groups that divides the number of heads"
        )


def check_axes(**masks: Tensor | None) -> None:
    """Raise a ValueError if the first of three axes may be B or H.

    With B = H both readings would fit, and the wrong one would go unnoticed.
    """
    for name, x in masks.items():
        if isinstance(x, Tensor) and x.dim() == 3:
            raise ValueError(
                f"{name} has shape {tuple(x.shape)}: is its first axis B or H? "
                f"{name}[:, None] says one for each sentence, {name}[None] for "
                "each head"
            )


def broadcasts(small: torch.Size, shape: torch.Size) -> bool:
    """Whether a tensor of one shape broadcasts to the other, without making it grow.

    Axes are counted from the last: each must agree or be 1.
    """
    pairs = zip(reversed(small), reversed(shape), strict=False)
    return len(small) <= len(shape) and all(m in (1, s) for m, s in pairs)
