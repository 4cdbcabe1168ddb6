"""Layers and models with the weights of PyTorch's own, so that both can be compared.

Three things differ, and they are not weights. PyTorch's layers also apply dropout
inside the feed-forward network, which the paper does not mention, and to attention
weights, which it names in section 6.3 only. Its layers do not see the sums of embedding
and position, where the paper applies dropout as well. And ``nn.Transformer`` ends both
stacks with a norm in post-norm too.
"""

from __future__ import annotations

import copy
import dataclasses
from collections.abc import Callable
from typing import TypeVar

import torch
from torch import Tensor, nn

from attnbook.models.transformer import Transformer
from attnbook.nn.layers import DecoderLayer, EncoderLayer, TransformerConfig
from attnbook.nn.multi_head import MultiHeadAttention

Layer = TypeVar("Layer", EncoderLayer, DecoderLayer)


def attention_from_torch(theirs: nn.MultiheadAttention) -> MultiHeadAttention:
    """Make a multi-head attention with the weights of PyTorch's.

    Args:
        theirs: Any ``nn.MultiheadAttention`` that does what the paper says: its
            keys and values are as wide as its queries, none is added.

    Returns:
        A copy; also of its type, device, dropout and mode (train or eval). It takes
        the batch first, whatever ``theirs.batch_first`` says.

    Raises:
        ValueError: If it has ``kdim``, ``vdim``, ``add_bias_kv`` or
            ``add_zero_attn``.

    Examples:
        >>> theirs = nn.MultiheadAttention(8, 2, batch_first=True).eval()
        >>> ours, x = attention_from_torch(theirs), torch.randn(1, 3, 8)
        >>> torch.allclose(ours(x, x, x), theirs(x, x, x)[0], atol=1e-6)
        True
    """
    weight = theirs.in_proj_weight  # (3 D, D): W^Q, W^K and W^V below each other
    if weight is None or theirs.bias_k is not None or theirs.add_zero_attn:
        raise ValueError(
            "this nn.MultiheadAttention has kdim, vdim, add_bias_kv or "
            "add_zero_attn, which the paper does not know; make one without"
        )
    stacked = {"weight": weight}
    if theirs.in_proj_bias is not None:
        stacked["bias"] = theirs.in_proj_bias  # (3 D,)
    state = theirs.out_proj.state_dict(prefix="W_O.")
    for name, rows in stacked.items():
        for linear, part in zip(("W_Q", "W_K", "W_V"), rows.chunk(3), strict=True):
            state[f"{linear}.{name}"] = part
    ours = MultiHeadAttention(
        theirs.embed_dim,
        theirs.num_heads,
        bias="bias" in stacked,
        dropout=theirs.dropout,
    ).to(weight)
    ours.load_state_dict(state)
    return ours.train(theirs.training)


def encoder_layer_from_torch(theirs: nn.TransformerEncoderLayer) -> EncoderLayer:
    """Make an encoder layer with the weights of PyTorch's.

    Args:
        theirs: One with biases and ReLU, as in the paper.

    Returns:
        A copy; also of its type, device and mode (train or eval). It takes the batch
        first, whatever ``theirs`` takes, and has no dropout.

    Raises:
        ValueError: If it has another activation, or no biases.
    """
    return _layer(EncoderLayer, theirs, attention=theirs.self_attn)


def decoder_layer_from_torch(theirs: nn.TransformerDecoderLayer) -> DecoderLayer:
    """Make a decoder layer with the weights of PyTorch's.

    As :func:`encoder_layer_from_torch`.
    """
    attentions = {
        "self_attention": theirs.self_attn,
        "cross_attention": theirs.multihead_attn,
    }
    return _layer(DecoderLayer, theirs, **attentions)


def transformer_from_torch(
    theirs: nn.Transformer, source_vocab_size: int, target_vocab_size: int | None = None
) -> Transformer:
    """Make a Transformer around the weights of ``nn.Transformer``.

    PyTorch's begins with vectors and ends with vectors; embeddings, positions and
    output are therefore new.

    Args:
        theirs: Its layers are as :func:`encoder_layer_from_torch` asks for.
        source_vocab_size: Number of source tokens.
        target_vocab_size: Number of target tokens, or None for one vocabulary.

    Returns:
        A model without dropout; with those final norms that ``theirs`` has. If its
        stacks differ in depth, the ``n_layers`` of its config is the encoder's.
    """
    first = theirs.encoder.layers[0]
    config = dataclasses.replace(
        _config(first),
        source_vocab_size=source_vocab_size,
        target_vocab_size=target_vocab_size,
        n_layers=len(theirs.encoder.layers),
    )
    ours = Transformer(config).to(first.linear1.weight)
    ours.encoder = nn.ModuleList(map(encoder_layer_from_torch, theirs.encoder.layers))
    ours.decoder = nn.ModuleList(map(decoder_layer_from_torch, theirs.decoder.layers))
    ours.encoder_norm = copy.deepcopy(theirs.encoder.norm) or nn.Identity()
    ours.decoder_norm = copy.deepcopy(theirs.decoder.norm) or nn.Identity()
    return ours.train(theirs.training)


def _config(theirs: nn.Module) -> TransformerConfig:
    """The sizes of a layer that does what the paper says."""
    if not _is_relu(theirs.activation):
        raise ValueError(
            f"the layer's activation is {theirs.activation}, which is not the paper's "
            "ReLU; make it with activation='relu'"
        )
    if theirs.linear1.bias is None:
        raise ValueError("the layer has no biases; make it with bias=True")
    return TransformerConfig(
        d_model=theirs.self_attn.embed_dim,
        n_heads=theirs.self_attn.num_heads,
        d_ff=theirs.linear1.out_features,
        dropout=0.0,
        norm_first=theirs.norm_first,
    )


def _is_relu(activation: Callable[[Tensor], Tensor]) -> bool:
    """Whether it is ``nn.ReLU``, or a function that gives what ReLU gives."""
    if isinstance(activation, nn.Module):
        return isinstance(activation, nn.ReLU)
    x = torch.tensor([-1e3, -5, -1, -0.1, 0, 0.1, 1, 5, 7, 1e3])
    return torch.equal(activation(x.clone()), x.relu())


def _layer(
    kind: type[Layer], theirs: nn.Module, **attentions: nn.MultiheadAttention
) -> Layer:
    """Make a layer without dropout; the attentions have the names that ours have."""
    ours = kind(_config(theirs)).to(theirs.linear1.weight)
    for name, attention in attentions.items():
        setattr(ours, name, attention_from_torch(attention))
        getattr(ours, name).dropout = 0.0
    ours.feed_forward.W_1.load_state_dict(theirs.linear1.state_dict())
    ours.feed_forward.W_2.load_state_dict(theirs.linear2.state_dict())
    for number in (1, 2, 3):
        if hasattr(theirs, f"norm{number}"):
            norm = copy.deepcopy(getattr(theirs, f"norm{number}"))
            setattr(ours, f"norm_{number}", norm)
    return ours.train(theirs.training)
