"""What the building blocks refuse, and the key words of what they say then."""

import math
import re

import pytest
import torch
from compare import make_layer

from attnbook.nn import (
    AdditiveScore,
    ConvolutionLayer,
    DotScore,
    EncoderLayer,
    EncoderStack,
    FeedForward,
    GeneralScore,
    GlobalAlignment,
    LearnedPositions,
    LocationScore,
    MixtureOfExperts,
    MonotonicAlignment,
    MultiHeadAttention,
    PredictiveAlignment,
    RecurrentLayer,
    RelativeAttention,
    RelativeBias,
    Residual,
    RMSNorm,
    Rotary,
    ScaledEmbedding,
    SelfAttentionLayer,
    SinusoidalPositions,
    SwiGLU,
    TokenEmbedding,
    TransformerConfig,
    WindowedSelfAttention,
    attention,
    causal_linear_attention,
    causal_mask,
    first_query,
    key_mask,
    label_smoothing_loss,
    make_alignment,
    make_score,
    masked_softmax,
    relative_distances,
    rotate,
    shift_matrix,
    sinusoids,
    source_window,
    target_mask,
    token_loss,
)

x = torch.zeros(2, 3, 8)
short, ids = x[:, :2], torch.ones(2, 3, dtype=torch.long)
scores, real = torch.zeros(2, 3, 5), torch.ones(2, 5).bool()
query, keys, h = torch.zeros(2, 3, 4), torch.zeros(2, 5, 6), torch.zeros(2, 3, 3)
mha, turned = MultiHeadAttention(8, 2), MultiHeadAttention(8, 2, turn=Rotary())
relative = RelativeAttention(8, 2, max_distance=2)
layer = make_layer(EncoderLayer, 8, 2, 4)
stack = EncoderStack(TransformerConfig(d_model=8, n_heads=2, n_layers=1, d_ff=4))
stack.layers[0].attention = torch.nn.Linear(8, 8)


def ones(*shape):
    return torch.ones(shape).bool()


TABLE = {
    "attention": [
        (lambda: attention(x[0, 0], x, x), "q has shape (8,); it needs an axis"),
        (lambda: attention(x, x[:1], x), "must agree in all axes but the last two"),
        (lambda: attention(x[..., :3], x, x), "queries are 3 wide, keys 8"),
        (lambda: attention(x, x, short), "3 keys, but 2 values"),
        (lambda: attention(x, x[:, :0], x[:, :0]), "there is no key (S = 0)"),
        (lambda: attention(x, x, x, ones(2, 4)), "mask has shape (2, 4), the scores"),
        (lambda: attention(x, x, x, score_bias=ones(3, 3)), "is said by `mask`"),
        (lambda: attention(x, x, x, score_bias=ones(5, 3).float()), "has shape (5, 3)"),
        (lambda: attention(x, x, x, dropout=1.0), "dropout is 1.0; it is a share"),
        (lambda: attention(x, x.double(), x), "must be of one floating-point type"),
        (lambda: attention(*3 * [x.long()]), "x.to(torch.float32)"),
        (lambda: attention(x, x, x, [[True]]), "mask is a list; it must be a tensor"),
    ],
    "masks": [
        (lambda: causal_mask(0), "0 queries from position 0 on and 0 keys"),
        (lambda: causal_mask(3, 5, -1), "from position -1 on and 5 keys"),
        (lambda: masked_softmax(scores, torch.ones(2, 3, 5)), "mask.bool()"),
        (lambda: masked_softmax(scores, ones(2, 5)), "mask[:, None, None]"),
        (lambda: key_mask(ids[0]), "ids has shape (3,)"),
        (lambda: target_mask(ids[0]), "ids[None] of one row"),
    ],
    "multi-head": [
        (lambda: MultiHeadAttention(100, 8), "such as 104"),
        (lambda: MultiHeadAttention(8, 0), "n_heads is 0"),
        (lambda: MultiHeadAttention(-8, 2), "d_model is -8"),
        (lambda: MultiHeadAttention(8, 4, n_groups=3), "4 heads cannot be divided"),
        (lambda: MultiHeadAttention(8, 4, n_groups=0), "n_groups is 0"),
        (lambda: MultiHeadAttention(8, 2, dropout=1.5), "dropout is 1.5"),
        (lambda: mha(x), "no key or no value; give both"),
        (lambda: mha(x[0], x, x), "query has shape (3, 8); it must be (B, T, 8)"),
        (lambda: mha(x, x[..., :4], x), "key has shape (2, 3, 4); it must be (B, S"),
        (lambda: mha(x, x[:1], x[:1]), "have 2, 1 and 1 sentences"),
        (lambda: mha(x, x, x, ones(2, 3, 3)), "is its first axis B or H? mask[:, None"),
        (lambda: mha.step(x[0], mha.start(x)), "query has shape (3, 8)"),
        (lambda: layer.step(x[:, 0], layer.start(x)), "query has shape (2, 8)"),
        (lambda: layer.step(x[:, :0], layer.start(x)), "no causal mask of 0 queries"),
        (lambda: turned(x, short, short), "3 queries for 2 keys"),
        (lambda: relative(x, short, short), "use a plain MultiHeadAttention"),
    ],
    "positions": [
        (lambda: LearnedPositions(4, 8)(x, offset=2), "positions 2 … 4 are needed"),
        (lambda: LearnedPositions(0, 8), "max_len is 0"),
        (lambda: LearnedPositions(4, 8)(x[..., :7]), "must be (B, T, 8)"),
        (lambda: SinusoidalPositions(0), "d_model is 0"),
        (lambda: SinusoidalPositions(8)(x[0]), "x has shape (3, 8)"),
        (lambda: SinusoidalPositions(8)(x, -2), "offset is -2; positions are counted"),
        (lambda: sinusoids(3, 0), "d is 0"),
        (lambda: relative_distances(2, 3, offset=-1), "offset is -1"),
        (lambda: shift_matrix(1, 7), "width of 7 cannot be split into pairs"),
        (lambda: rotate(x[..., :5]), "width of 5 cannot be split into pairs"),
        (lambda: rotate(x, -1), "offset is -1"),
        (lambda: first_query(5, 4), "5 queries for 4 keys"),
        (lambda: RelativeBias(2, 0), "max_distance is 0"),
        (lambda: RelativeBias(0, 2), "n_heads is 0"),
    ],
    "layers": [
        (lambda: Residual(1.5), "dropout is 1.5"),
        (lambda: FeedForward(0, 4), "d_model is 0"),
        (lambda: SwiGLU(4, 0), "d_hidden is 0"),
        (lambda: RMSNorm(0), "d_model is 0"),
        (lambda: ScaledEmbedding(0, 8), "vocab_size is 0"),
        (lambda: TokenEmbedding(9, 4)(torch.tensor([9])), "id 9 is not in 0 … 8"),
        (lambda: TransformerConfig(d_model=64, n_heads=5), "among 5 heads"),
        (lambda: TransformerConfig(d_model=None), "d_model is None"),
        (lambda: TransformerConfig(norm_first="no"), "norm_first is 'no'; give True"),
        (lambda: TransformerConfig(dropout="0.1"), "dropout is '0.1'"),
        (lambda: TransformerConfig(attention_dropout=-1), "attention_dropout is -1"),
        (lambda: MixtureOfExperts(4, [FeedForward(4, 4)], 3), "there are 1 experts"),
        (lambda: ConvolutionLayer(8, 0), "width is 0"),
        (lambda: ConvolutionLayer(8, 3, 0), "dilation is 0"),
        (lambda: RecurrentLayer(0), "d_model is 0"),
        (lambda: WindowedSelfAttention(8, 2, 0), "window is 0"),
        (lambda: SelfAttentionLayer(8, 3), "among 3 heads"),
        (lambda: causal_linear_attention(x, short, short), "3 queries and 2 keys"),
        (lambda: causal_linear_attention(x, x, x, 0), "block is 0"),
        (lambda: stack.start(x), "Linear keeps no keys"),
    ],
    "scores": [
        (lambda: make_score("cosine", 4, 4), "'cosine'; choose among"),
        (lambda: make_score("dot", 4, 6), "equal width, not 4 and 6"),
        (lambda: DotScore(0, 0), "d_query is 0"),
        (lambda: GeneralScore(4, -1), "d_key is -1"),
        (lambda: AdditiveScore(4, 6, 0), "d_attention is 0"),
        (lambda: LocationScore(4, 6, max_len=0), "max_len is 0"),
        (lambda: LocationScore(4, 6, 4).prepare(keys), "5 positions"),
        (lambda: DotScore(4, 4)(query, keys), "keys has shape (2, 5, 6)"),
        (lambda: GeneralScore(4, 6)(query, keys), "keys has shape (2, 5, 6)"),
        (lambda: AdditiveScore(4, 6, 7)(query, keys), "(B, S, 7)"),
        (lambda: LocationScore(5, 6)(query, keys), "(B, T, 5)"),
        (lambda: DotScore(4, 4).prepare(keys), "states has shape (2, 5, 6)"),
        (lambda: DotScore(4, 4)(query, query[:1]), "2 rows of queries, but 1"),
    ],
    "alignments": [
        (lambda: make_alignment("local", 3, 3), "'local'; choose among"),
        (lambda: make_alignment("global", 3, 3), "no window"),
        (lambda: make_alignment("local-m", 3, None), "needs a window"),
        (lambda: make_alignment("local-p", 0, 3), "d_hidden is 0"),
        (lambda: MonotonicAlignment(-1), "half_width is -1"),
        (lambda: PredictiveAlignment(3, 2.0), "half_width is 2.0"),
        (lambda: PredictiveAlignment(3, 0), "sigma is 0.0; it must be positive"),
        (lambda: PredictiveAlignment(3, 2, sigma=math.nan), "sigma is nan"),
        (lambda: source_window(scores[..., 0], real, -1), "half_width is -1"),
        (lambda: source_window(scores[..., 0], real.float(), 1), "torch.float32"),
        (lambda: source_window(torch.zeros(4, 3), real, 1), "the scores (4, 5)"),
        (lambda: GlobalAlignment()(scores, h, 0, real.float()), "torch.float32"),
        (lambda: MonotonicAlignment(1)(scores, h, 0, real[:, :4]), "(2, 4)"),
    ],
    "losses": [
        (lambda: token_loss(x, ids - 101), "target id -100 is not in 0 … 7"),
        (lambda: label_smoothing_loss(x, 8 * ids), "target id 8 is not in 0 … 7"),
        (lambda: token_loss(x.long(), ids), "logits are of type torch.int64"),
        (lambda: token_loss(x, ids.short()), "of 64 or 32 bits: targets.long()"),
        (lambda: token_loss([[0.0]], ids), "logits is a list"),
        (lambda: token_loss(x, ids[:, :1]), "agree in all axes but the last"),
        (lambda: label_smoothing_loss(x, ids[:1]), "agree in all axes but the last"),
        (lambda: label_smoothing_loss(x, ids, 1.0), "smoothing is 1.0"),
    ],
}


@pytest.mark.parametrize(
    ("call", "words"), [case for cases in TABLE.values() for case in cases]
)
def test_what_cannot_be_is_said(call, words):
    with pytest.raises(ValueError, match=re.escape(words)):
        call()
