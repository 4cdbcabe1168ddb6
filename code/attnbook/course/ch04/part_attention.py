"""Scaled dot-product attention, ``attention(Q, K, V, mask=None, dropout=0.0)``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    drawn,
    expect_close,
    expect_gradients,
    expect_no_loop,
    expect_shape,
    operations,
)
from attnbook.nn.scaled_dot_product import attention

RULE = "softmax(QKᵀ/√d_k)V"
# Leading axes, T, S, d_k, d_v: all different, so that no axis is taken for another.
CASES = (((), 3, 5, 4, 7), ((2,), 3, 5, 4, 6), ((2, 3), 4, 6, 9, 5))


def inputs(lead: tuple, t: int, s: int, d_k: int, d_v: int) -> list[Tensor]:
    """Draw queries, keys and values."""
    return drawn(0, (*lead, t, d_k), (*lead, s, d_k), (*lead, s, d_v))


def reference(q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None = None) -> Tensor:
    """PyTorch's kernel, which is not asked about fully masked rows: they are zeros."""
    if mask is None:
        return F.scaled_dot_product_attention(q, k, v)
    mask = mask.expand(*q.shape[:-1], k.shape[-2])  # (..., T, S)
    some = mask.any(-1, keepdim=True)  # (..., T, 1)
    return F.scaled_dot_product_attention(q, k, v, attn_mask=mask | ~some) * some


def some_allowed(shape: tuple[int, ...]) -> Tensor:
    """A random mask in which each query may attend to some key, but not to all."""
    g = torch.Generator().manual_seed(0)
    mask = torch.rand(shape, generator=g) < 0.5
    mask[..., 0], mask[..., -1] = True, False
    return mask


def _masked_softmax(scores: Tensor, mask: Tensor | None) -> Tensor:
    if mask is None:
        return scores.softmax(-1)
    lowest = torch.finfo(scores.dtype).min
    return scores.masked_fill(~mask, lowest).softmax(-1).masked_fill(~mask, 0.0)


def _attention_with(
    score: Callable = lambda q, k: q @ k.mT / q.shape[-1] ** 0.5,
    weigh: Callable = _masked_softmax,
    output: Callable = lambda weights, v, dropout: F.dropout(weights, dropout) @ v,
) -> tuple[Callable]:
    """An attention with one step of another kind."""

    def attend(q, k, v, mask=None, dropout=0.0):
        return output(weigh(score(q, k), mask), v, dropout)

    return (attend,)


def _with_mask(weigh: Callable) -> tuple[Callable]:
    """An attention that goes wrong only if there is a mask."""
    return _attention_with(
        weigh=lambda scores, mask: (
            scores.softmax(-1) if mask is None else weigh(scores, mask)
        )
    )


def _hidden(scores: Tensor, mask: Tensor, number: float) -> Tensor:
    return scores.masked_fill(~mask, number).softmax(-1)


def _added(scores: Tensor, mask: Tensor) -> Tensor:
    """What is not allowed gets -inf added, and NaN is replaced by zeros at the end."""
    infinite = torch.zeros_like(scores).masked_fill(~mask, -torch.inf)
    return (scores + infinite).softmax(-1).nan_to_num()


def _early_dropout(q, k, v, mask=None, dropout=0.0):
    scores = F.dropout(q @ k.mT / q.shape[-1] ** 0.5, dropout)
    return _masked_softmax(scores, mask) @ v


def _looped(q, k, v, mask=None, dropout=0.0):
    mask = torch.ones(1).bool() if mask is None else mask
    mask = mask.expand(*q.shape[:-1], k.shape[-2])
    queries = range(q.shape[-2])
    rows = [
        attention(q[..., [i], :], k, v, mask[..., [i], :], dropout=dropout)
        for i in queries
    ]
    return torch.cat(rows, -2)


def shapes(attend: Callable) -> None:
    """The output has the queries' positions and the values' width."""
    for case in CASES:
        q, k, v = inputs(*case)
        given = ", ".join(str(tuple(x.shape)) for x in (q, k, v))
        shape = (*q.shape[:-1], v.shape[-1])
        what = f"for Q, K, V of shapes {given} the output"
        expect_shape(attend(q, k, v), shape, what, "(…, T, d_v)")


SHAPES = Stage(
    "shapes",
    "the output is (…, T, d_v), with any number of leading axes",
    shapes,
    (
        "Q is (…, T, d_k). Which product of Q and K is (…, T, S)? And which "
        "product with V is (…, T, d_v)?",
        "`K.transpose(-2, -1)` swaps the last two axes, whatever stands before "
        "them, and `@` multiplies the last two.",
    ),
    wrong(
        _attention_with(output=lambda weights, v, dropout: weights),
        "You return the weights; what is still missing is their product with V.",
        _attention_with(output=lambda weights, v, dropout: weights[..., None] * v),
        "You multiply each value by its weight, but do not sum over the "
        "keys. A product of matrices does both.",
        _attention_with(output=lambda weights, v, dropout: (weights @ v).sum(-2)),
        "You sum over the queries: each query should keep its own output.",
    ),
)


def values(attend: Callable) -> None:
    """The output equals equation 1, for large scores too."""
    for case in CASES:
        q, k, v = inputs(*case)
        expect_close(attend(q, k, v), reference(q, k, v), "the output", RULE)
    q, k, v = inputs(*CASES[1])
    large = "the output for scores in the thousands"
    expect_close(attend(1e4 * q, k, v), reference(1e4 * q, k, v), large, RULE)


VALUES = Stage(
    "values",
    f"the output equals {RULE}, for large scores too",
    values,
    (
        "Let Q and K be `torch.eye(2)` and compute one score by hand. Is "
        "yours the same? Do the weights of each query sum to 1?",
        "In order: QKᵀ, divided by √d_k; softmax over the keys, the last "
        "axis; times V.",
    ),
    wrong(
        _attention_with(lambda q, k: q @ k.mT),
        "The scores are not scaled: what does the formula divide them by?",
        _attention_with(lambda q, k: q @ k.mT / q.shape[-1]),
        "You divide by d_k. How large is the standard deviation of a dot "
        "product of width d_k?",
        _attention_with(lambda q, k: q @ k.mT / k.shape[-2] ** 0.5),
        "You divide by the root of the number of keys, S. The width of "
        "the keys is another axis.",
        _attention_with(lambda q, k: q @ k.mT * q.shape[-1] ** 0.5),
        "You multiply by the factor that the formula divides by.",
        _attention_with(weigh=lambda scores, mask: scores.softmax(-2)),
        "Your softmax runs over the queries. The weights of one query, "
        "over all keys, should sum to 1.",
        _attention_with(weigh=lambda scores, mask: scores),
        "There is no softmax: scores are not weights.",
        _attention_with(
            lambda q, k: q @ k.mT,
            lambda scores, mask: scores.softmax(-1) / 2,
        ),
        "The scale belongs inside the softmax, not after it.",
        _attention_with(
            weigh=lambda scores, mask: scores.exp() / scores.exp().sum(-1, keepdim=True)
        ),
        "exp(1000) overflows. Subtract the largest score of the row first, "
        "or let `softmax` do it.",
    ),
)


def gradients(attend: Callable) -> None:
    """The gradients with respect to Q, K and V equal those of equation 1."""
    for case in CASES:
        q, k, v = inputs(*case)
        named = {"Q": q, "K": k, "V": v}
        expect_gradients(attend(q, k, v), reference(q, k, v), named, f"that of {RULE}")


GRADIENTS = Stage(
    "gradients",
    "the gradients with respect to Q, K and V equal the formula's",
    gradients,
    (
        "Autograd follows tensor operations. Which of your steps leaves them?",
        "Look for `.detach()`, `.data`, `.item()`, `.tolist()`, "
        "`torch.tensor(…)` or `torch.no_grad()` between the inputs and the "
        "result.",
    ),
    wrong(
        _attention_with(
            weigh=lambda *args: _masked_softmax(*args).detach(),
        ),
        "The weights are cut off from the scores, so that Q and K cannot learn.",
        _attention_with(
            output=lambda weights, v, dropout: (weights @ v).detach(),
        ),
        "The whole output is detached.",
        _attention_with(
            output=lambda weights, v, dropout: weights @ v.detach(),
        ),
        "The values are detached.",
        _attention_with(lambda q, k: q @ k.detach().mT / q.shape[-1] ** 0.5),
        "The keys are detached.",
    ),
)


def masks(attend: Callable) -> None:
    """True = may attend, in every shape that broadcasts to (…, T, S)."""
    q, k, v = inputs((2,), 4, 5, 3, 6)
    for shape in ((2, 4, 5), (4, 5), (2, 1, 5)):
        mask = some_allowed(shape)
        expect_close(
            attend(q, k, v, mask),
            reference(q, k, v, mask),
            f"the output under a mask of shape {shape}",
            "the weighted mean over the allowed keys",
        )


MASKS = Stage(
    "masks",
    "True = may attend, for every mask that broadcasts to (…, T, S)",
    masks,
    (
        "The weights of the allowed keys should sum to 1, and the others be 0. "
        "At which step can you take a key out of the softmax?",
        "Before the softmax, give the scores where the mask is False a number "
        "so low that its exponential is 0: `scores.masked_fill(~mask, …)`.",
    ),
    wrong(
        _with_mask(lambda scores, mask: scores.softmax(-1)),
        "The mask has no effect yet.",
        _with_mask(lambda scores, mask: _masked_softmax(scores, ~mask)),
        "You hide the keys where the mask is True. In this course True "
        "means: may attend.",
        _with_mask(lambda scores, mask: scores.softmax(-1) * mask),
        "You mask after the softmax, so that the weights left no longer sum to 1.",
        _with_mask(lambda scores, mask: _hidden(scores, mask, 0.0)),
        "A score of 0 is not a weight of 0: exp(0) = 1.",
        _with_mask(lambda scores, mask: (scores * mask).softmax(-1)),
        "A score of 0 is not a weight of 0: exp(0) = 1.",
    ),
)


def fully_masked(attend: Callable) -> None:
    """A query that may attend to nothing gets zeros, with finite gradients."""
    q, k, v = inputs((2,), 4, 5, 3, 6)
    mask = some_allowed((2, 4, 5))
    mask[0, 1] = False
    got, wanted = attend(q, k, v, mask), reference(q, k, v, mask)
    what = "the output with one fully masked row"
    expect_close(got, wanted, what, "zeros in that row and the usual in the others")
    named = {"Q": q, "K": k, "V": v}
    expect_gradients(got, wanted, named, "that with the row left out")


FULLY_MASKED = Stage(
    "fully masked rows",
    "a query that may attend to nothing gets zeros, with finite gradients",
    fully_masked,
    (
        "What does a softmax make of a row in which all scores are -inf, and "
        "what of one in which all scores are equal?",
        "Hide with the lowest finite number, `torch.finfo(scores.dtype).min`, "
        "instead of -inf, and after the softmax set the weights of all masked "
        "keys to 0.",
    ),
    wrong(
        _with_mask(lambda scores, mask: _hidden(scores, mask, -torch.inf)),
        "A softmax of nothing but -inf divides 0 by 0.",
        _with_mask(lambda scores, mask: _hidden(scores, mask, -1e9)),
        "If all scores of a row are equally low, a softmax gives them "
        "equal weights: your query averages keys that it may not see.",
        _with_mask(_added),
        "The NaN is gone from the output, but not from the gradient, "
        "which still passes through 0/0.",
    ),
)


def dropout(attend: Callable) -> None:
    """Weights are dropped after the softmax, and those kept grow to make up for it."""
    share = 0.25
    q, k, _ = (x.detach() for x in inputs((50,), 6, 8, 4, 1))
    # Values: two unit matrices side by side, so that the output is the weights, twice.
    v = torch.eye(8, dtype=torch.float64).repeat(1, 2).expand(50, 8, 16)
    plain = reference(q, k, v)[..., :8]
    used = attend(q, k, v, dropout=share)
    expect_shape(used, (50, 6, 16), "the output with dropout", "(…, T, d_v)")
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
    expect_close(
        torch.where(kept, used, 0),
        torch.where(kept, plain / (1 - share), 0),
        "each weight that was kept",
        "the softmax's, enlarged to make up for the dropped ones",
    )
    if abs(kept.double().mean() - (1 - share)) > 0.05:
        raise Wrong("the share of dropped weights is not the one asked for.")


DROPOUT = Stage(
    "dropout",
    "weights are dropped after the softmax, and the kept ones enlarged",
    dropout,
    (
        "Dropout acts on the attention weights. At which step do you have them?",
        "`F.dropout(weights, dropout)`, between the softmax and the product "
        "with V, zeroes a share of the weights and divides the others by "
        "1 - dropout.",
    ),
    wrong(
        _attention_with(output=lambda weights, v, dropout: weights @ v),
        "`dropout` has no effect yet.",
        (_early_dropout,),
        "You drop scores. A score of 0 still has a weight: drop after the softmax.",
        _attention_with(
            output=lambda weights, v, dropout: F.dropout(weights @ v, dropout)
        ),
        "Dropout comes before the product with V.",
        _attention_with(
            output=lambda weights, v, dropout: (
                weights * (torch.rand_like(weights) >= dropout) @ v
            )
        ),
        "The mean of the output shrinks: divide the kept weights by 1 - dropout.",
    ),
)


def operation_count(attend: Callable) -> None:
    """More queries, keys and sentences need no more operations."""
    few, many = (
        operations(lambda case=case: attend(*inputs(*case)))
        for case in (((2,), 3, 5, 4, 6), ((8,), 30, 50, 4, 6))
    )
    expect_no_loop(few, many, "queries, keys and sentences")


OPERATION_COUNT = Stage(
    "operation count",
    "more queries, keys or sentences need no more operations",
    operation_count,
    (
        "A Python loop runs one small product after another. Can one product "
        "of matrices do the same?",
        "`@` multiplies the last two axes and runs over all leading axes by "
        "itself, so that neither queries nor sentences need a loop.",
    ),
    wrong(
        (_looped,),
        "You loop over the queries: make all scores with one product.",
    ),
)


PART = Part(
    name="attention",
    chapter=4,
    names=("attention",),
    ours=(attention,),
    stages=(SHAPES, VALUES, GRADIENTS, MASKS, FULLY_MASKED, DROPOUT, OPERATION_COUNT),
)
