"""Others' Transformers, of the same size as ours, to set the speed of ours beside.

``torch.nn.Transformer``, and Marian as Hugging Face's ``transformers`` has it, where
that is installed. Both get the embeddings, the output and the dropout of ours.
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
    """``nn.Transformer`` between embeddings and an output as ours has them.

    Args:
        config: The sizes, those of ours.
    """

    def __init__(self, config: TransformerConfig):
        super().__init__()
        around = Transformer(dataclasses.replace(config, n_heads=1, n_layers=1, d_ff=1))
        self.embedding, self.out = around.source_embedding, around.out
        self.positions, self.dropout = around.positions, nn.Dropout(config.dropout)
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
            layer.dropout.p = 0.0  # within the feed-forward network; ours has none
        for module in self.layers.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0  # of the weights

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict as ours: ids (B, S) and (B, T) to logits (B, T, V)."""
        pads = ~padding_mask(src)  # in PyTorch's masks True means: may not attend
        found = self.layers(
            self._embed(src),
            self._embed(tgt_in),
            tgt_mask=~causal_mask(tgt_in.shape[1], device=src.device),
            tgt_is_causal=True,
            src_key_padding_mask=pads,
            memory_key_padding_mask=pads,
        )
        return self.out(found)

    def _embed(self, ids: Tensor) -> Tensor:
        return self.dropout(self.positions(self.embedding(ids)))


def has_marian() -> bool:
    """Whether Hugging Face's ``transformers`` is installed."""
    return find_spec("transformers") is not None


def marian(config: TransformerConfig) -> nn.Module:
    """Make an untrained ``MarianMTModel``, whose form is post-norm.

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
    """Marian, called as ours is.

    Args:
        theirs: What :func:`marian` made.
    """

    def __init__(self, theirs: nn.Module):
        super().__init__()
        self.theirs = theirs

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict as ours: ids (B, S) and (B, T) to logits (B, T, V)."""
        return self.theirs(
            input_ids=src,
            attention_mask=padding_mask(src).long(),
            decoder_input_ids=tgt_in,
            use_cache=False,
        ).logits


def marian_says(theirs: nn.Module, src: Tensor, length: int, width: int = 1) -> Tensor:
    """Let Marian's ``generate`` write exactly ``length`` words a sentence.

    Args:
        theirs: What :func:`marian` made.
        src: Source ids, (B, S).
        length: Words.
        width: Beams; 1 is greedy.

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
