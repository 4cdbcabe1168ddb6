"""The Transformer's encoder layer, ``EncoderLayer(config)``, in both forms."""

from __future__ import annotations

from collections.abc import Sequence

from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.course.ch04.part_attention import some_allowed
from attnbook.course.ch05 import part_multi_head as multi_head
from attnbook.course.ch08 import part_feed_forward as feed_forward
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    drawn,
    expect_close,
    expect_gradients,
    expect_shape,
    filled,
)
from attnbook.nn.layers import EncoderLayer, TransformerConfig

B, S, D, D_FF = 2, 5, multi_head.D, 10
NAMES = ("attention", "feed_forward", "norm_1", "norm_2", "dropout")
POST = "Norm(x + Sublayer(x)), twice"
PRE = "x + Sublayer(Norm(x)), twice"


def made(
    layer: type, norm_first: bool, names: Sequence[str] = NAMES, **sizes: int
) -> nn.Module:
    """The reader's layer, or model, with random parameters."""
    sizes |= {"d_model": D, "n_heads": multi_head.H, "d_ff": D_FF}
    config = TransformerConfig(**sizes, dropout=0.2, norm_first=norm_first)
    found = filled(layer(config))
    for name in names:
        if not isinstance(getattr(found, name, None), nn.Module):
            raise Wrong(f"there is no module `self.{name}`.", name)
    return found


def reference(
    layer: nn.Module, x: Tensor, norm_first: bool, mask: Tensor | None = None
) -> Tensor:
    """Sections 3.1 and 3.3, without dropout, from the layer's own parameters."""

    def attend(y):
        return multi_head.reference(layer.attention, y, y, y, mask)

    def feed(y):
        return feed_forward.reference(layer.feed_forward, y)

    for sublayer, norm in ((attend, layer.norm_1), (feed, layer.norm_2)):
        x = (
            x + sublayer(normed(x, norm))
            if norm_first
            else normed(x + sublayer(x), norm)
        )
    return x


def normed(x: Tensor, norm: nn.LayerNorm) -> Tensor:
    """Layer normalisation with the parameters of one of the layer's norms."""
    return F.layer_norm(x, (D,), norm.weight, norm.bias, norm.eps)


def shapes(layer: type) -> None:
    """It maps (B, S, D) to (B, S, D)."""
    (x,) = drawn(0, (B, S, D))
    expect_shape(made(layer, False)(x), (B, S, D), "the output", "(B, S, D)")


def _compare(layer: type, norm_first: bool, rule: str) -> None:
    found = made(layer, norm_first)
    (x,) = drawn(0, (B, S, D))
    name = "pre-norm" if norm_first else "post-norm"
    right = reference(found, x, norm_first)
    expect_close(found(x), right, f"the output of the {name} layer", rule)


def post_norm(layer: type) -> None:
    """The paper's form."""
    _compare(layer, False, POST)


def pre_norm(layer: type) -> None:
    """The form with ``norm_first``."""
    _compare(layer, True, PRE)


def masks(layer: type) -> None:
    """The mask reaches the attention, in both forms."""
    (x,) = drawn(0, (B, S, D))
    mask = some_allowed((B, 1, 1, S))
    for norm_first in (False, True):
        found = made(layer, norm_first)
        right = reference(found, x, norm_first, mask)
        what = f"with norm_first={norm_first} the masked output"
        expect_close(found(x, mask), right, what, "that over the allowed keys")


def dropout(layer: type) -> None:
    """If everything is dropped, only the skip connection and the norms are left."""
    (x,) = drawn(0, (B, S, D))
    for norm_first in (True, False):
        found = made(layer, norm_first).train()
        found.dropout.p = 1.0
        right = x if norm_first else normed(normed(x, found.norm_1), found.norm_2)
        what = f"with norm_first={norm_first}, when each sublayer's output is dropped,"
        rule = "x" if norm_first else "x with its two norms"
        expect_close(found(x), right, f"{what} the output", rule)


def gradients(layer: type) -> None:
    """With respect to the input and to every parameter, in both forms."""
    (x,) = drawn(0, (B, S, D))
    for norm_first in (False, True):
        found = made(layer, norm_first)
        named = {"x": x} | {f"`{n}`": p for n, p in found.named_parameters()}
        right = reference(found, x, norm_first)
        expect_gradients(found(x), right, named, "that of the formula")


class _Other(EncoderLayer):
    """The right layer, in pieces that a mistake can replace."""

    def sublayers(self, mask):
        return (
            (lambda y: self.attention(y, y, y, mask), self.norm_1),
            (self.feed_forward, self.norm_2),
        )

    def drop(self, y):
        return self.dropout(y)

    def post(self, x, sublayer, norm):
        return norm(x + self.drop(sublayer(x)))

    def pre(self, x, sublayer, norm):
        return x + self.drop(sublayer(norm(x)))

    def forward(self, x, mask=None):
        for sublayer, norm in self.sublayers(mask):
            x = (self.pre if self.norm_first else self.post)(x, sublayer, norm)
        return x


def _with(**methods) -> tuple[type]:
    """The layer with some of its pieces replaced."""
    return (type("Other", (_Other,), methods),)


class _NoNorm(EncoderLayer):
    def __init__(self, config):
        super().__init__(config)
        del self.norm_2


def _only_queries(self, x, sublayer, norm):
    if norm is self.norm_1:
        return x + self.drop(self.attention(norm(x), x, x))
    return x + self.drop(sublayer(norm(x)))


def _one_norm(self, mask):
    first, second = _Other.sublayers(self, mask)
    return first, (second[0], self.norm_1)


def _reversed(self, mask):
    first, second = _Other.sublayers(self, mask)
    return (second[0], first[1]), (first[0], second[1])


SHAPES = Stage(
    "shapes",
    "self.attention, feed_forward, norm_1, norm_2, dropout; output (B, S, D)",
    shapes,
    (
        "Which modules do two sublayers need, each with a norm of its own?",
        "`MultiHeadAttention(config.d_model, config.n_heads)`, `FeedForward(config."
        "d_model, config.d_ff)`, two `nn.LayerNorm(config.d_model)` and one "
        "`nn.Dropout(config.dropout)`.",
    ),
    wrong(
        (_NoNorm,),
        "Each of the two sublayers has a norm of its own.",
    ),
)
POST_NORM = Stage(
    "post-norm",
    f"the output equals {POST}",
    post_norm,
    (
        "In the paper's form, what does the norm get: the sublayer's input, its "
        "output, or their sum?",
        "x = norm_1(x + dropout(attention(x, x, x))), and the same with norm_2 and "
        "feed_forward.",
    ),
    wrong(
        _with(post=lambda self, x, sublayer, norm: norm(self.drop(sublayer(x)))),
        "The skip connection is missing: add x to the sublayer's output.",
        _with(post=_Other.pre),
        "That is pre-norm. Here, with norm_first=False, the norm comes after the sum.",
        _with(post=lambda self, x, sublayer, norm: x + norm(self.drop(sublayer(x)))),
        "The norm should get the sum, x included.",
        _with(post=lambda self, x, sublayer, norm: x + self.drop(sublayer(x))),
        "There is no norm.",
        _with(sublayers=_one_norm),
        "Both sublayers use norm_1; the second has its own gain and bias.",
        _with(sublayers=_reversed),
        "Attention comes first, then the feed-forward network.",
        _with(drop=lambda self, y: F.dropout(y, self.dropout.p)),
        "You drop at inference too: `self.dropout` acts in training mode only.",
    ),
)
PRE_NORM = Stage(
    "pre-norm",
    f"with norm_first it equals {PRE}",
    pre_norm,
    (
        "In this form nothing stands on the skip connection. Where does the norm go?",
        "x = x + dropout(attention(y, y, y)) with y = norm_1(x): the sublayer gets "
        "only y, and its output is added to x itself.",
    ),
    wrong(
        _with(pre=_Other.post),
        "`config.norm_first` has no effect yet.",
        _with(
            pre=lambda self, x, sublayer, norm: norm(x) + self.drop(sublayer(norm(x)))
        ),
        "You add to the normalised x: the skip connection should carry x itself.",
        _with(pre=lambda self, x, sublayer, norm: self.drop(sublayer(norm(x)))),
        "The skip connection is missing.",
        _with(pre=_only_queries),
        "Only the queries come from norm_1(x); keys and values should, too.",
    ),
)
MASKS = Stage(
    "masks",
    "the mask reaches the attention",
    masks,
    (
        "Who needs the mask, and is it given to them?",
        "`self.attention(x, x, x, mask)`, in both forms.",
    ),
    wrong(
        _with(sublayers=lambda self, mask: _Other.sublayers(self, None)),
        "The mask does not reach the attention.",
    ),
)
DROPOUT = Stage(
    "dropout",
    "in training each sublayer's output is dropped before it is added",
    dropout,
    (
        "If each sublayer's output were dropped entirely, what should be left?",
        "`self.dropout(…)` goes around the sublayer's output, before the sum; never "
        "around x.",
    ),
    wrong(
        _with(drop=lambda self, y: y),
        "Nothing is dropped yet.",
        _with(
            pre=lambda self, x, sublayer, norm: self.dropout(x + sublayer(norm(x))),
            post=lambda self, x, sublayer, norm: norm(self.dropout(x + sublayer(x))),
        ),
        "You drop the sum, and with it x: the skip connection should stay whole.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the gradients of x and of all parameters equal the formula's",
    gradients,
    (
        "Through the skip connection the gradient reaches x unchanged. Does it, and "
        "does it reach the sublayers too?",
        "Look for `.detach()`, `.data` or `torch.no_grad()`.",
    ),
    wrong(
        _with(
            post=lambda self, x, sublayer, norm: norm(
                x.detach() + self.drop(sublayer(x))
            ),
        ),
        "The skip connection is detached.",
        _with(
            post=lambda self, x, sublayer, norm: norm(
                x + self.drop(sublayer(x)).detach()
            ),
        ),
        "The sublayers cannot learn: what they return is detached.",
    ),
)

PART = Part(
    name="EncoderLayer",
    chapter=8,
    names=("EncoderLayer",),
    ours=(EncoderLayer,),
    stages=(SHAPES, POST_NORM, PRE_NORM, MASKS, DROPOUT, GRADIENTS),
)
