"""Multi-head attention, ``MultiHeadAttention(d_model, n_heads)``."""

from torch import Tensor, nn

from attnbook.course.ch04.part_attention import some_allowed
from attnbook.course.kit.exercises import by_formula, expect
from attnbook.course.kit.exercises.stages import Part, draw_leaves, fill
from attnbook.nn import multi_head
from attnbook.nn.scaled_dot_product import attention

RULE = "Concat(head_1, …, head_H) W^O"
B, T, S, D, H = 2, 4, 5, 6, 3


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        D = d_model
        self.W_Q, self.W_K = nn.Linear(D, D), nn.Linear(D, D)
        self.W_V, self.W_O = nn.Linear(D, D), nn.Linear(D, D)

    def split(self, x):
        b, n, d = x.shape
        return x.view(b, n, self.n_heads, d // self.n_heads).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.W_Q(query))
        k, v = self.split(self.W_K(key)), self.split(self.W_V(value))
        heads = attention(q, k, v, mask)
        joined = heads.transpose(1, 2).flatten(2)
        return self.W_O(joined)


PART = Part(
    "MultiHeadAttention", 5, (multi_head.MultiHeadAttention,), (MultiHeadAttention,)
)


def inputs(b: int = B, t: int = T, s: int = S, d: int = D) -> list[Tensor]:
    """Draw what queries, keys and values are made from."""
    return draw_leaves(0, (b, t, d), (b, s, d), (b, s, d))


def reference(mha: nn.Module, query: Tensor, key: Tensor, value: Tensor, mask=None):
    """Section 3.2.2, from the layer's own parameters."""
    return by_formula.multi_head(query, key, mha, mask, values=value, n_heads=H)


@PART.stage("four projections D → D with biases; the output is (B, T, D)")
def shapes(model: type) -> None:
    """The matrices of all heads lie side by side in one: what is the shape of W_Q, and
    what of each head's queries?

    `self.W_Q = nn.Linear(d_model, d_model)`, and W_K, W_V and W_O alike. Split (B, T,
    D) into (B, H, T, d_k), attend, and join the heads to (B, T, D) again.

    self.W_Q, self.W_K = nn.Linear(D, D), => self.W_Q = self.W_K =
        Queries and keys share one matrix: each needs its own.
    self.W_K = nn.Linear(D, D), => self.W_K = nn.Linear(D, D // n_heads),
        W_Q should make the queries of all heads at once, D features in all.
    self.W_K = nn.Linear(D, D), => self.W_K = nn.Linear(D, D, bias=False),
        The projections should have biases, as nn.Linear has by default.
    """
    mha = fill(model(D, H))
    linears = ("W_Q", "W_K", "W_V", "W_O")
    sizes = {f"{name}.weight": (D, D) for name in linears}
    expect.parameters(mha, sizes | {f"{name}.bias": (D,) for name in linears})
    expect.shape(mha(*inputs()), (B, T, D), "the output", "(B, T, D)")


@PART.stage(f"the output equals {RULE}")
def values(model: type) -> None:
    """Let H = 1: is your layer right then? If so, look at how heads are split and
    joined.

    Split by `x.view(B, T, H, d_k).transpose(1, 2)` and join by the same two steps in
    reverse; the scores are divided by √d_k of one head.

    (b, n, self.n_heads, d // self.n_heads).transpose(1, 2) => (b, self.n_heads, n, -1)
        A `view` straight to (B, H, T, d_k) deals out positions to the heads. Split the
        features first, (B, T, H, d_k), and then swap two axes.
    heads.transpose(1, 2).flatten(2) => heads.reshape(query.shape)
        Joining needs the transpose too: (B, H, T, d_k) → (B, T, H, d_k) → (B, T, D).
    x.view(b, n, self.n_heads, d // self.n_heads).transpose(1, 2) => x[:, None]
        You compute one head over all D features.
    attention(q, k, v, mask) => attention(q / self.n_heads**0.5, k, v, mask)
        Each head's scores are dot products of width d_k = D/H, not D.
    attention(q, k, v, mask) => attention(q * q.shape[-1] ** 0.5, k, v, mask)
        The scores are not divided by √d_k.
    self.W_O(joined) => joined
        W_O is missing: the heads' outputs are joined, but not mixed.
    self.W_V(value) => self.W_V(key)
        The values are made from `value`, not from `key`.
    self.W_K(key) => self.W_V(key)
    self.W_V(value) => self.W_K(value)
        W_K and W_V are exchanged.
    """
    mha = fill(model(D, H))
    query, key, value = inputs()
    right = reference(mha, query, key, value)
    expect.close(mha(query, key, value), right, "the output", RULE)
    right = reference(mha, query, query, query)
    got = mha(query, query, query)
    expect.close(got, right, "the output of self-attention", RULE)


@PART.stage("the gradients of the inputs and of all parameters equal the formula's")
def gradients(model: type) -> None:
    """Autograd follows tensor operations. Which of your steps leaves them?

    Look for `.detach()`, `.data`, `torch.tensor(…)` or `torch.no_grad()`.

    attention(q, k => attention(q.detach(), k
        The queries are detached: W_Q cannot learn.
    self.W_O(joined) => self.W_O(joined.detach())
        Only W_O would learn: what it reads is detached.
    """
    mha = fill(model(D, H))
    given = dict(zip(("query", "key", "value"), inputs(), strict=True))
    right = reference(mha, **given)
    expect.gradients(mha(**given), right, f"that of {RULE}", mha, **given)


@PART.stage("(T, S), and four axes that broadcast to (B, H, T, S)")
def masks(model: type) -> None:
    """The scores are (B, H, T, S). Does the mask reach them unchanged?

    Hand `mask` on to `attention`: it broadcasts by itself, and it handles fully masked
    rows.

    On "view": After a transpose the heads do not lie side by side in memory: join them
    by `flatten` or `reshape`.

    On "Error:": The mask may be (T, S), and an axis of four may have length 1: hand it
    on as it is.

    v, mask) => v)
        The mask has no effect yet.
    v, mask) => v, None if mask is None else ~mask)
        You hide the keys where the mask is True. In this course True means: may attend.
    """
    mha = fill(model(D, H))
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
        expect.close(mha(*given, mask), right, what, "that over the allowed keys")


@PART.stage("more heads or sentences need no more calls to PyTorch")
def operation_count(model: type) -> None:
    """A Python loop over the heads runs one small product after another. Can all heads
    be one more axis of the same product?

    `attention` takes any number of leading axes: give it (B, H, T, d_k).

    heads.transpose(1, 2) => torch.stack([heads[:, h] for h in range(self.n_heads)], 2)
        You loop over the heads: give `attention` all of them at once.
    """

    def attend(size):
        heads, sentences = size
        fill(model(24, heads))(*inputs(sentences, 4, 5, 24))

    expect.no_loop(attend, (2, 2), (12, 8), "heads and sentences")
