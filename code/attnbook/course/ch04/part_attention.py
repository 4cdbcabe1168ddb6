"""Scaled dot-product attention, ``attention(Q, K, V, mask=None, dropout=0.0)``."""

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.course.kit.exercises import by_formula, expect
from attnbook.course.kit.exercises.stages import Part, Wrong, draw_leaves
from attnbook.nn import scaled_dot_product

RULE = "softmax(QKᵀ/√d_k)V"
# Leading axes, T, S, d_k, d_v: all different, so that no axis is taken for another.
CASES = (((), 3, 5, 4, 7), ((2,), 3, 5, 4, 6), ((2, 3), 4, 6, 9, 5))


def attention(Q, K, V, mask=None, dropout=0.0):
    scores = Q @ K.mT / Q.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~mask, torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    if mask is not None:
        weights = weights.masked_fill(~mask, 0.0)
    return F.dropout(weights, dropout) @ V


PART = Part("attention", 4, (scaled_dot_product.attention,), (attention,))


def inputs(lead: tuple, t: int, s: int, d_k: int, d_v: int) -> list[Tensor]:
    """Draw queries, keys and values."""
    return draw_leaves(0, (*lead, t, d_k), (*lead, s, d_k), (*lead, s, d_v))


def some_allowed(shape: tuple[int, ...]) -> Tensor:
    """A random mask in which each query may attend to some key, but not to all."""
    g = torch.Generator().manual_seed(0)
    mask = torch.rand(shape, generator=g) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    return mask


@PART.stage("the output is (…, T, d_v), with any number of leading axes")
def shapes(attend: Callable) -> None:
    """Q is (…, T, d_k). Which product of Q and K is (…, T, S)? And which product with V
    is (…, T, d_v)?

    `K.transpose(-2, -1)` swaps the last two axes, whatever stands before them, and `@`
    multiplies the last two.

    F.dropout(weights, dropout) @ V => weights
        You return the weights; what is still missing is their product with V.
    F.dropout(weights, dropout) @ V => weights[..., None] * V
        You multiply each value by its weight, but do not sum over the keys. A product
        of matrices does both.
    F.dropout(weights, dropout) @ V => (weights @ V).sum(-2)
        You sum over the queries: each query should keep its own output.
    """
    for case in CASES:
        q, k, v = inputs(*case)
        given = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
        shape = (*q.shape[:-1], v.shape[-1])
        what = f"for Q, K, V of shapes {given} the output"
        expect.shape(attend(q, k, v), shape, what, "(…, T, d_v)")


@PART.stage(f"the output equals {RULE}, for large scores too")
def values(attend: Callable) -> None:
    """Let Q and K be `torch.eye(2)` and compute one score by hand. Is yours the same?
    Do the weights of each query sum to 1?

    In order: QKᵀ, divided by √d_k; softmax over the keys, the last axis; times V.

    On "in the thousands": How large is exp(1000), and how large exp(1000 - 1000)?

    / Q.shape[-1] ** 0.5 =>
        The scores are not scaled: what does the formula divide them by?
    / Q.shape[-1] ** 0.5 => / Q.shape[-1]
        You divide by d_k. How large is the standard deviation of a dot product of width
        d_k?
    / Q.shape[-1] ** 0.5 => / K.shape[-2] ** 0.5
        You divide by the root of the number of keys, S. The width of the keys is
        another axis.
    / Q.shape[-1] ** 0.5 => * Q.shape[-1] ** 0.5
        You multiply by the factor that the formula divides by.
    scores.softmax(-1) => scores.softmax(-2)
        Your softmax runs over the queries. The weights of one query, over all keys,
        should sum to 1.
    scores.softmax(-1) => scores
        There is no softmax: scores are not weights.
    / Q.shape[-1] ** 0.5 =>
    scores.softmax(-1) => scores.softmax(-1) / 2
        The scale belongs inside the softmax, not after it.
    scores.softmax(-1) => scores.exp() / scores.exp().sum(-1, keepdim=True)
        exp(1000) overflows. Subtract the largest score of the row first, or let
        `softmax` do it.
    """
    for case in CASES:
        q, k, v = inputs(*case)
        right = by_formula.attention(q, k, v)
        expect.close(attend(q, k, v), right, "the output", RULE)
    q, k, v = inputs(*CASES[1])
    right = by_formula.attention(1e4 * q, k, v)
    large = "the output for scores in the thousands"
    expect.close(attend(1e4 * q, k, v), right, large, RULE)


@PART.stage("the gradients with respect to Q, K and V equal the formula's")
def gradients(attend: Callable) -> None:
    """Autograd follows tensor operations. Which of your steps leaves them?

    Look for `.detach()`, `.data`, `.item()`, `.tolist()`, `torch.tensor(…)` or
    `torch.no_grad()` between the inputs and the result.

    scores.softmax(-1) => scores.softmax(-1).detach()
        The weights are cut off from the scores, so that Q and K cannot learn.
    F.dropout(weights, dropout) @ V => (weights @ V).detach()
        The whole output is detached.
    @ V => @ V.detach()
        The values are detached.
    K.mT => K.detach().mT
        The keys are detached.
    """
    for case in CASES:
        q, k, v = inputs(*case)
        got, right = attend(q, k, v), by_formula.attention(q, k, v)
        expect.gradients(got, right, f"that of {RULE}", Q=q, K=k, V=v)


@PART.stage("True = may attend, for every mask that broadcasts to (…, T, S)")
def masks(attend: Callable) -> None:
    """The weights of the allowed keys should sum to 1, and the others be 0. At which
    step can you take a key out of the softmax?

    Before the softmax, give the scores where the mask is False a number so low that its
    exponential is 0: `scores.masked_fill(~mask, …)`.

    On "Error:": Compare the shapes of mask and scores. An axis of the mask may have
    length 1, and axes may be missing in front: do not index it by the number of a query
    before `mask.expand(scores.shape)`.

    On "NaN": 0 times infinity is NaN, and so is infinity minus infinity. Choose between
    two numbers instead of computing with infinite ones.

    On "another mask afterwards": Other layers get the same mask: `~mask` makes a new
    one.

    scores.masked_fill(~mask, torch.finfo(scores.dtype).min) => scores
    weights.masked_fill(~mask, 0.0) => weights
        The mask has no effect yet.
    scores.masked_fill(~mask, => scores.masked_fill(mask,
    weights.masked_fill(~mask, => weights.masked_fill(mask,
        You hide the keys where the mask is True. In this course True means: may attend.
    scores.masked_fill(~mask, torch.finfo(scores.dtype).min) => scores
        You mask after the softmax, so that the weights left no longer sum to 1.
    torch.finfo(scores.dtype).min => 0.0
    weights.masked_fill(~mask, 0.0) => weights
        A score of 0 is not a weight of 0: exp(0) = 1.
    """
    q, k, v = inputs((2,), 4, 5, 3, 6)
    for shape in ((2, 4, 5), (4, 5), (2, 1, 5), (1, 5)):
        mask = some_allowed(shape)
        what = f"the output under a mask of shape {shape}"
        rule = "the weighted mean over the allowed keys"
        right, got = by_formula.attention(q, k, v, mask), attend(q, k, v, mask)
        if not torch.equal(mask, some_allowed(shape)):
            raise Wrong("the mask that was given is another mask afterwards.")
        expect.close(got, right, what, rule)


@PART.stage("a query that may attend to nothing gets zeros, with finite gradients")
def fully_masked_rows(attend: Callable) -> None:
    """What does a softmax make of a row in which all scores are -inf, and what of one
    in which all scores are equal?

    Hide with the lowest finite number, `torch.finfo(scores.dtype).min`, instead of
    -inf, and after the softmax set the weights of all masked keys to 0.

    torch.finfo(scores.dtype).min => -torch.inf
    weights.masked_fill(~mask, 0.0) => weights
        A softmax of nothing but -inf divides 0 by 0.
    weights.masked_fill(~mask, 0.0) => weights
        If all scores of a row are equally low, a softmax gives them equal weights: your
        query averages keys that it may not see.
    .masked_fill(~mask, torch.finfo(scores.dtype).min) => + torch.where(mask, 0, -1e999)
    weights.masked_fill(~mask, 0.0) => weights.nan_to_num()
        The NaN is gone from the output, but not from the gradient, which still passes
        through 0/0.
    """
    q, k, v = inputs((2,), 4, 5, 3, 6)
    mask = some_allowed((2, 4, 5))
    mask[0, 1] = False
    got, wanted = attend(q, k, v, mask), by_formula.attention(q, k, v, mask)
    what = "the output with one fully masked row"
    expect.close(got, wanted, what, "zeros in that row and the usual in the others")
    expect.gradients(got, wanted, "that with the row left out", Q=q, K=k, V=v)


@PART.stage("weights are dropped after the softmax, and the kept ones enlarged")
def dropout(attend: Callable) -> None:
    """Dropout acts on the attention weights. At which step do you have them?

    `F.dropout(weights, dropout)`, between the softmax and the product with V, zeroes a
    share of the weights and divides the others by 1 - dropout.

    On "the share of": `dropout` is the probability to be dropped, not to be kept.

    F.dropout(weights, dropout) => weights
        `dropout` has no effect yet.
    F.dropout(weights, dropout) => weights
    scores.softmax(-1) => F.dropout(scores, dropout).softmax(-1)
        You drop scores. A score of 0 still has a weight: drop after the softmax.
    F.dropout(weights, dropout) @ V => F.dropout(weights @ V, dropout)
        Dropout comes before the product with V.
    F.dropout(weights, dropout) => weights * (torch.rand_like(weights) >= dropout)
        The mean of the output shrinks: divide the kept weights by 1 - dropout.
    F.dropout(weights, dropout) => weights * F.dropout(weights[0] ** 0, dropout)
        You drop the same weights of every sentence: draw each weight by itself.
    """
    share = 0.25
    q, k, _ = (x.detach() for x in inputs((50,), 6, 8, 4, 1))
    # Values: two unit matrices side by side, so that the output is the weights, twice.
    v = torch.eye(8, dtype=torch.float64).repeat(1, 2).expand(50, 8, 16)
    plain = by_formula.attention(q, k, v)[..., :8]
    used = attend(q, k, v, dropout=share)
    expect.shape(used, (50, 6, 16), "the output with dropout", "(…, T, d_v)")
    used, again = used.chunk(2, -1)  # (50, 6, 8) each
    kept = used != 0
    if kept.all() and torch.allclose(used, plain):
        raise Wrong("dropout=0.25 changes nothing.")
    if kept.all():
        raise Wrong("with dropout=0.25 the weights change, but none of them is 0.")
    if not torch.equal(used, again):
        raise Wrong("entries of the output were dropped; it should be weights.")
    if torch.allclose(used[kept], plain[kept]):
        raise Wrong("the weights that were kept are as large as without dropout.")
    expect.close(
        torch.where(kept, used, 0),
        torch.where(kept, plain / (1 - share), 0),
        "each weight that was kept",
        "the softmax's, enlarged to make up for the dropped ones",
    )
    if abs(kept.double().mean() - (1 - share)) > 0.05:
        raise Wrong("the share of dropped weights is not the one asked for.")
    if any((kept == first).all() for first in (kept[:1], kept[:, :1], kept[..., :1])):
        raise Wrong("many weights are dropped by one draw.")


@PART.stage("more queries, keys or sentences need no more calls to PyTorch")
def operation_count(attend: Callable) -> None:
    """A Python loop runs one small product after another. Can one product of matrices
    do the same?

    `@` multiplies the last two axes and runs over all leading axes by itself, so that
    neither queries nor sentences need a loop.

    Q @ K.mT => torch.cat([q @ K.mT for q in Q.split(1, -2)], -2)
        You loop over the queries: make all scores with one product.
    """
    few, many = ((2,), 3, 5, 4, 6), ((8,), 30, 50, 4, 6)
    over = "queries, keys and sentences"
    expect.no_loop(lambda case: attend(*inputs(*case)), few, many, over)


@PART.stage("what is made on the way lies where the input lies, on a GPU too")
def devices(attend: Callable) -> None:
    """
    weights = scores.softmax(-1) => weights, p = scores.softmax(-1), dropout
    F.dropout(weights, dropout) => (torch.rand(weights.shape) >= p) / (1 - p) * weights
        `torch.rand(…)` draws on the CPU: `torch.rand_like(weights)` draws where the
        weights are.
    """
    q, k, v = inputs((2,), 4, 5, 3, 6)
    mask = some_allowed((2, 4, 5))
    expect.same_device(lambda: attend(q, k, v, mask, dropout=0.5), q, k, v, mask)
