"""Deep taggers: stacks of encoder layers, and of layers that lack a part."""

from collections.abc import Callable
from functools import partial

from torch import Tensor, nn

from attnbook.core.checks import check_sizes
from attnbook.nn.block import Residual
from attnbook.nn.layers import EncoderLayer, ScaledEmbedding, TransformerConfig
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.task_models import Tagger
from attnbook.toy.tasks import TASK_VOCAB_SIZE


class AttentionLayer(nn.Module):
    """An encoder layer without the feed-forward network."""

    def __init__(self, d_model: int, n_heads: int, norm_first: bool = False):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm = nn.LayerNorm(d_model)
        self.residual = Residual(norm_first=norm_first)

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, L, D) to (B, L, D)."""
        return self.residual(x, lambda y: self.attention(y, y, y), self.norm)


def linear_layer(config: TransformerConfig) -> EncoderLayer:
    """Create an encoder layer whose feed-forward network has no ReLU."""
    layer = EncoderLayer(config)
    network = layer.feed_forward
    layer.feed_forward = nn.Sequential(network.W_1, network.W_2)
    return layer


CONFIG = TransformerConfig(
    d_model=64, n_heads=4, d_ff=256, dropout=0.0, norm_first=True
)
LAYERS: dict[str, Callable[[], nn.Module]] = {
    "with": partial(EncoderLayer, CONFIG),
    "without ReLU": partial(linear_layer, CONFIG),
    "without": partial(AttentionLayer, 64, 4, norm_first=True),
}
"""Pre-norm layers of width 64, with and without a feed-forward network."""


def tagger(kind: str, n_layers: int) -> Tagger:
    """Create a pre-norm model of layers of one of the kinds of :data:`LAYERS`.

    Raises:
        ValueError: If there is no such kind.
    """
    if kind not in LAYERS:
        raise ValueError(f"kind is {kind!r}; choose one of {', '.join(LAYERS)}")
    check_sizes(n_layers=n_layers)
    layers = [LAYERS[kind]() for _ in range(n_layers)]
    return Tagger(ScaledEmbedding(TASK_VOCAB_SIZE, 64), layers, nn.LayerNorm(64))


def deep_tagger(n_layers: int, norm_first: bool, d_model: int = 64) -> Tagger:
    """Create a model of whole encoder layers, post-norm or pre-norm.

    Pre-norm has one more norm after the stack. The width is a multiple of the 4 heads.
    """
    check_sizes(n_layers=n_layers)
    config = TransformerConfig(
        d_model=d_model,
        n_heads=4,
        d_ff=4 * d_model,
        dropout=0.0,
        norm_first=norm_first,
    )
    layers = [EncoderLayer(config) for _ in range(n_layers)]
    norm = nn.LayerNorm(d_model) if norm_first else None
    return Tagger(ScaledEmbedding(TASK_VOCAB_SIZE, d_model), layers, norm)
