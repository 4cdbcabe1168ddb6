"""Global and local alignment: one place after the other, from the paper's equations."""

import math

import pytest
import torch
from compare import close, double, numbers, same, stacked
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.nn.local_attention import (
    ALIGNMENTS,
    GlobalAlignment,
    MonotonicAlignment,
    PredictiveAlignment,
    gaussian,
    make_alignment,
    source_window,
)

seeds = st.integers(0, 999)
sizes = st.lists(st.integers(1, 8), min_size=1, max_size=3)
half_widths = st.integers(0, 4)
H = 3


def real_places(lengths):
    """The mask of sentences padded on the right, (B, S)."""
    return torch.tensor([[s < n for s in range(max(lengths))] for n in lengths])


def drawn(seed, lengths, steps):
    """Scores, (B, T, S), and states, (B, T, H)."""
    rows = len(lengths)
    return numbers(seed, (rows, steps, max(lengths)), (rows, steps, H))


def local_p(half_width, sigma=None, seed=0):
    """Predictive alignment whose centres come to lie all over the sentence."""
    align = double(PredictiveAlignment, H, half_width, sigma, seed=seed)
    with torch.no_grad():
        for weight in align.parameters():
            weight *= 6
    return align


def alignment(name, half_width, seed=0):
    if name == "local-p":
        return local_p(half_width, seed=seed)
    return make_alignment(name, H, None if name == "global" else half_width)


def predicted(h, align, length):
    """Equation 9 for one state, kept within the sentence."""
    w, v = align.W.weight, align.v.weight[0]
    hidden = [torch.tanh(sum(w[i, k] * h[k] for k in range(H))) for i in range(H)]
    share = 1 / (1 + torch.exp(-sum(v[i] * hidden[i] for i in range(H))))
    p = length * share
    return p if p < length - 1 else 0 * p + (length - 1)


def weights_by_loop(e, length, p=None, half_width=math.inf, sigma=math.inf):
    """Equations 7 and 10 for one row of scores; p is a number or a scalar tensor."""
    centre = 0.0 if p is None else p
    inside = [s for s in range(length) if abs(s - centre) <= half_width]
    total = sum(e[s].exp() for s in inside)
    row = [0 * e[0]] * len(e)
    for s in inside:
        factor = torch.exp(0 * e[s] - (s - centre) ** 2 / (2 * sigma**2))
        row[s] = e[s].exp() / total * factor
    return row


@given(sizes, st.integers(1, 4), seeds)
@settings(max_examples=20)
def test_global_equals_the_loop(lengths, steps, seed):
    scores, h = drawn(seed, lengths, steps)
    loop = [
        [weights_by_loop(e, lengths[i]) for e in scores[i]] for i in range(len(lengths))
    ]
    ours = GlobalAlignment()(scores, h, 0, real_places(lengths))
    same(ours, stacked(loop), [scores, h])


@given(sizes, st.integers(1, 4), st.integers(0, 9), half_widths, seeds)
@settings(max_examples=20)
def test_local_m_equals_the_loop(lengths, steps, first, half_width, seed):
    """p_t = t; the window may lie behind the sentence, and is then empty."""
    scores, h = drawn(seed, lengths, steps)
    loop = [
        [
            weights_by_loop(scores[i, t], lengths[i], first + t, half_width)
            for t in range(steps)
        ]
        for i in range(len(lengths))
    ]
    ours = MonotonicAlignment(half_width)(scores, h, first, real_places(lengths))
    same(ours, stacked(loop), [scores, h])


@given(sizes, st.integers(1, 3), st.integers(1, 4), seeds)
@settings(max_examples=20)
def test_local_p_equals_the_loop(lengths, steps, half_width, seed):
    """The softmax over the window times the Gaussian, not divided by its sum."""
    align = local_p(half_width, seed=seed)
    scores, h = drawn(seed, lengths, steps)

    def row(i, t):
        p = predicted(h[i, t], align, lengths[i])
        return weights_by_loop(scores[i, t], lengths[i], p, half_width, half_width / 2)

    loop = [[row(i, t) for t in range(steps)] for i in range(len(lengths))]
    ours = align(scores, h, 0, real_places(lengths))
    same(ours, stacked(loop), [scores, h, *align.parameters()])


@given(sizes, st.integers(1, 3), seeds)
@settings(max_examples=20)
def test_centre_equals_equation_9(lengths, steps, seed):
    align = local_p(2, seed=seed)
    (h,) = numbers(seed, (len(lengths), steps, H))
    loop = [
        [predicted(x, align, n) for x in xs] for xs, n in zip(h, lengths, strict=True)
    ]
    ours = align.centre(h, real_places(lengths))
    same(ours, stacked(loop), [h, *align.parameters()])


def test_centres_of_the_tests_lie_all_over_the_sentence():
    """Else the loops above would compare only windows in the middle."""
    (h,) = numbers(0, (1, 400, H))
    centres = local_p(2).centre(h, real_places([8]))[0]
    for low in range(7):
        assert ((centres >= low) & (centres <= low + 1)).sum() >= 5
    assert (centres == 7).any()  # cut off at the last place


@given(st.floats(-1, 9), st.integers(1, 8), half_widths)
def test_window_and_gaussian_equal_their_formulas(p, length, half_width):
    centre = torch.tensor([[p]], dtype=torch.float64)
    inside = source_window(centre, torch.ones(1, length).bool(), half_width)
    assert inside[0, 0].tolist() == [abs(s - p) <= half_width for s in range(length)]
    factor = gaussian(centre, length, 1.5)[0, 0].tolist()
    wanted = [math.exp(-((s - p) ** 2) / (2 * 1.5**2)) for s in range(length)]
    assert factor == pytest.approx(wanted, abs=1e-12)


def test_the_standard_deviation_is_half_of_the_half_width():
    """So a word at the edge of the window keeps exp(-2) of its weight."""
    assert PredictiveAlignment(H, 4).sigma == 2
    assert PredictiveAlignment(H, 5).sigma == 2.5
    factor = gaussian(torch.tensor([[4.0]]), 9, PredictiveAlignment(H, 4).sigma)[0, 0]
    assert factor[[0, 8]].tolist() == pytest.approx([math.exp(-2)] * 2)
    assert factor[[2, 6]].tolist() == pytest.approx([math.exp(-0.5)] * 2)
    assert factor[4] == 1


def test_the_product_is_not_divided_by_its_sum():
    """Equal scores around an integer centre: the sum is the mean of the factors."""
    align = double(PredictiveAlignment, H, 2)
    with torch.no_grad():
        align.v.weight.zero_()  # p_t = S / 2
    weights = align(torch.zeros(1, 1, 10).double(), torch.ones(1, 1, H).double(), 0,
                    real_places([10]))  # fmt: skip
    factors = [math.exp(-2), math.exp(-0.5), 1, math.exp(-0.5), math.exp(-2)]
    wanted = [0] * 3 + [f / 5 for f in factors] + [0] * 2
    assert weights[0, 0].tolist() == pytest.approx(wanted, abs=1e-12)
    assert weights.sum().item() == pytest.approx(sum(factors) / 5)
    assert weights.sum() < 0.6


@pytest.mark.parametrize("name", ALIGNMENTS)
@pytest.mark.parametrize("seed", range(3))
def test_sums(name, seed):
    """1 for the global and the monotonic form, less for the predictive one."""
    lengths = [8, 5, 1]
    scores, h = numbers(seed, (3, 6, 8), (3, 6, H))
    weights = alignment(name, 2, seed)(scores, h, 0, real_places(lengths))
    assert (weights >= 0).all()
    assert (weights[~real_places(lengths)[:, None].expand(3, 6, 8)] == 0).all()
    total = weights.sum(-1)
    if name == "local-p":
        assert (total <= 1 + 1e-12).all()
        assert (total > 0).all()
        assert (total < 0.95).any()
    else:
        # Windows from step 3 on lie behind the sentence of one word.
        behind = torch.zeros_like(total)
        behind[2, 3:] = name == "local-m"
        close(total, 1 - behind)


@pytest.mark.parametrize("first", [0, 3])
def test_an_empty_window_gives_zeros_and_finite_gradients(first):
    scores, h = numbers(0, (1, 4, 2), (1, 4, H))
    weights = MonotonicAlignment(1)(scores, h, first, real_places([2]))
    assert (weights[0] == 0).all(-1).tolist() == [first + t > 2 for t in range(4)]
    (gradient,) = torch.autograd.grad(weights.square().sum(), scores)
    assert gradient.isfinite().all()


@pytest.mark.parametrize(
    ("p", "width"),
    [
        (1, 7),  # not 2D + 1 = 11: four places would lie before the sentence
        (0, 6),
        (15, 11),
        (15.5, 10),  # 2D: a centre between two places
        (14.2, 10),
        (28, 7),
        (29, 6),
        (28.5, 6),
    ],
)
def test_a_window_has_fewer_positions_at_the_borders(p, width):
    """And one less where its centre lies between two places; here D = 5."""
    inside = source_window(torch.tensor([[float(p)]]), torch.ones(1, 30).bool(), 5)
    assert inside.sum() == width


def test_a_window_ends_where_the_sentence_ends():
    inside = source_window(torch.full((2, 1), 5.0), real_places([9, 6]), 2)
    assert inside.sum(-1).flatten().tolist() == [5, 3]


def test_local_m_gives_weight_to_the_window_alone():
    """The same numbers, counted in the weights of thirty steps."""
    scores, h = numbers(0, (1, 30, 30), (1, 30, H))
    weights = MonotonicAlignment(5)(scores, h, 0, real_places([30]))
    counts = (weights[0] > 0).sum(-1).tolist()
    assert counts == [min(t, 5) + 1 + min(29 - t, 5) for t in range(30)]
    assert counts[1] == 7
    assert counts[15] == 11


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_local_m_counts_late_steps_exactly(dtype):
    """Whole numbers stay whole: bfloat16 has no 257, float16 no 2049."""
    align = MonotonicAlignment(2).to(dtype)
    for first in (301, 2301):
        scores, h = (torch.zeros(1, 1, n, dtype=dtype) for n in (2400, H))
        weights = align(scores, h, first, torch.ones(1, 2400).bool())
        assert weights[0, 0].nonzero().flatten().tolist() == [
            *range(first - 2, first + 3)
        ]


def test_sigmoid_reaches_1_in_single_precision():
    """Its range is open only on paper: this is why the centre is cut off."""
    assert torch.sigmoid(torch.tensor(20.0)) == 1
    assert torch.sigmoid(torch.tensor(20.0).double()) < 1


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64, torch.bfloat16])
@pytest.mark.parametrize("size", [0.0, 20.0, -20.0, 1e4, -1e4, 1e30, -1e30])
def test_the_centre_stays_in_the_sentence(dtype, size):
    """However large a state grows; a shorter sentence has its own end."""
    align = PredictiveAlignment(H, 1).to(dtype)
    with torch.no_grad():
        align.W.weight.copy_(torch.eye(H))
        align.v.weight.fill_(200.0)
    h = torch.full((3, 2, H), size, dtype=dtype)
    mask = real_places([7, 4, 1])
    p = align.centre(h, mask)
    assert p.dtype == dtype
    assert (p >= 0).all()
    assert (p <= torch.tensor([[6], [3], [0]])).all()
    if size > 0:
        assert p.tolist() == [[6, 6], [3, 3], [0, 0]]
    weights = align(torch.zeros(3, 2, 7, dtype=dtype), h, 0, mask)
    assert (weights.sum(-1) > 0).all()  # there is always a word within D = 1


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_many_steps_at_once_equal_one_after_the_other(name):
    scores, h = numbers(0, (2, 5, 6), (2, 5, H))
    align, mask = alignment(name, 1), real_places([6, 4])
    steps = [align(scores[:, t : t + 1], h[:, t : t + 1], t, mask) for t in range(5)]
    inputs = [scores, h, *align.parameters()]
    same(align(scores, h, 0, mask), torch.cat(steps, 1), inputs)


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_more_padding_and_batch_mates_change_nothing(name):
    scores, h = numbers(0, (3, 5, 7), (3, 5, H))
    lengths, align = [7, 4, 1], alignment(name, 2)
    together = align(scores, h, 0, real_places(lengths))
    for i, n in enumerate(lengths):
        one = slice(i, i + 1)
        alone = align(scores[one, :, :n], h[one], 0, real_places([n]))
        close(together[one, :, :n], alone)


@pytest.mark.parametrize("name", ["local-m", "local-p"])
def test_a_wide_window_is_global_attention(name):
    """All steps and places are within D, and with an infinite sigma alike."""
    scores, h = numbers(0, (3, 9, 6), (3, 9, H))
    mask = real_places([6, 4, 1])
    align = MonotonicAlignment(9) if name == "local-m" else local_p(6, sigma=math.inf)
    inputs = [scores, h, *align.parameters()]
    same(align(scores, h, 0, mask), GlobalAlignment()(scores, h, 0, mask), inputs)
    narrow = MonotonicAlignment(1) if name == "local-m" else local_p(1, sigma=math.inf)
    assert not torch.allclose(
        narrow(scores, h, 0, mask), GlobalAlignment()(scores, h, 0, mask)
    )


def test_only_the_predictive_form_looks_at_the_state():
    scores, h, other = numbers(0, (1, 4, 6), (1, 4, H), (1, 4, H))
    for name in ALIGNMENTS:
        align, mask = alignment(name, 2), real_places([6])
        moved = not torch.equal(
            align(scores, h, 0, mask), align(scores, other, 0, mask)
        )
        assert moved == (name == "local-p")


def test_a_given_sigma_is_used():
    scores, h = numbers(0, (1, 2, 6), (1, 2, H))
    mask = real_places([6])
    mine, half = local_p(4, sigma=0.5), local_p(4)
    p = mine.centre(h, mask)
    ratio = gaussian(p, 6, 0.5) / gaussian(p, 6, 2.0)
    close(mine(scores, h, 0, mask), half(scores, h, 0, mask) * ratio)
    assert PredictiveAlignment(H, 0, sigma=1.0).half_width == 0


@pytest.mark.parametrize("name", ALIGNMENTS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_less_precise_types_differ_by_rounding(name, dtype):
    """The centre of the predictive form must not cross a place; here none is near."""
    scores, h = (x.detach().to(dtype) for x in numbers(3, (2, 3, 6), (2, 3, H)))
    align, mask = alignment(name, 2).to(dtype), real_places([6, 5])
    found = align(scores, h, 0, mask)
    assert found.dtype == dtype
    exact = align.double()(scores.double(), h.double(), 0, mask)
    close(found.double(), exact, 10 * torch.finfo(dtype).eps)


@pytest.mark.parametrize("name", ALIGNMENTS)
def test_no_number_is_needed_to_know_the_shape(name):
    align = alignment(name, 2).to("meta")
    mask = torch.empty(2, 5, device="meta", dtype=torch.bool)
    scores, h = (torch.empty(2, 3, n, device="meta") for n in (5, H))
    weights = align.float()(scores, h, 4, mask)
    assert weights.device.type == "meta"
    assert weights.shape == (2, 3, 5)


def test_names_make_the_alignments_of_the_paper():
    made = [make_alignment(n, H, None if n == "global" else 3) for n in ALIGNMENTS]
    assert [type(align) for align in made] == [
        GlobalAlignment,
        MonotonicAlignment,
        PredictiveAlignment,
    ]
    assert [align.half_width for align in made[1:]] == [3, 3]


mask = torch.ones(2, 5).bool()
scores, h = torch.zeros(2, 3, 5), torch.zeros(2, 3, H)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: make_alignment("local", H, 3), "'local'; choose among .*'local-m'"),
        (lambda: make_alignment("global", H, 3), "'global' .* no window, .* is 3"),
        (lambda: make_alignment("local-m", H, None), "'local-m' .*needs .* is None"),
        (lambda: make_alignment("local-p", H, None), "'local-p' .*needs .* is None"),
        (lambda: make_alignment("local-p", 0, 3), "d_hidden is 0"),
        (lambda: MonotonicAlignment(-1), "half_width is -1; .* from 0 on"),
        (
            lambda: MonotonicAlignment(2.5),
            "half_width is 2.5; it must be a whole number",
        ),
        (lambda: PredictiveAlignment(H, -1), "half_width is -1"),
        (lambda: PredictiveAlignment(H, 2.0), "half_width is 2.0"),
        (
            lambda: PredictiveAlignment(H, 0),
            "sigma is 0.0; it must be positive: .* from 1 on",
        ),
        (lambda: PredictiveAlignment(H, 2, sigma=0), "sigma is 0;"),
        (lambda: PredictiveAlignment(H, 2, sigma=-1.0), "sigma is -1.0"),
        (lambda: PredictiveAlignment(H, 2, sigma=math.nan), "sigma is nan"),
        (lambda: source_window(scores[..., 0], mask, -1), "half_width is -1"),
        (
            lambda: source_window(scores[..., 0], mask.float(), 1),
            r"torch.float32; .*bool\(\)",
        ),
        (lambda: source_window(scores[..., 0], mask[:, None], 1), r"\(2, 1, 5\)"),
        (
            lambda: source_window(torch.zeros(4, 3), mask, 1),
            r"\(2, 5\), the scores \(4, 5\)",
        ),
        (lambda: GlobalAlignment()(scores, h, 0, mask.float()), "type torch.float32"),
        (
            lambda: MonotonicAlignment(1)(scores, h, 0, mask[:, :4]),
            r"\(2, 4\); .* be \(2, 5\)",
        ),
        (lambda: GlobalAlignment()(scores, h, 0, mask[0]), r"\(5,\); .* be \(2, 5\)"),
        (
            lambda: PredictiveAlignment(4, 1)(scores, h, 0, mask[:, :1]),
            r"padding_mask\(src\)",
        ),
        (
            lambda: PredictiveAlignment(H, 1)(scores, h, 0, mask.long()),
            "type torch.int64",
        ),
    ],
)
def test_bad_input_is_named(call, message):
    with pytest.raises(ValueError, match=message):
        call()
