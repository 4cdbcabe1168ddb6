"""The building blocks of all models: functions and layers, each from its equation.

- ``scaled_dot_product``: scaled dot-product attention
- ``multi_head``: multi-head attention, also in groups, and with a cache
- ``masks``: padding and causal masks, and the softmax under them
- ``precision``: products and sums of 16-bit numbers, in float32
- ``positions``: absolute positional encodings, sinusoidal and learned
- ``relative``: relative position bias
- ``rotary``: rotary position embedding (RoPE)
- ``norms``: layer normalisation, RMSNorm
- ``block``: residual connections, and a block that is given its parts
- ``layers``: config, embedding, feed-forward, encoder and decoder layer, a stack
- ``gated_feed_forward``: SwiGLU
- ``mixture_of_experts``: several feed-forward networks and a router
- ``scores``: attention scores of Bahdanau and Luong
- ``local_attention``: global and local attention of Luong
- ``gru``: one step of a GRU
- ``sequence_layers``: self-attention, recurrence and convolution with one interface
- ``linear_attention``: linear attention, all positions at once or one by one
- ``losses``: cross-entropy, plain and with label smoothing
- ``attention_checks``: checks of the arguments of attention
"""

from attnbook.nn.block import Block, Residual
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.gru import gru_step
from attnbook.nn.layers import (
    DecoderLayer,
    EncoderLayer,
    EncoderStack,
    FeedForward,
    ScaledEmbedding,
    TokenEmbedding,
    TransformerConfig,
)
from attnbook.nn.linear_attention import LinearAttention, causal_linear_attention
from attnbook.nn.local_attention import (
    ALIGNMENTS,
    GlobalAlignment,
    MonotonicAlignment,
    PredictiveAlignment,
    gaussian,
    make_alignment,
    source_window,
)
from attnbook.nn.losses import label_smoothing_loss, token_loss
from attnbook.nn.masks import (
    causal_mask,
    key_mask,
    masked_softmax,
    padding_mask,
    target_mask,
)
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.nn.multi_head import MultiHeadAttention, merge_heads, split_heads
from attnbook.nn.norms import RMSNorm, layer_norm, rms_norm
from attnbook.nn.positions import (
    LearnedPositions,
    NoPositions,
    SinusoidalPositions,
    first_query,
    frequencies,
    shift_matrix,
    sinusoids,
)
from attnbook.nn.relative import RelativeAttention, RelativeBias, relative_distances
from attnbook.nn.rotary import Rotary, rotate
from attnbook.nn.scaled_dot_product import attention
from attnbook.nn.scores import (
    SCORES,
    AdditiveScore,
    DotScore,
    GeneralScore,
    LocationScore,
    make_score,
)
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
    WindowedSelfAttention,
)
