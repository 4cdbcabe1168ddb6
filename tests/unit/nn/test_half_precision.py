"""Numbers of 16 bits: what is summed or exponentiated is as exact as in float32.

Large numbers are taken here on purpose: float16 ends at 65,504, and bfloat16 has eight
binary digits. The wanted values come from float64, rounded once at the end.
"""

import math

import pytest
import torch
from compare import close
from torch import nn
from torch.nn import functional as F

from attnbook.decoding import log_probability, token_log_probs
from attnbook.decoding.sampling import token_probabilities
from attnbook.nn import (
    LinearAttention,
    MixtureOfExperts,
    PredictiveAlignment,
    attention,
    causal_linear_attention,
    frequencies,
    gaussian,
    label_smoothing_loss,
    layer_norm,
    make_score,
    masked_softmax,
    shift_matrix,
    token_loss,
)
from attnbook.nn.local_attention import distance_from_centre

HALF = [torch.float16, torch.bfloat16]
in_both = pytest.mark.parametrize("dtype", HALF)


def drawn(seed, *shape, size=1.0, dtype=torch.float64):
    """Normal numbers that the 16-bit type can hold exactly, in it."""
    g = torch.Generator().manual_seed(seed)
    return (size * torch.randn(shape, generator=g)).to(dtype)


def rounded(found, wanted, share=1.0):
    """Equal up to the rounding of each number, or of those that were multiplied."""
    eps = torch.finfo(found.dtype).eps * max(wanted.abs().max().item(), 1e-3)
    close(found.double(), wanted, share * eps)


# Attention


@in_both
@pytest.mark.parametrize("autocast", [False, True])
@pytest.mark.parametrize("size", [1.0, 40.0])
def test_weights_are_those_of_the_fused_kernel(dtype, autocast, size):
    """With 40, products of 64 numbers are beyond float16 before they are scaled."""
    q, k = (drawn(seed, 2, 5, 64, size=size, dtype=dtype) for seed in (0, 1))
    q[0], k[0] = size, size
    v = drawn(2, 2, 5, 3, dtype=dtype)
    with torch.autocast("cpu", dtype, enabled=autocast):
        out, weights = attention(q, k, v, need_weights=True)
    assert out.dtype == weights.dtype == dtype
    exact = (q.double() @ k.double().mT / 8).softmax(-1)
    rounded(weights, exact, 2)
    rounded(out, exact @ v.double(), 2)
    rounded(F.scaled_dot_product_attention(q, k, v), exact @ v.double(), 4)
    mask = torch.ones(5, 5).bool().tril()
    out, weights = attention(q, k, v, mask, need_weights=True)
    exact = (q.double() @ k.double().mT / 8).masked_fill(~mask, -torch.inf).softmax(-1)
    rounded(weights, exact, 2)
    rounded(out, exact @ v.double(), 2)


@in_both
def test_gradients_of_large_scores_are_finite(dtype):
    q = torch.full((1, 2, 64), 40.0, dtype=dtype, requires_grad=True)
    v = drawn(0, 1, 2, 3, dtype=dtype)
    out, _ = attention(q, q, v, need_weights=True)
    (gradient,) = torch.autograd.grad(out.sum(), q)
    assert gradient.isfinite().all()
    assert gradient.dtype == dtype


@in_both
@pytest.mark.parametrize("need_weights", [False, True])
def test_a_bias_beyond_the_type_still_hides_a_key(dtype, need_weights):
    """-1e9 is finite; in float16 it would be minus infinity, and a whole row NaN."""
    q = drawn(0, 1, 3, 8, dtype=dtype)
    bias = torch.tensor([[0.0, -1e9, 0.0], [-1e9] * 3, [1e9, 0.0, 0.0]])
    out = attention(q, q, q, score_bias=bias, need_weights=need_weights)
    out = out[0] if need_weights else out
    assert out.isfinite().all()
    rounded(out[0, 2], q[0, 0].double(), 2)


@in_both
def test_a_softmax_hides_only_what_is_masked(dtype):
    """The lowest score of the type is a score like others."""
    lowest = torch.finfo(dtype).min
    scores = torch.tensor([[lowest, lowest, 0.0]], dtype=dtype)
    weights = masked_softmax(scores, torch.tensor([[True, True, False]]))
    assert weights.tolist() == [[0.5, 0.5, 0.0]]
    assert weights.dtype == dtype


@in_both
@pytest.mark.parametrize("name", ["dot", "general"])
@pytest.mark.parametrize("autocast", [False, True])
def test_scores_of_large_states_keep_their_differences(dtype, name, autocast):
    score = make_score(name, 64, 64).to(dtype)
    if name == "general":
        nn.init.eye_(score.W.weight)
    query = torch.full((1, 1, 64), 40.0, dtype=dtype)
    states = torch.full((1, 3, 64), 40.0, dtype=dtype)
    states[0, 1, 0] = 39.75  # ten less of 102,400
    with torch.autocast("cpu", dtype, enabled=autocast):
        scores = score(query, score.prepare(states))
        weights = masked_softmax(scores, torch.ones(1, 1, 3).bool())
    exact = (query.double() @ states.double().mT).softmax(-1)
    close(weights.double(), exact, 1e-3)


# Local attention


@in_both
def test_a_gaussian_far_from_its_centre(dtype):
    centre = torch.tensor([[300.0]], dtype=dtype)
    p = centre.item()
    for sigma in (math.inf, 1.5, 40.0):
        factor = gaussian(centre, 2400, sigma)[0, 0]
        wanted = [math.exp(-((s - p) ** 2) / (2 * sigma * sigma)) for s in range(2400)]
        rounded(factor, torch.tensor(wanted, dtype=torch.float64), 2)
    assert distance_from_centre(centre, 2400)[0, 0, 2049] == 2049 - p


@in_both
def test_a_predicted_centre_may_be_anywhere_in_a_long_source(dtype):
    """bfloat16 has no position between 256 and 258."""
    align = PredictiveAlignment(4, 2).to(dtype)
    h, mask = drawn(0, 1, 50, 4, dtype=dtype), torch.ones(1, 500).bool()
    exact = align.W(h).tanh()
    p = align.centre(h, mask)
    wanted = 500 * align.v(exact).double().sigmoid().squeeze(-1)
    close(p.double(), wanted, 1e-3)
    weights = align(torch.zeros(1, 50, 500, dtype=dtype), h, 0, mask)
    assert weights.dtype == dtype


# Norms and positions


@in_both
def test_layer_norm_is_pytorchs(dtype):
    rows = torch.tensor([[300.0, -200, 100, 50], [3e4, -3e4, 6e4, 100], [0, 0, 0, 0]])
    rows = torch.cat([rows, drawn(0, 3, 4).float()]).to(dtype)
    gain, bias = drawn(1, 4, dtype=dtype), drawn(2, 4, dtype=dtype)
    ours = layer_norm(rows, gain, bias)
    assert ours.dtype == dtype
    rounded(ours, F.layer_norm(rows.double(), (4,), gain.double(), bias.double()))
    close(ours, F.layer_norm(rows, (4,), gain, bias), 4 * torch.finfo(dtype).eps)


@in_both
def test_frequencies_and_shifts_are_rounded_once(dtype):
    rounded(frequencies(5000, dtype), frequencies(5000, torch.float64), 0.5)
    exact = shift_matrix(300, 64, torch.float64)
    found = shift_matrix(300, 64, dtype)
    assert found.dtype == dtype
    close(found.double(), exact, torch.finfo(dtype).eps)


# Linear attention


@in_both
def test_linear_attention_of_many_positions(dtype):
    ones = torch.ones(1, 1500, 64, dtype=dtype)
    out, state = causal_linear_attention(ones, ones, ones)
    assert out.dtype == dtype
    assert (out == 1).all()
    again, _ = causal_linear_attention(*[ones[:, :3]] * 3, state=state)
    assert (again == 1).all()


@in_both
@pytest.mark.parametrize("block", [1, 7, 64])
def test_linear_attention_is_that_of_float64(dtype, block):
    """Also of a query whose features all vanish in 16 bits."""
    q, k, v = (drawn(seed, 2, 200, 8, dtype=dtype) for seed in range(3))
    q[0, 3] = -30.0
    out, _ = causal_linear_attention(q, k, v, block)
    exact, _ = causal_linear_attention(*(x.double() for x in (q, k, v)), block)
    rounded(out, exact)


@in_both
def test_linear_attention_under_autocast_and_in_steps(dtype):
    layer = LinearAttention(8, 2)
    x = drawn(0, 2, 300, 8).float()
    exact = layer(x)
    with torch.autocast("cpu", dtype):
        found, state = layer.step(x[:, :200])
        rest, _ = layer.step(x[:, 200:], state)
    close(torch.cat([found, rest], 1).float(), exact, 20 * torch.finfo(dtype).eps)
    whole, part = layer.to(dtype), x.to(dtype)
    first, state = whole.step(part[:, :200])
    second, _ = whole.step(part[:, 200:], state)
    close(torch.cat([first, second], 1), whole(part), 4 * torch.finfo(dtype).eps)


# Experts


@in_both
def test_a_mixture_of_experts_is_rounded_once(dtype):
    torch.manual_seed(0)
    layer = MixtureOfExperts(8, [nn.Identity() for _ in range(4)], 3).to(dtype)
    x = drawn(0, 30, 8, dtype=dtype)
    assert layer(x).dtype == dtype
    rounded(layer(x), x.double())  # all experts agree, so the weights do not matter


# Losses


def logits_and_targets(dtype, v=8000, size=1.0):
    logits = drawn(0, 2, 300, v, size=size, dtype=dtype)
    g = torch.Generator().manual_seed(1)
    targets = torch.randint(v, (2, 300), generator=g)
    targets[0, 250:] = 0
    return logits, targets


@in_both
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_losses_are_those_of_float64(dtype, smoothing):
    """A sum over 8,000 words of log p is beyond float16."""
    logits, targets = logits_and_targets(dtype)
    flat = logits.double().flatten(0, 1), targets.flatten()
    wanted = F.cross_entropy(*flat, ignore_index=0, label_smoothing=smoothing)
    mean = label_smoothing_loss(logits, targets, smoothing).sum() / (targets != 0).sum()
    close(mean.double(), wanted, 1e-4)
    if not smoothing:
        close(token_loss(logits, targets).double(), wanted, 1e-4)
    with torch.autocast("cpu", dtype):
        mean = label_smoothing_loss(logits, targets, smoothing).sum()
    close(mean.double() / (targets != 0).sum(), wanted, 1e-4)


# Decoding


@in_both
def test_the_most_probable_token_stays_so(dtype):
    """Rounded log-probabilities near -8 are equal where the logits differ."""
    logits = torch.zeros(1, 3000, dtype=dtype)
    step = 2 * torch.finfo(dtype).eps
    logits[0, 1200], logits[0, 700] = 1 + step, 1.0
    log_p = token_log_probs(logits)
    assert log_p.argmax().item() == 1200
    close(log_p[0, 4:].double(), logits.double().log_softmax(-1)[0, 4:], 1e-5)


@in_both
def test_probabilities_of_tokens_are_those_of_float64(dtype):
    logits = drawn(0, 2, 4000, dtype=dtype)
    for how in ({}, {"top_p": 0.9}, {"top_k": 100}, {"temperature": 1e-6}):
        exact = token_probabilities(logits.double(), **how)
        close(token_probabilities(logits, **how).double(), exact, 1e-5)


class Constant(nn.Module):
    """Gives the same logits at each step, and at each of T positions."""

    def __init__(self, logits):
        super().__init__()
        self.logits = logits

    def forward(self, src, tgt_in):
        return self.logits.expand(*tgt_in.shape, -1)

    def start(self, src):
        return ()

    def step(self, token, state):
        return self.logits.expand(len(token), -1), state


@in_both
def test_long_outputs_are_scored_in_float32(dtype):
    logits = drawn(0, 900, dtype=dtype)
    model, output = Constant(logits), torch.full((1, 400), 7)
    exact = logits.double().log_softmax(-1)
    found = log_probability(model, output, output)
    close(found.double(), 400 * exact[7:8], 0.01)
