"""The Transformer's encoder layer, ``EncoderLayer(config)``, in both forms."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from torch import Tensor, nn

from attnbook.course.ch04.part_attention import some_allowed
from attnbook.course.ch05 import part_multi_head as multi_head
from attnbook.course.kit.exercises import by_formula, expect
from attnbook.course.kit.exercises.stages import Part, Wrong, draw_leaves, fill
from attnbook.nn import layers
from attnbook.nn.layers import FeedForward, TransformerConfig
from attnbook.nn.multi_head import MultiHeadAttention

B, S, D, D_FF = 2, 5, multi_head.D, 10
DROPOUT = 0.2  # not the default: the layer is to read its configuration
NAMES = ("attention", "feed_forward", "norm_1", "norm_2", "dropout")
POST = "Norm(x + Sublayer(x)), twice"
PRE = "x + Sublayer(Norm(x)), twice"


class EncoderLayer(nn.Module):
    def __init__(self, config):
        super().__init__()
        self.attention = MultiHeadAttention(config.d_model, config.n_heads)
        self.feed_forward = FeedForward(config.d_model, config.d_ff)
        self.norm_1 = nn.LayerNorm(config.d_model)
        self.norm_2 = nn.LayerNorm(config.d_model)
        self.dropout = nn.Dropout(config.dropout)
        self.norm_first = config.norm_first

    def forward(self, x, mask=None):
        def attend(y):
            return self.attention(y, y, y, mask)

        sublayers = (attend, self.feed_forward)
        norms = (self.norm_1, self.norm_2)
        for sublayer, norm in zip(sublayers, norms, strict=True):
            if self.norm_first:
                x = x + self.dropout(sublayer(norm(x)))
            else:
                x = norm(x + self.dropout(sublayer(x)))
        return x


PART = Part("EncoderLayer", 8, (layers.EncoderLayer,), (EncoderLayer,))


def make(
    layer: type, norm_first: bool, names: Sequence[str] = NAMES, **sizes: int
) -> nn.Module:
    """The reader's layer, or model, with random parameters."""
    sizes |= {"d_model": D, "n_heads": multi_head.H, "d_ff": D_FF}
    config = TransformerConfig(**sizes, dropout=DROPOUT, norm_first=norm_first)
    found = fill(layer(config))
    for name in names:
        module = getattr(found, name, None)
        if not isinstance(module, nn.Module):
            raise Wrong(f"there is no module `self.{name}`.", name)
        needed = ("weight", "bias", "eps") if name.startswith("norm") else ()
        if not all(hasattr(module, attribute) for attribute in needed):
            raise Wrong(f"`self.{name}` is no nn.LayerNorm.", name)
        if name == "feed_forward" and module.W_1.weight.shape != (D_FF, D):
            raise Wrong("`self.feed_forward` has other sizes than the configuration.")
    owners: dict[int, str] = {}
    for name in names:
        for parameter in getattr(found, name).parameters():
            owner = owners.setdefault(id(parameter), name)
            if owner != name:
                raise Wrong(f"`self.{owner}` and `self.{name}` share parameters.")
    return found


@dataclass(frozen=True)
class Checks:
    """Checks of a layer's output, in both forms, against the paper's formula.

    Attributes:
        names: Of the layer's modules.
        inputs: Draws what the layer gets.
        formula: Takes that, the layer and its form, and returns what should come out.
    """

    names: Sequence[str]
    inputs: Callable[[], list[Tensor]]
    formula: Callable[..., Tensor]

    def compare(
        self, layer: type, norm_first: bool, what: str, rule: str, *mask, **masks
    ) -> None:
        """Compare the output, under masks, in one of the forms."""
        found, given = make(layer, norm_first, self.names), self.inputs()
        sizes = {"n_heads": multi_head.H}
        right = self.formula(*given, found, norm_first, *mask, **masks, **sizes)
        expect.close(found(*given, *mask, **masks), right, what, rule)

    def compare_gradients(self, layer: type, *names: str) -> None:
        """Compare the gradients of the inputs, by name, and of all parameters."""
        for norm_first in (False, True):
            found, given = make(layer, norm_first, self.names), self.inputs()
            right = self.formula(*given, found, norm_first, n_heads=multi_head.H)
            leaves = dict(zip(names, given, strict=True))
            expect.gradients(
                found(*given), right, "that of the formula", found, **leaves
            )

    def compare_dropped(self, layer: type) -> None:
        """Only the skip connection and, in post-norm, the norms are left."""
        given = self.inputs()
        norms = [name for name in self.names if name.startswith("norm")]
        for norm_first in (True, False):
            found = make(layer, norm_first, self.names).train()
            found.dropout.p = 1.0
            right, rule = given[0], "x" if norm_first else "x with its norms"
            for name in [] if norm_first else norms:
                right = by_formula.layer_norm(right, getattr(found, name))
            what = f"with norm_first={norm_first}, when each sublayer's output is"
            expect.close(found(*given), right, f"{what} dropped, the output", rule)
            drop_nothing_else(found, len(norms), *given)
        read_probability(make(layer, True, self.names))


def inputs() -> list[Tensor]:
    """The vectors of the source, (B, S, D)."""
    return draw_leaves(0, (B, S, D))


CHECKS = Checks(NAMES, inputs, by_formula.encoder_layer)


@PART.stage("self.attention, feed_forward, norm_1, norm_2, dropout; output (B, S, D)")
def shapes(layer: type) -> None:
    """Which modules do two sublayers need, each with a norm of its own? If `forward`
    stops with an error: what does the attention get as query, key and value?

    `MultiHeadAttention(config.d_model, config.n_heads)`, `FeedForward(config.d_model,
    config.d_ff)`, two `nn.LayerNorm(config.d_model)` and one
    `nn.Dropout(config.dropout)`.

    On "is no nn.LayerNorm": The norms of this course have a gain, `weight`, a `bias`,
    and an `eps`.

    self.norm_2 = nn.LayerNorm(config.d_model) =>
        Each of the two sublayers has a norm of its own.
    self.norm_2 = nn.LayerNorm(config.d_model) => self.norm_2 = self.norm_1
        Each of the two sublayers has a norm of its own.
    FeedForward(config.d_model, config.d_ff) => FeedForward(config.d_model, 4 * D)
        The network's hidden width is `config.d_ff`.
    """
    output = make(layer, False)(*inputs())
    expect.shape(output, (B, S, D), "the output", "(B, S, D)")


@PART.stage(f"the output equals {POST}", name="post-norm")
def post_norm(layer: type) -> None:
    """In the paper's form, what does the norm get: the sublayer's input, its output, or
    their sum?

    x = norm_1(x + dropout(attention(x, x, x))), and the same with norm_2 and
    feed_forward.

    norm(x + self.dropout(sublayer(x))) => norm(self.dropout(sublayer(x)))
        The skip connection is missing: add x to the sublayer's output.
    norm(x + self.dropout(sublayer(x))) => x + self.dropout(sublayer(norm(x)))
        That is pre-norm. Here, with norm_first=False, the norm comes after the sum.
    norm(x + self.dropout(sublayer(x))) => x + norm(self.dropout(sublayer(x)))
        The norm should get the sum, x included.
    norm(x + self.dropout(sublayer(x))) => x + self.dropout(sublayer(x))
        There is no norm.
    (self.norm_1, self.norm_2) => (self.norm_1, self.norm_1)
        Both sublayers use norm_1; the second has its own gain and bias.
    (attend, self.feed_forward) => (self.feed_forward, attend)
        Attention comes first, then the feed-forward network.
    self.dropout(sublayer(x)) => F.dropout(sublayer(x), self.dropout.p)
        You drop at inference too: `self.dropout` acts in training mode only.
    """
    CHECKS.compare(layer, False, "the output of the post-norm layer", POST)


@PART.stage(f"with norm_first it equals {PRE}", name="pre-norm")
def pre_norm(layer: type) -> None:
    """In this form nothing stands on the skip connection. Where does the norm go?

    x = x + dropout(attention(y, y, y)) with y = norm_1(x): the sublayer gets only y,
    and its output is added to x itself.

    if self.norm_first => if False
        `config.norm_first` has no effect yet.
    x + self.dropout(sublayer(norm(x))) => norm(x) + self.dropout(sublayer(norm(x)))
        You add to the normalised x: the skip connection should carry x itself.
    x + self.dropout(sublayer(norm(x))) => self.dropout(sublayer(norm(x)))
        The skip connection is missing.
    self.attention(y, y, y, mask) => self.attention(y, x, x, mask)
        Only the queries come from norm_1(x); keys and values should, too.
    """
    CHECKS.compare(layer, True, "the output of the pre-norm layer", PRE)


@PART.stage("the mask reaches the attention")
def masks(layer: type) -> None:
    """Who needs the mask, and is it given to them?

    `self.attention(x, x, x, mask)`, in both forms.

    self.attention(y, y, y, mask) => self.attention(y, y, y)
        The mask does not reach the attention.
    """
    mask, rule = some_allowed((B, 1, 1, S)), "that over the allowed keys"
    for norm_first in (False, True):
        what = f"with norm_first={norm_first} the masked output"
        CHECKS.compare(layer, norm_first, what, rule, mask)


@PART.stage("in training each sublayer's output is dropped before it is added")
def dropout(layer: type) -> None:
    """If each sublayer's output were dropped entirely, what should be left?

    `self.dropout(…)` goes around the sublayer's output, before the sum; never around x.

    On "another probability": Which entry of `config` have you not used yet?

    nn.Dropout(config.dropout) => nn.Identity()
        Nothing is dropped yet.
    x + self.dropout(sublayer(norm(x))) => self.dropout(x + sublayer(norm(x)))
    x + self.dropout(sublayer(x)) => self.dropout(x + sublayer(x))
        You drop the sum, and with it x: the skip connection should stay whole.
    self.dropout(sublayer(x)) => self.dropout(self.dropout(sublayer(x)))
        `self.dropout` is for each sublayer's output, once, and for nothing else.
    config.n_heads) => config.n_heads, dropout=config.dropout)
        Something else drops, too: in the attention, say, or in the network.
    nn.Dropout(config.dropout) => nn.Dropout(0.1)
        The probability stands in `config.dropout`.
    """
    CHECKS.compare_dropped(layer)


def drop_nothing_else(found: nn.Module, times: int, *given: Tensor) -> None:
    """Raise Wrong if `self.dropout` has more to do, or something else drops."""
    expect.calls(found.dropout, times, "`self.dropout`", lambda: found(*given))
    found.dropout.p = 0.0
    what = "with `self.dropout.p = 0` the output"
    expect.same_in_training(found, *given, what=what)


def read_probability(found: nn.Module) -> None:
    """Raise Wrong unless the dropout has the probability of the configuration."""
    if found.dropout.p != DROPOUT:
        raise Wrong("`self.dropout` has another probability than `config.dropout`.")


@PART.stage("the gradients of x and of all parameters equal the formula's")
def gradients(layer: type) -> None:
    """Through the skip connection the gradient reaches x unchanged. Does it, and does
    it reach the sublayers too?

    Look for `.detach()`, `.data` or `torch.no_grad()`.

    norm(x + => norm(x.detach() +
        The skip connection is detached.
    self.dropout(sublayer(x)) => self.dropout(sublayer(x)).detach()
        The sublayers cannot learn: what they return is detached.
    """
    CHECKS.compare_gradients(layer, "x")
