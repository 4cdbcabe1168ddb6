"""The Transformer's decoder layer, ``DecoderLayer(config)``, in both forms."""

from torch import Tensor, nn

from attnbook.course.ch04.part_attention import some_allowed
from attnbook.course.ch05 import part_multi_head as multi_head
from attnbook.course.ch08.part_encoder_layer import Checks, make
from attnbook.course.kit.exercises import by_formula, expect
from attnbook.course.kit.exercises.stages import Part, draw_leaves
from attnbook.nn import layers
from attnbook.nn.layers import FeedForward
from attnbook.nn.multi_head import MultiHeadAttention

B, T, S, D = 2, 4, 5, multi_head.D
MODULES = (
    *("self_attention", "cross_attention", "feed_forward"),
    *("norm_1", "norm_2", "norm_3", "dropout"),
)
POST = "Norm(x + Sublayer(x)), three times"
PRE = "x + Sublayer(Norm(x)), three times"


class DecoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.self_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.cross_attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.norm_3 = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x, memory, mask=None, memory_mask=None):
        def attend(y):
            return self.self_attention(y, y, y, mask)

        def read(y):
            return self.cross_attention(y, memory, memory, memory_mask)

        sublayers = (attend, read, self.feed_forward)
        norms = (self.norm_1, self.norm_2, self.norm_3)
        for sublayer, norm in zip(sublayers, norms, strict=False):
            if self.norm_first:
                x = x + self.dropout(sublayer(norm(x)))
            else:
                x = norm(x + self.dropout(sublayer(x)))
        return x


PART = Part("DecoderLayer", 8, (layers.DecoderLayer,), (DecoderLayer,))


def inputs() -> list[Tensor]:
    """The vectors of the target, (B, T, D), and the encoder's output, (B, S, D)."""
    return draw_leaves(0, (B, T, D), (B, S, D))


CHECKS = Checks(MODULES, inputs, by_formula.decoder_layer)


@PART.stage("two attentions, feed_forward, three norms, dropout; output (B, T, D)")
def shapes(layer: type) -> None:
    """Which sublayers does a decoder have that an encoder lacks? If `forward` stops
    with an error: what does each attention get as query, key and value?

    `self_attention`, `cross_attention` and `feed_forward`, a norm for each of them,
    `norm_1` to `norm_3`, and one `dropout`.

    On "is no nn.LayerNorm": The norms of this course have a gain, `weight`, a `bias`,
    and an `eps`.

    self.norm_3 = nn.LayerNorm(config.d_model) =>
        Each of the three sublayers has a norm of its own.
    self.norm_2 = nn.LayerNorm(config.d_model) => self.norm_2 = self.norm_1
        Each of the three sublayers has a norm of its own.
    self.cross_attention = MultiHeadAttention(config.d_model, config.n_heads) =>
        The two attentions have matrices of their own.
    self.norm_1 = => self.cross_attention = self.self_attention; self.norm_1 =
        The two attentions have matrices of their own.
    FeedForward(config.d_model, config.d_ff) => FeedForward(config.d_model, 4 * D)
        The network's hidden width is `config.d_ff`.
    """
    found = make(layer, False, MODULES)
    expect.shape(found(*inputs()), (B, T, D), "the output", "(B, T, D)")


@PART.stage(f"the output equals {POST}", name="post-norm")
def post_norm(layer: type) -> None:
    """Trace what the cross-attention gets: from where do queries, keys and values come?

    x = norm_2(x + dropout(cross_attention(x, memory, memory))), between the
    self-attention and the feed-forward network.

    norm(x + self.dropout(sublayer(x))) => norm(self.dropout(sublayer(x)))
        The skip connection is missing: add x to the sublayer's output.
    norm(x + self.dropout(sublayer(x))) => x + self.dropout(sublayer(norm(x)))
        That is pre-norm. Here, with norm_first=False, the norm comes after the sum.
    (attend, read, self.feed_forward) => (read, attend, self.feed_forward)
        Self-attention comes first: it tells each position what was generated before,
        and so what to look for in the source.
    (attend, read, self.feed_forward) => (attend, self.feed_forward, read)
        The feed-forward network comes last.
    (attend, read, self.feed_forward) => (attend, read)
        The feed-forward network is missing.
    (y, memory, memory, memory_mask) => (y, y, y)
        The cross-attention reads the target: nothing of the source gets in.
    self.cross_attention(y, memory => self.self_attention(y, memory
        Both attentions use the matrices of the first.
    """
    CHECKS.compare(layer, False, "the output of the post-norm layer", POST)


@PART.stage(f"with norm_first it equals {PRE}", name="pre-norm")
def pre_norm(layer: type) -> None:
    """What is normalised in this form: the decoder's x, the encoder's output, or both?

    x = x + dropout(cross_attention(norm_2(x), memory, memory)): the encoder has
    normalised its output already.

    if self.norm_first => if False
        `config.norm_first` has no effect yet.
    x + self.dropout(sublayer(norm(x))) => norm(x) + self.dropout(sublayer(norm(x)))
        You add to the normalised x: the skip connection should carry x itself.
    norms = => memory = self.norm_2(memory) if self.norm_first else memory; norms =
        The norm is for x; the encoder's output goes in as it is.
    """
    CHECKS.compare(layer, True, "the output of the pre-norm layer", PRE)


@PART.stage("each attention gets its own mask")
def masks(layer: type) -> None:
    """Which mask has an axis of length S, and which attention has keys of the source?

    `self.self_attention(x, x, x, mask)` and `self.cross_attention(x, memory, memory,
    memory_mask)`.

    (y, y, y, mask) => (y, y, y)
        `mask` does not reach the self-attention: the decoder would see the tokens that
        it is to predict.
    (y, memory, memory, memory_mask) => (y, memory, memory)
        `memory_mask` does not reach the cross-attention: it reads the padding.
    """
    given = {"mask": some_allowed((B, 1, T, T))}
    given["memory_mask"] = some_allowed((B, 1, 1, S))
    rule = "that over the allowed keys"
    for norm_first in (False, True):
        for name, mask in given.items():
            what = f"with norm_first={norm_first} the output under `{name}`"
            CHECKS.compare(layer, norm_first, what, rule, **{name: mask})


@PART.stage("in training each sublayer's output is dropped before it is added")
def dropout(layer: type) -> None:
    """If each sublayer's output were dropped entirely, what should be left?

    `self.dropout(…)` goes around the sublayer's output, three times, and never around
    x.

    On "another probability": Which entry of `config` have you not used yet?

    nn.Dropout(config.dropout) => nn.Identity()
        Nothing is dropped yet.
    x + self.dropout(sublayer(norm(x))) => self.dropout(x + sublayer(norm(x)))
    x + self.dropout(sublayer(x)) => self.dropout(x + sublayer(x))
        You drop the sum, and with it x: the skip connection should stay whole.
    norms = => memory = self.dropout(memory); norms =
        `self.dropout` is for each sublayer's output, once, and for nothing else.
    nn.Dropout(config.dropout) => nn.Dropout(0.1)
        The probability stands in `config.dropout`.
    """
    CHECKS.compare_dropped(layer)


@PART.stage("the gradients of both inputs and of all parameters equal the formula's")
def gradients(layer: type) -> None:
    """The encoder learns from the decoder's loss alone. On which path does the gradient
    reach it?

    Look for `.detach()`, `.data` or `torch.no_grad()`.

    norms = => memory = memory.detach(); norms =
        The encoder cannot learn: its output is detached.
    self.dropout(sublayer(x)) => self.dropout(sublayer(x)).detach()
        The sublayers cannot learn: what they return is detached.
    """
    CHECKS.compare_gradients(layer, "x", "memory")
