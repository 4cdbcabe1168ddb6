"""The building blocks of all models: functions and layers, each from its equation.

- ``scaled_dot_product``: scaled dot-product attention
- ``multi_head``: multi-head attention
- ``masks``: padding and causal masks, and the softmax under them
- ``precision``: products and sums of 16-bit numbers, in float32
- ``positions``: absolute positional encodings, sinusoidal and learned
- ``relative``: relative position bias
- ``rotary``: rotary position embedding (RoPE)
- ``norms``: layer normalisation, RMSNorm
- ``residual``: a residual connection and its norm, around any sub-layer
- ``layers``: config, embedding, feed-forward, encoder and decoder layer
- ``stack``: encoder layers one after the other, with a cache for a causal mask
- ``gated_feed_forward``: SwiGLU
- ``grouped_query``: grouped-query attention
- ``mixture_of_experts``: several feed-forward networks and a router
- ``block``: a pre-norm block that is given its parts
- ``scores``: attention scores of Bahdanau and Luong
- ``local_attention``: global and local attention of Luong
- ``hard_attention``: hard attention, and estimators of its gradient
- ``gru``: one step of a GRU
- ``sequence_layers``: self-attention, recurrence and convolution with one interface
- ``windows``: masks of sliding windows, with attention sinks
- ``linear_attention``: linear attention, all positions at once or one by one
- ``long_short``: long–short attention, half of it convolution
- ``losses``: cross-entropy, plain and with label smoothing
- ``attention_checks``: checks of the arguments of attention
"""

from attnbook.nn.block import Block
from attnbook.nn.gated_feed_forward import SwiGLU
from attnbook.nn.grouped_query import GroupedQueryAttention
from attnbook.nn.gru import gru_step
from attnbook.nn.hard_attention import (
    exact_gradient,
    expected_reward,
    gumbel_softmax,
    gumbel_softmax_gradient,
    reinforce,
)
from attnbook.nn.layers import (
    DecoderLayer,
    EncoderLayer,
    FeedForward,
    LayerCache,
    ScaledEmbedding,
    TokenEmbedding,
    TransformerConfig,
)
from attnbook.nn.linear_attention import (
    LinearAttention,
    LinearState,
    causal_linear_attention,
    empty_state,
    feature_map,
)
from attnbook.nn.local_attention import (
    ALIGNMENTS,
    GlobalAlignment,
    MonotonicAlignment,
    PredictiveAlignment,
    distance_from_centre,
    gaussian,
    make_alignment,
    source_window,
)
from attnbook.nn.long_short import LocalBranch, LongShortAttention
from attnbook.nn.losses import (
    label_smoothing_loss,
    token_loss,
)
from attnbook.nn.masks import (
    PreparedMask,
    causal_mask,
    key_mask,
    masked_softmax,
    padding_mask,
    prepare_mask,
    target_mask,
)
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.nn.multi_head import (
    KeysValues,
    MultiHeadAttention,
    merge_heads,
    split_heads,
)
from attnbook.nn.norms import RMSNorm, layer_norm, rms_norm
from attnbook.nn.positions import (
    LearnedPositions,
    NoPositions,
    SinusoidalPositions,
    frequencies,
    position_angles,
    shift_matrix,
    sinusoids,
)
from attnbook.nn.relative import (
    RelativeAttention,
    RelativeBias,
    first_query,
    relative_distances,
)
from attnbook.nn.residual import Residual, add_and_norm
from attnbook.nn.rotary import Rotary, RotaryAttention, rotate
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
    block_window_mask,
)
from attnbook.nn.stack import EncoderStack
from attnbook.nn.windows import window_mask
