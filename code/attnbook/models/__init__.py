"""Whole models, one class for each paper, and their weights on disk.

- ``seq2seq``: encoder and decoder without attention
- ``bahdanau``: attention before the recurrent step
- ``luong``: attention after the recurrent step
- ``transformer``: the Transformer
- ``variants``: Transformers with one of their parts exchanged, or taken away
- ``language_model``: decoder-only, GPT
- ``from_torch``: copies of PyTorch's layers, to compare with
- ``checkpoints``: weights as safetensors and JSON
- ``registry``: the models for translation by name
- ``word_tables``: one matrix for embeddings and output layer, counts without them
"""

from attnbook.models.bahdanau import Bahdanau, BahdanauState
from attnbook.models.checkpoints import load_weights, save_weights
from attnbook.models.from_torch import (
    attention_from_torch,
    decoder_layer_from_torch,
    encoder_layer_from_torch,
    transformer_from_torch,
)
from attnbook.models.language_model import LanguageModel
from attnbook.models.luong import Luong, LuongState
from attnbook.models.registry import make_model
from attnbook.models.seq2seq import Encoder, InitialState, Readout, StaticContext
from attnbook.models.transformer import Transformer
from attnbook.models.variants import RotaryTransformer
from attnbook.models.word_tables import count_parameters, tie_tables
from attnbook.nn.layers import TransformerConfig
