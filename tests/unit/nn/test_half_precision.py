"""Numbers of 16 bits: what is summed or exponentiated is as exact as in float32.

Large numbers are taken here on purpose: float16 ends at 65,504, and bfloat16 has eight
binary digits. Wanted is what float64 gives, rounded once at the end; that float64 is
right is shown elsewhere.
"""

from functools import partial

import pytest
import torch
from compare import close
from torch import nn
from torch.nn import functional as F

from attnbook.decoding import log_probability, token_log_probs
from attnbook.decoding.sampling import token_probabilities
from attnbook.nn import (
    MixtureOfExperts,
    MonotonicAlignment,
    PredictiveAlignment,
    attention,
    causal_linear_attention,
    frequencies,
    gaussian,
    label_smoothing_loss,
    layer_norm,
    make_score,
    masked_softmax,
    rms_norm,
    rotate,
    shift_matrix,
    sinusoids,
    token_loss,
)
from attnbook.nn.local_attention import distance_from_centre

HALF = [torch.float16, torch.bfloat16]
in_both = pytest.mark.parametrize("dtype", HALF)
ONES = torch.ones(1, 2400).bool()
TARGETS = torch.arange(600).view(2, 300) % 77
LARGE = torch.full((1, 3, 64), 40.0)
LARGE[0, 1, 0] = 39.75  # a score ten less than 102,400


def drawn(seed, *shape, size=1.0):
    """Normal numbers that both types can hold."""
    g = torch.Generator().manual_seed(seed)
    numbers = size * torch.randn(shape, generator=g)
    return numbers.half().bfloat16().half().float()


def weigh(score, query, states):
    """The weights of a score; a matrix of a general one is the unit matrix."""
    made = make_score(score, 64, 64).to(query.dtype)
    for parameter in made.parameters():
        nn.init.eye_(parameter)
    return masked_softmax(made(query, made.prepare(states)), ONES[:, :3])


def centres(h):
    torch.manual_seed(0)
    align = PredictiveAlignment(4, 2).to(h.dtype)
    with torch.no_grad():  # the roundings of W and v are not meant
        for parameter in align.parameters():
            parameter.copy_(drawn(1, *parameter.shape))
    return align.centre(h, ONES)


def mix(x):
    """Of experts that all agree, so that the weights do not matter."""
    return MixtureOfExperts(8, [nn.Identity() for _ in range(4)], 3).to(x.dtype)(x)


def linear(q, k, v):
    return causal_linear_attention(q, k, v, 7)[0]


def told(logits):
    """The log-probability of 400 words, each by the same logits."""
    output = torch.full((1, 400), 7)
    return log_probability(Constant(logits), output, output)


class Constant(nn.Module):
    """Gives the same logits at each of T positions."""

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    start = step = None

    def forward(self, src, tgt_in):
        return self.logits.expand(*tgt_in.shape, -1)


Q = drawn(0, 2, 5, 64)
Q[0] = 40.0  # products of 64 such numbers are beyond float16 before they are scaled
K, V = Q.roll(1, 1), drawn(2, 2, 5, 3)
CAUSAL = torch.ones(5, 5).bool().tril()
VANISHES = drawn(0, 2, 200, 8)
VANISHES[0, 3] = -30.0  # a query all of whose features are 0 in 16 bits
ROWS = torch.tensor([[300.0, -200, 100, 50], [3e4, -3e4, 6e4, 100], [0, 0, 0, 0]])
LOGITS = drawn(0, 2, 300, 8000)  # a sum of log p over 8,000 words is beyond float16
BIAS = torch.tensor([[0.0, -1e9, 0.0], [-1e9] * 3, [1e9, 0.0, 0.0]])

CASES = {
    "fused": (lambda *x: attention(*x, CAUSAL), Q, K, V),
    "weights": (lambda *x: attention(*x, CAUSAL, need_weights=True)[1], Q, K, V),
    "dot score": (partial(weigh, "dot"), LARGE[:, :1], LARGE),
    "general score": (partial(weigh, "general"), LARGE[:, :1], LARGE),
    "gaussian": (lambda p: gaussian(p, 2400, 40.0), torch.tensor([[300.0]])),
    "distance": (lambda p: distance_from_centre(p, 2400), torch.tensor([[300.0]])),
    "centre": (centres, drawn(0, 1, 50, 4)),
    "layer norm": (layer_norm, ROWS, drawn(1, 4), drawn(2, 4)),
    "RMSNorm": (rms_norm, ROWS, drawn(1, 4)),
    "frequencies": (lambda x: frequencies(5000, x.dtype), Q),
    "sinusoids": (lambda x: sinusoids(4, 16, 4000, x.dtype), Q),
    "shift": (lambda x: shift_matrix(300, 64, x.dtype), Q),
    "rotation": (lambda x: rotate(x, 4000), drawn(0, 2, 3, 4, 8)),
    "linear": (linear, VANISHES, drawn(1, 2, 200, 8), drawn(2, 2, 200, 8)),
    "many": (linear, *3 * [torch.ones(1, 1500, 64)]),
    "experts": (mix, drawn(0, 30, 8)),
    "loss": (lambda x: token_loss(x, TARGETS), LOGITS),
    "smoothed": (lambda x: label_smoothing_loss(x, TARGETS).sum(), LOGITS),
    "log p": (lambda x: token_log_probs(x)[..., 4:], LOGITS),
    "nucleus": (lambda x: token_probabilities(x, top_p=0.9), LOGITS[0]),
    "cold": (lambda x: token_probabilities(x, temperature=1e-6), LOGITS[0]),
    "output": (told, LOGITS[0, 0]),
}
SHARES = {"sinusoids": 2, "rotation": 2, "centre": 4, "weights": 2, "fused": 4}
SHARES["RMSNorm"] = 1.1
"""Where more than one number is rounded: how many roundings are allowed, times two."""
EXACT = ("loss", "smoothed", "log p", "nucleus", "cold", "output")
"""Where nothing is rounded, since numbers of 32 bits are returned."""
SHARES |= dict.fromkeys(EXACT, 0.01)


@in_both
@pytest.mark.parametrize("name", CASES)
def test_it_is_rounded_once(dtype, name):
    call, *inputs = CASES[name]
    found = call(*(x.to(dtype) for x in inputs))
    wanted = call(*(x.to(dtype).double() for x in inputs))
    eps = torch.finfo(dtype).eps
    bound = SHARES.get(name, 0.51) * eps * wanted.abs().clamp(min=1e-3)
    assert ((found.double() - wanted).abs() <= bound).all()


@in_both
def test_losses_under_autocast_are_those_of_float64(dtype):
    with torch.autocast("cpu", dtype):
        total = label_smoothing_loss(LOGITS.to(dtype), TARGETS, 0.1).sum()
    flat = LOGITS.double().flatten(0, 1), TARGETS.flatten()
    wanted = F.cross_entropy(*flat, ignore_index=0, label_smoothing=0.1)
    close(total.double() / (TARGETS != 0).sum(), wanted, 1e-4)


@in_both
def test_gradients_of_large_scores_are_finite(dtype):
    q = torch.full((1, 2, 64), 40.0, dtype=dtype, requires_grad=True)
    out, _ = attention(q, q, V[:1, :2].to(dtype), need_weights=True)
    (gradient,) = torch.autograd.grad(out.sum(), q)
    assert gradient.isfinite().all()


@in_both
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_beyond_the_type_still_hides_a_key(dtype, need_weights):
    """-1e9 is finite; in float16 it would be minus infinity, and a whole row NaN."""
    q = drawn(0, 1, 3, 8).to(dtype)
    out = attention(q, q, q, score_bias=BIAS, need_weights=need_weights)
    out = out[0] if need_weights else out
    assert out.isfinite().all()
    close(out[0, 2], q[0, 0], 2 * torch.finfo(dtype).eps)


@in_both
def test_a_softmax_hides_only_what_is_masked(dtype):
    """The lowest score of the type is a score like others."""
    lowest = torch.finfo(dtype).min
    scores = torch.tensor([[lowest, lowest, 0.0]], dtype=dtype)
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[0.5, 0.5, 0.0]]


@in_both
@pytest.mark.parametrize("first", [301, 2301])
def test_local_m_counts_late_steps_exactly(dtype, first):
    """Whole numbers stay whole: bfloat16 has no 257, float16 no 2049."""
    scores, h = (torch.zeros(1, 1, n, dtype=dtype) for n in (2400, 3))
    weights = MonotonicAlignment(2)(scores, h, first, ONES)
    assert weights[0, 0].nonzero().flatten().tolist() == [*range(first - 2, first + 3)]


@in_both
def test_the_most_probable_token_stays_so(dtype):
    """Rounded log-probabilities near -8 are equal where the logits differ."""
    logits = torch.zeros(1, 3000, dtype=dtype)
    logits[0, 1200], logits[0, 700] = 1 + 2 * torch.finfo(dtype).eps, 1.0
    assert token_log_probs(logits).argmax().item() == 1200
