"""Encoder-only models: a text with gaps, a tag for each word (Devlin et al. 2019).

What is left out of BERT: its second training task (is this the next sentence?), the
segment embeddings for it, and a layer between the encoder and the output.
"""

from __future__ import annotations

from torch import Tensor, nn

from attnbook.core.checks import check_ids, check_padded_right, check_sizes
from attnbook.models.language_model import embed, make_table
from attnbook.nn.layers import EncoderStack, TransformerConfig, check_config
from attnbook.nn.masks import key_mask


class TextEncoder(nn.Module):
    """One vector for each token, made from the whole text.

    Args:
        config: The sizes; ``source_vocab_size`` is that of the one vocabulary, V.
        max_len: Number of positions that have a vector.
    """

    def __init__(self, config: TransformerConfig, max_len: int):
        super().__init__()
        check_config(config)
        check_sizes(max_len=max_len)
        self.W_e = make_table(config.source_vocab_size, config.d_model)  # (V, D)
        self.W_p = make_table(max_len, config.d_model)  # (max_len, D)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = EncoderStack(config)

    def forward(self, ids: Tensor) -> Tensor:
        """Turn ids, (B, T), padded on the right, into vectors, (B, T, D).

        Raises:
            ValueError: If the text is longer than ``max_len``, or the ids are not of
                the vocabulary, or not so padded.
        """
        check_ids(ids=ids)
        check_padded_right(ids=ids)
        h = self.dropout(embed(ids, self.W_e, self.W_p))  # (B, T, D)
        return self.stack(h, key_mask(ids))


class MaskedLanguageModel(nn.Module):
    """Guesses hidden tokens from those on both sides.

    Args:
        encoder: Its table of tokens is the output layer's as well.
    """

    def __init__(self, encoder: TextEncoder):
        super().__init__()
        self.encoder = encoder

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the token at each position, hidden or not: (B, T, V)."""
        return self.encoder(ids) @ self.encoder.W_e.T


class SequenceTagger(nn.Module):
    """Chooses a tag for each token.

    Args:
        encoder: May have been trained on another task before.
        n_tags: Number of tags.
    """

    def __init__(self, encoder: TextEncoder, n_tags: int):
        super().__init__()
        check_sizes(n_tags=n_tags)
        self.encoder = encoder
        self.out = nn.Linear(encoder.W_e.shape[1], n_tags)

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the tags, (B, T, n_tags), for ids, (B, T)."""
        return self.out(self.encoder(ids))
