"""Small causal models of characters, made of the block of 2017, of today, and between.

Each variant replaces one part of a pre-norm block of 2017; ``today`` replaces all of
them. A part is a class with its sizes, so a variant is a list of parts and no switch.
"""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.course.a2.characters import CHARACTERS
from attnbook.nn.block import Block
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.layers import EncoderLayer, FeedForward, TransformerConfig
from attnbook.nn.masks import causal_mask
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.norms import RMSNorm
from attnbook.nn.positions import SinusoidalPositions
from attnbook.nn.rotary import Rotary

WIDTH, HEADS, GROUPS, LAYERS = 64, 4, 2, 4
HIDDEN = 256  # of the feed-forward network without gate
GATED = 2 * HIDDEN // 3  # of SwiGLU: as many parameters
EXPERTS = 8  # each half as wide, so that the two in use are as large as one network


class CharacterModel(nn.Module):
    """Embedding, positions, blocks under a causal mask, a last norm, logits.

    Args:
        blocks: Called with (B, T, D) and a mask.
        norm: After the last block: pre-norm blocks need one, post-norm blocks do not.
        positions: Added to the embeddings; ``nn.Identity()`` adds nothing.
        d_model: Width D.
    """

    def __init__(
        self,
        blocks: Sequence[nn.Module],
        norm: nn.Module,
        positions: nn.Module,
        d_model: int = WIDTH,
    ):
        super().__init__()
        self.embedding = nn.Embedding(len(CHARACTERS), d_model)
        self.positions, self.blocks = positions, nn.ModuleList(blocks)
        self.norm = norm
        self.out = nn.Linear(d_model, len(CHARACTERS), bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the next character, (B, T, V), from ids without padding, (B, T)."""
        x = self.positions(self.embedding(ids))  # (B, T, D)
        mask = causal_mask(ids.shape[1], device=ids.device)
        for block in self.blocks:
            x = block(x, mask)
        return self.out(self.norm(x))


class Parts(NamedTuple):
    """What makes the parts of a block, and what is added to the embeddings."""

    norm: Callable[[], torch.nn.Module]
    attention: Callable[[], torch.nn.Module]
    feed_forward: Callable[[], torch.nn.Module]
    positions: Callable[[], torch.nn.Module]


def rotary_heads() -> MultiHeadAttention:
    """Attention whose queries and keys are rotated."""
    return MultiHeadAttention(WIDTH, HEADS, turn=Rotary())


normed_heads = partial(MultiHeadAttention, WIDTH, HEADS, qk_norm=True, bias=False)
"""Makes an attention with QK-norm."""


def attention_of_today() -> MultiHeadAttention:
    """Grouped queries, QK-norm, and then the rotation."""
    return normed_heads(n_groups=GROUPS, turn=Rotary())


def experts() -> MixtureOfExperts:
    """Eight gated networks, of which each position uses two."""
    networks = [SwiGLU(WIDTH, GATED // 2) for _ in range(EXPERTS)]
    return MixtureOfExperts(WIDTH, networks, top_k=2)


OF_2017 = Parts(
    norm=partial(nn.LayerNorm, WIDTH),
    attention=partial(MultiHeadAttention, WIDTH, HEADS),
    feed_forward=partial(FeedForward, WIDTH, HIDDEN),
    positions=partial(SinusoidalPositions, WIDTH),
)
OF_TODAY = Parts(
    norm=partial(RMSNorm, WIDTH),
    attention=attention_of_today,
    feed_forward=partial(SwiGLU, WIDTH, GATED),
    positions=nn.Identity,
)


def pre_norm_model(parts: Parts) -> CharacterModel:
    """A model of pre-norm blocks, each with parts of its own."""
    blocks = [
        Block(parts.norm(), parts.attention(), parts.norm(), parts.feed_forward())
        for _ in range(LAYERS)
    ]
    return CharacterModel(blocks, parts.norm(), parts.positions())


def post_norm() -> CharacterModel:
    """The layer of Vaswani et al. 2017, with the norm after each sum."""
    config = TransformerConfig(
        d_model=WIDTH, n_heads=HEADS, d_ff=HIDDEN, n_layers=LAYERS, dropout=0.0
    )
    layers = [EncoderLayer(config) for _ in range(LAYERS)]
    return CharacterModel(layers, nn.Identity(), SinusoidalPositions(WIDTH))


def without_biases(model: nn.Module) -> nn.Module:
    """Remove the biases of all linear maps and norms of a model, and return it."""
    for module in model.modules():
        if getattr(module, "bias", None) is not None:
            module.bias = None
    return model


VARIANTS: dict[str, Callable[[], nn.Module]] = {
    "post_norm": post_norm,
    "pre_norm": partial(pre_norm_model, OF_2017),
    "rms_norm": partial(pre_norm_model, OF_2017._replace(norm=OF_TODAY.norm)),
    "rotary": partial(
        pre_norm_model,
        OF_2017._replace(attention=rotary_heads, positions=nn.Identity),
    ),
    "swiglu": partial(
        pre_norm_model, OF_2017._replace(feed_forward=OF_TODAY.feed_forward)
    ),
    "no_biases": lambda: without_biases(pre_norm_model(OF_2017)),
    "grouped": partial(
        pre_norm_model,
        OF_2017._replace(
            attention=partial(
                MultiHeadAttention, WIDTH, HEADS, n_groups=GROUPS, bias=False
            )
        ),
    ),
    "qk_norm": partial(pre_norm_model, OF_2017._replace(attention=normed_heads)),
    "today": partial(pre_norm_model, OF_TODAY),
    "experts": partial(pre_norm_model, OF_TODAY._replace(feed_forward=experts)),
}
"""The models that page A2 compares, each with the part that it replaces."""
