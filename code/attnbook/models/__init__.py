"""Whole models, one class for each paper, and their weights on disk.

- ``seq2seq``: encoder and decoder without attention; ``narrow_context``: its control
- ``bahdanau``: attention before the recurrent step
- ``luong``: attention after the recurrent step
- ``transformer``: the Transformer
- ``rotary_transformer``: the Transformer with rotary encodings
- ``language_model``: decoder-only, GPT
- ``encoder_only``: guessing hidden words, tagging
- ``patch_classifier``: images as sequences of patches, ViT
- ``trigram``: counts of word triples, to compare with
- ``lite_transformer``: a Transformer with long–short attention in the encoder
- ``non_autoregressive``: a Transformer that predicts all tokens at once
- ``from_torch``: copies of PyTorch's layers, to compare with
- ``ablations``: a Transformer without one of its parts
- ``checkpoints``: weights as safetensors and JSON
- ``registry``: the models for translation by name
- ``word_tables``: one matrix for embeddings and output layer, counts without them
"""

from attnbook.models.ablations import (
    ablate,
    without_feed_forward,
    without_positions,
    without_scale,
)
from attnbook.models.bahdanau import Bahdanau, BahdanauState, EncodedSource
from attnbook.models.checkpoints import (
    dequantize,
    load_weights,
    quantize,
    read_facts,
    save_weights,
    tensors,
)
from attnbook.models.encoder_only import (
    MaskedLanguageModel,
    SequenceTagger,
    TextEncoder,
)
from attnbook.models.from_torch import (
    Layer,
    attention_from_torch,
    decoder_layer_from_torch,
    encoder_layer_from_torch,
    transformer_from_torch,
)
from attnbook.models.language_model import LanguageModel, LanguageState
from attnbook.models.lite_transformer import make_lite_transformer
from attnbook.models.luong import Luong, LuongState
from attnbook.models.non_autoregressive import NonAutoregressive
from attnbook.models.patch_classifier import PatchClassifier, cut_patches
from attnbook.models.registry import make_model
from attnbook.models.rotary_transformer import RotaryTransformer
from attnbook.models.seq2seq import (
    Encoder,
    InitialState,
    Readout,
    StaticContext,
    StaticState,
)
from attnbook.models.transformer import Transformer, TransformerState
from attnbook.models.trigram import Trigram
from attnbook.models.word_tables import count_parameters, tie_tables
from attnbook.nn.layers import TransformerConfig
