"""The Transformer's decoder layer, ``DecoderLayer(config)``, in both forms."""

from __future__ import annotations

from torch import Tensor, nn

from attnbook.course.ch04.part_attention import some_allowed
from attnbook.course.ch05 import part_multi_head as multi_head
from attnbook.course.ch08 import part_feed_forward as feed_forward
from attnbook.course.ch08.part_encoder_layer import made, normed
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    drawn,
    expect_close,
    expect_gradients,
    expect_shape,
)
from attnbook.nn.layers import DecoderLayer

B, T, S, D = 2, 4, 5, multi_head.D
MODULES = (
    *("self_attention", "cross_attention", "feed_forward"),
    *("norm_1", "norm_2", "norm_3", "dropout"),
)
POST = "Norm(x + Sublayer(x)), three times"
PRE = "x + Sublayer(Norm(x)), three times"


def reference(
    layer: nn.Module,
    x: Tensor,
    memory: Tensor,
    norm_first: bool,
    mask: Tensor | None = None,
    memory_mask: Tensor | None = None,
) -> Tensor:
    """Sections 3.1 and 3.2.3, without dropout, from the layer's own parameters."""
    own, cross = layer.self_attention, layer.cross_attention
    for sublayer, norm in (
        (lambda y: multi_head.reference(own, y, y, y, mask), layer.norm_1),
        (
            lambda y: multi_head.reference(cross, y, memory, memory, memory_mask),
            layer.norm_2,
        ),
        (lambda y: feed_forward.reference(layer.feed_forward, y), layer.norm_3),
    ):
        x = (
            x + sublayer(normed(x, norm))
            if norm_first
            else normed(x + sublayer(x), norm)
        )
    return x


def inputs() -> list[Tensor]:
    """The vectors of the target, (B, T, D), and the encoder's output, (B, S, D)."""
    return drawn(0, (B, T, D), (B, S, D))


def shapes(layer: type) -> None:
    """It maps (B, T, D) to (B, T, D), whatever S is."""
    found = made(layer, False, MODULES)
    expect_shape(found(*inputs()), (B, T, D), "the output", "(B, T, D)")


def _compare(layer: type, norm_first: bool, rule: str) -> None:
    found = made(layer, norm_first, MODULES)
    right = reference(found, *inputs(), norm_first)
    name = "pre-norm" if norm_first else "post-norm"
    expect_close(found(*inputs()), right, f"the output of the {name} layer", rule)


def post_norm(layer: type) -> None:
    """The paper's form."""
    _compare(layer, False, POST)


def pre_norm(layer: type) -> None:
    """The form with ``norm_first``."""
    _compare(layer, True, PRE)


def masks(layer: type) -> None:
    """Each mask reaches its attention, in both forms."""
    mask, memory_mask = some_allowed((B, 1, T, T)), some_allowed((B, 1, 1, S))
    for norm_first in (False, True):
        found = made(layer, norm_first, MODULES)
        for what, given in (
            ("`mask`", (mask, None)),
            ("`memory_mask`", (None, memory_mask)),
        ):
            right = reference(found, *inputs(), norm_first, *given)
            what = f"with norm_first={norm_first} the output under {what}"
            got = found(*inputs(), *given)
            expect_close(got, right, what, "that over the allowed keys")


def dropout(layer: type) -> None:
    """If everything is dropped, only the skip connection and the norms are left."""
    x, memory = inputs()
    for norm_first in (True, False):
        found = made(layer, norm_first, MODULES).train()
        found.dropout.p = 1.0
        right = x
        for norm in () if norm_first else (found.norm_1, found.norm_2, found.norm_3):
            right = normed(right, norm)
        what = f"with norm_first={norm_first}, when each sublayer's output is dropped,"
        rule = "x" if norm_first else "x with its three norms"
        expect_close(found(x, memory), right, f"{what} the output", rule)


def gradients(layer: type) -> None:
    """With respect to both inputs and to every parameter, in both forms."""
    for norm_first in (False, True):
        x, memory = inputs()
        found = made(layer, norm_first, MODULES)
        named = {"x": x, "memory": memory}
        named |= {f"`{n}`": p for n, p in found.named_parameters()}
        right = reference(found, x, memory, norm_first)
        expect_gradients(found(x, memory), right, named, "that of the formula")


class _Other(DecoderLayer):
    """The right layer, in pieces that a mistake can replace."""

    def attend(self, y, mask):
        return self.self_attention(y, y, y, mask)

    def read(self, y, memory, mask):
        return self.cross_attention(y, memory, memory, mask)

    def sublayers(self, memory, mask, memory_mask):
        return (
            (lambda y: self.attend(y, mask), self.norm_1),
            (lambda y: self.read(y, memory, memory_mask), self.norm_2),
            (self.feed_forward, self.norm_3),
        )

    def drop(self, y):
        return self.dropout(y)

    def post(self, x, sublayer, norm):
        return norm(x + self.drop(sublayer(x)))

    def pre(self, x, sublayer, norm):
        return x + self.drop(sublayer(norm(x)))

    def forward(self, x, memory, mask=None, memory_mask=None):
        for sublayer, norm in self.sublayers(memory, mask, memory_mask):
            x = (self.pre if self.norm_first else self.post)(x, sublayer, norm)
        return x


def _with(**methods) -> tuple[type]:
    """The layer with some of its pieces replaced."""
    return (type("Other", (_Other,), methods),)


def _picked(*order: int):
    """The sublayers in another order, each with the norm of its place."""

    def sublayers(self, memory, mask, memory_mask):
        found = _Other.sublayers(self, memory, mask, memory_mask)
        norms = [norm for _, norm in found]
        return [(found[i][0], norm) for i, norm in zip(order, norms, strict=False)]

    return sublayers


def _normed_memory(self, memory, mask, memory_mask):
    memory = self.norm_2(memory) if self.norm_first else memory
    return _Other.sublayers(self, memory, mask, memory_mask)


class _TwoNorms(DecoderLayer):
    def __init__(self, config):
        super().__init__(config)
        del self.norm_3


class _OneAttention(DecoderLayer):
    def __init__(self, config):
        super().__init__(config)
        del self.cross_attention


SHAPES = Stage(
    "shapes",
    "two attentions, feed_forward, three norms, dropout; output (B, T, D)",
    shapes,
    (
        "Which sublayers does a decoder have that an encoder lacks?",
        "`self_attention`, `cross_attention` and `feed_forward`, a norm for each of "
        "them, `norm_1` to `norm_3`, and one `dropout`.",
    ),
    wrong(
        (_TwoNorms,),
        "Each of the three sublayers has a norm of its own.",
        (_OneAttention,),
        "The two attentions have matrices of their own.",
    ),
)
POST_NORM = Stage(
    "post-norm",
    f"the output equals {POST}",
    post_norm,
    (
        "Trace what the cross-attention gets: from where do queries, keys and values "
        "come?",
        "x = norm_2(x + dropout(cross_attention(x, memory, memory))), between the "
        "self-attention and the feed-forward network.",
    ),
    wrong(
        _with(post=lambda self, x, sublayer, norm: norm(self.drop(sublayer(x)))),
        "The skip connection is missing: add x to the sublayer's output.",
        _with(post=_Other.pre),
        "That is pre-norm. Here, with norm_first=False, the norm comes after the sum.",
        _with(sublayers=_picked(1, 0, 2)),
        "Self-attention comes first: it tells each position what was generated "
        "before, and so what to look for in the source.",
        _with(sublayers=_picked(0, 2, 1)),
        "The feed-forward network comes last.",
        _with(sublayers=_picked(0, 1)),
        "The feed-forward network is missing.",
        _with(read=lambda self, y, memory, mask: self.cross_attention(y, y, y)),
        "The cross-attention reads the target: nothing of the source gets in.",
        _with(
            read=lambda self, y, memory, mask: self.self_attention(y, memory, memory)
        ),
        "Both attentions use the matrices of the first.",
    ),
)
PRE_NORM = Stage(
    "pre-norm",
    f"with norm_first it equals {PRE}",
    pre_norm,
    (
        "What is normalised in this form: the decoder's x, the encoder's output, or "
        "both?",
        "x = x + dropout(cross_attention(norm_2(x), memory, memory)): the encoder has "
        "normalised its output already.",
    ),
    wrong(
        _with(pre=_Other.post),
        "`config.norm_first` has no effect yet.",
        _with(
            pre=lambda self, x, sublayer, norm: norm(x) + self.drop(sublayer(norm(x)))
        ),
        "You add to the normalised x: the skip connection should carry x itself.",
        _with(sublayers=_normed_memory),
        "The norm is for x; the encoder's output goes in as it is.",
    ),
)
MASKS = Stage(
    "masks",
    "each attention gets its own mask",
    masks,
    (
        "Which mask has an axis of length S, and which attention has keys of the "
        "source?",
        "`self.self_attention(x, x, x, mask)` and `self.cross_attention(x, memory, "
        "memory, memory_mask)`.",
    ),
    wrong(
        _with(attend=lambda self, y, mask: self.self_attention(y, y, y)),
        "`mask` does not reach the self-attention: the decoder would see the tokens "
        "that it is to predict.",
        _with(
            read=lambda self, y, memory, mask: self.cross_attention(y, memory, memory)
        ),
        "`memory_mask` does not reach the cross-attention: it reads the padding.",
    ),
)
DROPOUT = Stage(
    "dropout",
    "in training each sublayer's output is dropped before it is added",
    dropout,
    (
        "If each sublayer's output were dropped entirely, what should be left?",
        "`self.dropout(…)` goes around the sublayer's output, three times, and never "
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
    "the gradients of both inputs and of all parameters equal the formula's",
    gradients,
    (
        "The encoder learns from the decoder's loss alone. On which path does the "
        "gradient reach it?",
        "Look for `.detach()`, `.data` or `torch.no_grad()`.",
    ),
    wrong(
        _with(
            read=lambda self, y, memory, mask: self.cross_attention(
                y, memory.detach(), memory.detach(), mask
            )
        ),
        "The encoder cannot learn: its output is detached.",
        _with(
            post=lambda self, x, sublayer, norm: norm(
                x + self.drop(sublayer(x)).detach()
            ),
        ),
        "The sublayers cannot learn: what they return is detached.",
    ),
)

PART = Part(
    name="DecoderLayer",
    chapter=8,
    names=("DecoderLayer",),
    ours=(DecoderLayer,),
    stages=(SHAPES, POST_NORM, PRE_NORM, MASKS, DROPOUT, GRADIENTS),
)
