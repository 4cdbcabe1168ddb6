"""Layers and models with the weights of PyTorch's own, so that both can be compared.

Three things differ, and they are not weights. PyTorch's layers drop numbers inside the
feed-forward network and attention weights too, which the paper does not name. Its
layers do not see the sums of word vector and position, where the paper drops as well.
And ``nn.Transformer`` ends both stacks with a norm in post-norm too.
"""

from __future__ import annotations

import copy
from typing import TypeVar

from torch import nn
from torch.nn import functional as F

from attnbook.models.transformer import Transformer
from attnbook.nn.layers import DecoderLayer, EncoderLayer, Residual
from attnbook.nn.multi_head import MultiHeadAttention

Layer = TypeVar("Layer", EncoderLayer, DecoderLayer)


def encoder_layer_from_torch(theirs: nn.TransformerEncoderLayer) -> EncoderLayer:
    """Make an encoder layer with the weights of PyTorch's.

    Args:
        theirs: One with biases and ReLU, as in the paper.

    Returns:
        A copy; also of its type, device and mode (train or eval). It takes the batch
        first, whatever ``theirs`` takes, and drops nothing.

    Raises:
        ValueError: If it has another activation, or no biases.
    """
    ours = EncoderLayer(*_sizes(theirs), norm_first=theirs.norm_first)
    ours.attention = _attention(theirs.self_attn)
    return _fill(ours, theirs, [ours.add_attention, ours.add_feed_forward])


def decoder_layer_from_torch(theirs: nn.TransformerDecoderLayer) -> DecoderLayer:
    """Make a decoder layer with the weights of PyTorch's; as :func:`encoder_layer`."""
    ours = DecoderLayer(*_sizes(theirs), norm_first=theirs.norm_first)
    ours.self_attention = _attention(theirs.self_attn)
    ours.cross_attention = _attention(theirs.multihead_attn)
    residuals = [
        ours.add_self_attention,
        ours.add_cross_attention,
        ours.add_feed_forward,
    ]
    return _fill(ours, theirs, residuals)


def transformer_from_torch(
    theirs: nn.Transformer, n_source: int, n_target: int | None = None
) -> Transformer:
    """Make a Transformer around the weights of ``nn.Transformer``.

    PyTorch's begins with vectors and ends with vectors; embeddings, positions and
    output are therefore new.

    Args:
        theirs: Its layers are as :func:`encoder_layer` asks for.
        n_source: Number of source words.
        n_target: Number of target words, or None for one vocabulary.

    Returns:
        A model that drops nothing; with those final norms that ``theirs`` has.
    """
    first = theirs.encoder.layers[0]
    d_model, n_heads, d_ff = _sizes(first)
    ours = Transformer(
        n_source,
        n_target,
        d_model=d_model,
        n_heads=n_heads,
        n_layers=1,
        d_ff=d_ff,
        dropout=0.0,
        norm_first=first.norm_first,
    ).to(first.linear1.weight)
    ours.encoder = nn.ModuleList(map(encoder_layer_from_torch, theirs.encoder.layers))
    ours.decoder = nn.ModuleList(map(decoder_layer_from_torch, theirs.decoder.layers))
    ours.encoder_norm = copy.deepcopy(theirs.encoder.norm) or nn.Identity()
    ours.decoder_norm = copy.deepcopy(theirs.decoder.norm) or nn.Identity()
    return ours.train(theirs.training)


def _sizes(theirs: nn.Module) -> tuple[int, int, int]:
    """D, H and d_ff of a layer that does what the paper says."""
    if not (theirs.activation is F.relu or isinstance(theirs.activation, nn.ReLU)):
        raise ValueError(
            f"the layer's activation is {theirs.activation}; the paper's is ReLU: make "
            "it with activation='relu'"
        )
    if theirs.linear1.bias is None:
        raise ValueError("the layer has no biases; make it with bias=True")
    attention = theirs.self_attn
    return attention.embed_dim, attention.num_heads, theirs.linear1.out_features


def _attention(theirs: nn.MultiheadAttention) -> MultiHeadAttention:
    ours = MultiHeadAttention.from_torch(theirs)
    ours.dropout = 0.0
    return ours


def _fill(ours: Layer, theirs: nn.Module, residuals: list[Residual]) -> Layer:
    """Copy what encoder and decoder layers have in common: the networks, the norms."""
    ours = ours.to(theirs.linear1.weight)
    ours.feed_forward.W_1.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.W_2.load_state_dict(theirs.linear2.state_dict())
    for number, residual in enumerate(residuals, start=1):
        residual.norm = copy.deepcopy(getattr(theirs, f"norm{number}"))
    return ours.train(theirs.training)
