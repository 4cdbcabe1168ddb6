"""Attention maps: the weights of every attention in a model."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.core.devices import model_device
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.data import make_batch
from attnbook.toy.language import Pair


@torch.no_grad()
def attention_maps(model: nn.Module, *inputs: Tensor) -> dict[str, Tensor]:
    """Run a model and collect the weights of each of its attentions.

    Models use the fused kernel, which does not return weights. So each attention is
    called a second time, with ``need_weights``.

    Args:
        model: Holds :class:`~attnbook.nn.multi_head.MultiHeadAttention` modules;
            in eval mode, or dropout changes the weights.
        inputs: Inputs of the model, such as ``src, tgt_in``.

    Returns:
        Weights of each head, (B, H, T, S), by the name of the module, such as
        ``"decoder.0.cross_attention"``, in the order of the calls.

    Raises:
        ValueError: If one module is called twice.

    Examples:
        >>> from attnbook.analysis import attention_maps
        >>> from attnbook.toy import load_toy_model
        >>> src, tgt_in = torch.tensor([[4, 5, 6, 2]]), torch.tensor([[1, 7, 8]])
        >>> maps = attention_maps(load_toy_model("transformer"), src, tgt_in)
        >>> maps["decoder.0.cross_attention"].shape  # (B, H, T, S)
        torch.Size([1, 4, 3, 4])
    """
    maps = {}

    def call_again(module: nn.Module, args: tuple, kwargs: dict, _: object) -> None:
        if names[module] in maps:
            raise ValueError(
                f"{names[module]} is called twice, as if it were two attentions; use "
                "two modules, or call it with need_weights yourself"
            )
        # forward, and not a call, which would run this hook again.
        _, weights = module.forward(*args, **{**kwargs, "need_weights": True})
        maps[names[module]] = weights

    names = {
        m: n for n, m in model.named_modules() if isinstance(m, MultiHeadAttention)
    }
    handles = [m.register_forward_hook(call_again, with_kwargs=True) for m in names]
    try:
        model(*inputs)
    finally:
        for handle in handles:
            handle.remove()
    return maps


def cross_weights(model: nn.Module, pairs: Sequence[Pair]) -> Tensor:
    """Cross-attention weights of a Transformer, averaged over layers and heads.

    Args:
        model: A :class:`~attnbook.models.transformer.Transformer`.
        pairs: B pairs of the toy language; the decoder runs under teacher forcing.

    Returns:
        (B, T, S), as :func:`~attnbook.toy.metrics.attention_weights`.
    """
    batch = make_batch(pairs, model_device(model))
    maps = attention_maps(model, batch.src, batch.tgt_in)
    cross = [w for name, w in maps.items() if name.endswith("cross_attention")]
    return torch.stack(cross).mean(dim=(0, 2))  # (L, B, H, T, S) → (B, T, S)
