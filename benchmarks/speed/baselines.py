"""Baselines for speed: other implementations of the Transformer, at the same size.

``torch.nn.Transformer``, and Marian of Hugging Face's ``transformers``, if that is
installed. Both have the embeddings, the output layer and the dropout of ours.
"""

from __future__ import annotations

import dataclasses
from importlib.util import find_spec

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import causal_mask, padding_mask


class TorchTransformer(nn.Module):
    """``nn.Transformer`` with the embeddings and the output layer of ours.

    Args:
        config: The sizes, as for ours.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        ours = Transformer(dataclasses.replace(config, n_heads=1, n_layers=1, d_ff=1))
        self.embedding, self.out = ours.source_embedding, ours.out
        self.positions, self.dropout = ours.positions, nn.Dropout(config.dropout)
        self.layers = nn.Transformer(
            config.d_model,
            config.n_heads,
            config.n_layers,
            config.n_layers,
            config.d_ff,
            dropout=config.dropout,
            batch_first=True,
            norm_first=config.norm_first,
        )
        for layer in (*self.layers.encoder.layers, *self.layers.decoder.layers):
            layer.dropout.p = 0.0  # inside the feed-forward network: ours has none
        for module in self.layers.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0  # of the attention weights

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Map ids, (B, S) and (B, T), to logits, (B, T, V), as ours."""
        padding = ~padding_mask(src)  # in PyTorch's masks True means: may not attend
        out = self.layers(
            self._embed(src),
            self._embed(tgt_in),
            tgt_mask=~causal_mask(tgt_in.shape[1], device=src.device),
            tgt_is_causal=True,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
        )
        return self.out(out)

    def _embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.positions(self.embedding(ids)))


def has_marian() -> bool:
    """Whether Hugging Face's ``transformers`` is installed."""
    return find_spec("transformers") is not None


def marian(config: TransformerConfig) -> nn.Module:
    """Create an untrained ``MarianMTModel``, which is post-norm.

    Raises:
        ValueError: If ``transformers`` is not installed.
    """
    if not has_marian():
        raise ValueError("transformers is not installed: pip install transformers")
    from transformers import MarianConfig, MarianMTModel

    layers = {
        f"{side}_{what}": value
        for side in ("encoder", "decoder")
        for what, value in (
            ("layers", config.n_layers),
            ("attention_heads", config.n_heads),
            ("ffn_dim", config.d_ff),
        )
    }
    theirs = MarianConfig(
        vocab_size=config.source_vocab_size,
        d_model=config.d_model,
        **layers,
        activation_function="relu",
        dropout=config.dropout,
        attention_dropout=0.0,
        activation_dropout=0.0,
        scale_embedding=True,
        max_position_embeddings=512,
        pad_token_id=PAD,
        bos_token_id=BOS,
        eos_token_id=EOS,
        decoder_start_token_id=BOS,
        forced_eos_token_id=None,
        attn_implementation="sdpa",
    )
    return MarianMTModel(theirs)


class MarianLogits(nn.Module):
    """Marian with the interface of ours.

    Args:
        theirs: Created by :func:`marian`.
    """

    def __init__(self, theirs: nn.Module):
        super().__init__()
        self.theirs = theirs

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Map ids, (B, S) and (B, T), to logits, (B, T, V), as ours."""
        return self.theirs(
            input_ids=src,
            attention_mask=padding_mask(src).long(),
            decoder_input_ids=tgt_in,
            use_cache=False,
        ).logits


def marian_generate(
    theirs: nn.Module, src: Tensor, length: int, width: int = 1
) -> Tensor:
    """Generate exactly ``length`` tokens per sentence with Marian.

    Args:
        theirs: Created by :func:`marian`.
        src: Source ids, (B, S).
        length: Number of tokens.
        width: Beam width; 1 is greedy decoding.

    Returns:
        Ids, (B, 1 + ``length``); the first is ``BOS``.
    """
    with torch.no_grad():
        return theirs.generate(
            input_ids=src,
            attention_mask=padding_mask(src).long(),
            num_beams=width,
            do_sample=False,
            min_new_tokens=length,
            max_new_tokens=length,
        )
