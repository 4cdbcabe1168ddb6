"""Multi-head attention, ``MultiHeadAttention(d_model, n_heads)``."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.course.ch04.part_attention import some_allowed
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    drawn,
    expect_close,
    expect_gradients,
    expect_no_loop,
    expect_parameters,
    expect_shape,
    filled,
    operations,
)
from attnbook.nn.multi_head import MultiHeadAttention

RULE = "Concat(head_1, …, head_H) W^O"
B, T, S, D, H = 2, 4, 5, 6, 3


def inputs(b: int = B, t: int = T, s: int = S, d: int = D) -> list[Tensor]:
    """Draw what queries, keys and values are made from."""
    return drawn(0, (b, t, d), (b, s, d), (b, s, d))


def reference(
    mha: nn.Module,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """Head after head, each with its own rows of the matrices: section 3.2.2."""
    d_k, heads = D // H, []
    for h in range(H):
        rows = slice(h * d_k, (h + 1) * d_k)
        q, k, v = (
            F.linear(x, linear.weight[rows], linear.bias[rows])
            for x, linear in ((query, mha.W_Q), (key, mha.W_K), (value, mha.W_V))
        )
        if mask is None:
            heads.append(F.scaled_dot_product_attention(q, k, v))
            continue
        allowed = mask.expand(len(q), H, q.shape[1], k.shape[1])[:, h]
        some = allowed.any(-1, keepdim=True)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed | ~some)
        heads.append(out * some)
    return mha.W_O(torch.cat(heads, -1))


def shapes(model: type) -> None:
    """The parameters, and the output."""
    mha = filled(model(D, H))
    linears = ("W_Q", "W_K", "W_V", "W_O")
    sizes = {f"{name}.weight": (D, D) for name in linears}
    expect_parameters(mha, sizes | {f"{name}.bias": (D,) for name in linears})
    expect_shape(mha(*inputs()), (B, T, D), "the output", "(B, T, D)")


def values(model: type) -> None:
    """Each head by itself, with its rows of the four matrices."""
    mha = filled(model(D, H))
    query, key, value = inputs()
    right = reference(mha, query, key, value)
    expect_close(mha(query, key, value), right, "the output", RULE)
    expect_close(
        mha(query, query, query),
        reference(mha, query, query, query),
        "the output of self-attention",
        RULE,
    )


def gradients(model: type) -> None:
    """With respect to the inputs and to every parameter."""
    mha = filled(model(D, H))
    given = inputs()
    named = dict(zip(("query", "key", "value"), given, strict=True))
    named |= {f"`{name}`": p for name, p in mha.named_parameters()}
    right = reference(mha, *given)
    expect_gradients(mha(*given), right, named, f"that of {RULE}")


def masks(model: type) -> None:
    """Of keys, of both, and one for each head; a fully masked row among them."""
    mha = filled(model(D, H))
    given = inputs()
    own = some_allowed((B, H, T, S))
    own[0, 1, 2] = False
    cases = {
        "(B, 1, 1, S)": some_allowed((B, 1, 1, S)),
        "(T, S)": some_allowed((T, S)),
        "(B, 1, T, S)": some_allowed((B, 1, T, S)),
        "(B, H, T, S)": own,
    }
    for letters, mask in cases.items():
        what = f"the output under a mask of shape {letters}"
        right = reference(mha, *given, mask)
        expect_close(mha(*given, mask), right, what, "that over the allowed keys")


def operation_count(model: type) -> None:
    """More heads and more sentences."""
    few, many = (
        operations(lambda n=n, b=b: filled(model(24, n))(*inputs(b, 4, 5, 24)))
        for n, b in ((2, 2), (12, 8))
    )
    expect_no_loop(few, many, "heads and sentences")


class _Other(MultiHeadAttention):
    """The right computation, in pieces that a mistake can replace."""

    def split(self, x):
        return x.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)  # (B, H, T, d_k)

    def merge(self, heads):
        return heads.transpose(1, 2).flatten(2)  # (B, T, D)

    def projected(self, query, key, value):
        return self.W_Q(query), self.W_K(key), self.W_V(value)

    def width(self, q):
        return q.shape[-1]

    def attend(self, q, k, v, mask):
        scores = q @ k.mT / self.width(q) ** 0.5
        if mask is not None:
            scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
        weights = scores.softmax(-1)
        return (weights if mask is None else weights * mask) @ v

    def output(self, x):
        return self.W_O(x)

    def forward(self, query, key, value, mask=None):
        q, k, v = map(self.split, self.projected(query, key, value))
        return self.output(self.merge(self.attend(q, k, v, mask)))


def _with(**methods) -> tuple[type]:
    """The layer with some of its pieces replaced."""
    return (type("Other", (_Other,), methods),)


class _OneMatrix(_Other):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_K = self.W_Q


class _Thin(_Other):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.W_Q = nn.Linear(d_model, d_model // n_heads)


class _NoBias(_Other):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads, bias=False)


def _unmasked(self, q, k, v, mask):
    return F.scaled_dot_product_attention(q, k, v)


def _hides(self, q, k, v, mask):
    return _Other.attend(self, q, k, v, None if mask is None else ~mask)


def _one_by_one(self, q, k, v, mask):
    heads = zip(q.unbind(1), k.unbind(1), v.unbind(1), strict=True)
    mask = torch.tensor(True) if mask is None else mask
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    found = [
        _Other.attend(self, *head, m)
        for head, m in zip(heads, mask.unbind(1), strict=True)
    ]
    return torch.stack(found, 1)


SHAPES = Stage(
    "shapes",
    "four projections D → D with biases; the output is (B, T, D)",
    shapes,
    (
        "The matrices of all heads lie side by side in one: what is the shape of W_Q, "
        "and what of each head's queries?",
        "`self.W_Q = nn.Linear(d_model, d_model)`, and W_K, W_V and W_O alike. Split "
        "(B, T, D) into (B, H, T, d_k), attend, and join the heads to (B, T, D) again.",
    ),
    wrong(
        (_OneMatrix,),
        "Queries and keys share one matrix: each needs its own.",
        (_Thin,),
        "W_Q should make the queries of all heads at once, D features in all.",
        (_NoBias,),
        "The projections should have biases, as nn.Linear has by default.",
    ),
)
VALUES = Stage(
    "values",
    f"the output equals {RULE}",
    values,
    (
        "Let H = 1: is your layer right then? If so, look at how heads are split and "
        "joined.",
        "Split by `x.view(B, T, H, d_k).transpose(1, 2)` and join by the same two "
        "steps in reverse; the scores are divided by √d_k of one head.",
    ),
    wrong(
        _with(
            split=lambda self, x: x.reshape(
                len(x), self.n_heads, x.shape[1], x.shape[2] // self.n_heads
            ),
            merge=lambda self, heads: heads.transpose(1, 2).flatten(2),
        ),
        "A `view` straight to (B, H, T, d_k) deals out positions to the heads. Split "
        "the features first, (B, T, H, d_k), and then swap two axes.",
        _with(
            merge=lambda self, heads: heads.reshape(
                len(heads), heads.shape[2], self.d_model
            )
        ),
        "Joining needs the transpose too: (B, H, T, d_k) → (B, T, H, d_k) → (B, T, D).",
        _with(split=lambda self, x: x[:, None], merge=lambda self, heads: heads[:, 0]),
        "You compute one head over all D features.",
        _with(width=lambda self, q: self.d_model),
        "Each head's scores are dot products of width d_k = D/H, not D.",
        _with(width=lambda self, q: 1),
        "The scores are not divided by √d_k.",
        _with(output=lambda self, x: x),
        "W_O is missing: the heads' outputs are joined, but not mixed.",
        _with(
            projected=lambda self, query, key, value: (
                self.W_Q(query),
                self.W_K(key),
                self.W_V(key),
            )
        ),
        "The values are made from `value`, not from `key`.",
        _with(
            projected=lambda self, query, key, value: (
                self.W_Q(query),
                self.W_V(key),
                self.W_K(value),
            )
        ),
        "W_K and W_V are exchanged.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the gradients of the inputs and of all parameters equal the formula's",
    gradients,
    (
        "Autograd follows tensor operations. Which of your steps leaves them?",
        "Look for `.detach()`, `.data`, `torch.tensor(…)` or `torch.no_grad()`.",
    ),
    wrong(
        _with(
            attend=lambda self, q, k, v, mask: _Other.attend(
                self, q.detach(), k, v, mask
            )
        ),
        "The queries are detached: W_Q cannot learn.",
        _with(output=lambda self, x: self.W_O(x.detach())),
        "Only W_O would learn: what it reads is detached.",
    ),
)
MASKS = Stage(
    "masks",
    "(T, S), and four axes that broadcast to (B, H, T, S)",
    masks,
    (
        "The scores are (B, H, T, S). Does the mask reach them unchanged?",
        "Hand `mask` on to `attention`: it broadcasts by itself, and it handles fully "
        "masked rows.",
    ),
    wrong(
        _with(attend=_unmasked),
        "The mask has no effect yet.",
        _with(attend=_hides),
        "You hide the keys where the mask is True. In this course True means: may "
        "attend.",
    ),
)
OPERATION_COUNT = Stage(
    "operation count",
    "more heads or sentences need no more operations",
    operation_count,
    (
        "A Python loop over the heads runs one small product after another. Can all "
        "heads be one more axis of the same product?",
        "`attention` takes any number of leading axes: give it (B, H, T, d_k).",
    ),
    wrong(
        _with(attend=_one_by_one),
        "You loop over the heads: give `attention` all of them at once.",
    ),
)

PART = Part(
    name="MultiHeadAttention",
    chapter=5,
    names=("MultiHeadAttention",),
    ours=(MultiHeadAttention,),
    stages=(SHAPES, VALUES, GRADIENTS, MASKS, OPERATION_COUNT),
)
