"""What chapter 8's experiments measure, at small size."""

import math
from itertools import product

import pytest
import torch
from compare import close, double
from torch import nn
from torch.nn import functional as F

from attnbook.core.divergence import DivergedError
from attnbook.course.ch08.taggers import deep_tagger
from attnbook.nn.losses import token_loss
from attnbook.toy.tasks import sorted_symbols, task_batches
from experiments import ch08

# Warm-up


@pytest.mark.parametrize("n_warm", [0, 4])
def test_the_rate_rises_to_the_full_one_and_stays(n_warm, monkeypatch):
    rates, step = [], torch.optim.Adam.step

    def watched(self, *args, **kwargs):
        rates.append(self.param_groups[0]["lr"])
        return step(self, *args, **kwargs)

    monkeypatch.setattr(torch.optim.Adam, "step", watched)
    model = deep_tagger(1, norm_first=True, d_model=8)
    losses = ch08.train_with_warmup(model, 0, 6, 0.01, n_warm)
    rise = [0.01 * (i + 1) / 4 for i in range(4)] if n_warm else [0.01] * 4
    assert rates == pytest.approx([*rise, 0.01, 0.01])
    assert len(losses) == 6


def test_the_first_loss_is_that_of_the_untrained_model():
    torch.manual_seed(0)
    model = deep_tagger(1, norm_first=False, d_model=8)
    ids, targets = next(task_batches(sorted_symbols, ch08.LENGTH, seed=3))
    before = token_loss(model(ids), targets).item()
    losses = ch08.train_with_warmup(model, 3, 2, 0.01, n_warmup=0)
    assert losses[0] == pytest.approx(before)
    assert token_loss(model(ids), targets).item() != pytest.approx(before)


# What lets a deep stack learn?


@pytest.mark.parametrize("connection", ch08.CONNECTIONS)
def test_each_connection_is_its_formula(connection):
    torch.manual_seed(0)
    (rung,) = ch08.stack(connection, n_layers=1).layers
    x = torch.randn(2, 5, ch08.WIDTH)
    (attention,), (norm,) = rung.parts, rung.norms
    wanted = {
        "plain": lambda: attention(x, x, x),
        "skip": lambda: x + attention(x, x, x),
        "post-norm": lambda: norm(x + attention(x, x, x)),
        "pre-norm": lambda: x + attention(*[norm(x)] * 3),
    }[connection]()
    assert torch.equal(rung(x), wanted)


def test_the_scale_shrinks_what_each_sublayer_adds_first():
    stacks = []
    for scale in (1.0, ch08.small_scale(16)):
        torch.manual_seed(0)
        stacks.append(ch08.stack("skip", 2, network=True, scale=scale).layers)
    pairs = [*zip(*map(ch08.output_matrices, stacks), strict=True)]
    assert len(pairs) == 4
    for one, other in pairs:
        assert torch.equal(other, 0.25 * one)


def test_the_floors_by_counting_all_cases(monkeypatch):
    """Two of three symbols, sorted: nine cases."""
    monkeypatch.setattr(ch08, "LENGTH", 2)
    cases = [sorted(pair) for pair in product(range(3), repeat=2)]

    def entropy(values):
        shares = [values.count(v) / len(values) for v in {*values}]
        return -sum(p * math.log(p) for p in shares)

    wanted = sum(entropy([case[i] for case in cases]) for i in (0, 1)) / 2
    found = ch08.floors(3)
    assert found["without_reading"] == pytest.approx(wanted, abs=1e-3)
    assert found["guess"] == pytest.approx(math.log(3), abs=1e-3)


def test_controls_change_what_they_name():
    torch.manual_seed(0)
    drawn = ch08.stack("skip", linear_default=True).layers[0].parts[0].W_V.weight
    assert drawn.abs().max() <= ch08.WIDTH**-0.5  # nn.Linear's bound
    row = ch08.CONTROLS["skip, network, last norm"]
    assert isinstance(ch08.stack(**row).norm, nn.LayerNorm)


def test_a_loss_that_is_no_longer_finite_is_none():
    assert ch08.loss_at_the_end([9.0, *range(10)]) == 4.5
    assert ch08.loss_at_the_end([math.inf] * 10) is None


# Is the feed-forward network needed?


def test_losses_are_averaged_over_twenty_steps():
    assert ch08.mean_of_20([1.0] * 20 + [2.0, 4.0] * 10) == [1, 3]


def test_shares_count_the_task_that_is_asked_for():
    def model(ids):  # knows all sums, and so hardly any sequence backwards
        return F.one_hot(ch08.TASKS["add_previous"](ids).targets, 17).float()

    assert ch08.mean_accuracy(model, "add_previous") == 1
    assert ch08.mean_accuracy(model, "backwards") < 0.1


# The XOR of two bits


def test_equal_weights_average_the_values():
    model = double(ch08.PairReader, ch08.NETWORKS["none"](), equal_weights=True)
    x = model.embedding(ch08.PAIRS) + model.positions.weight  # (4, 3, D)
    mean = model.attention.W_O(model.attention.W_V(x).mean(1))  # (4, D)
    wanted = model.out(2 * (x[:, 0] + mean))  # nothing adds its input once more
    close(model(ch08.PAIRS), wanted)


@pytest.mark.parametrize("network", ["none", "linear"])
def test_without_relu_and_with_equal_weights_logits_are_additive(network):
    model = double(ch08.PairReader, ch08.NETWORKS[network](), equal_weights=True)
    both_0, last, first, both_1 = model(ch08.PAIRS)
    close(first + last, both_0 + both_1)


def test_with_relu_xor_is_learned_and_the_queries_stay_zero():
    torch.manual_seed(0)
    model = ch08.PairReader(ch08.NETWORKS["ReLU"](), equal_weights=True)
    loss, right = ch08.train_on_pairs(model, steps=200, learning_rate=1e-2)
    assert right == 4
    assert loss < 0.1
    assert not any(p.any() for p in model.attention.W_Q.parameters())
    answers = [first ^ second for _, first, second in ch08.PAIRS.tolist()]
    assert model(ch08.PAIRS).argmax(-1).tolist() == answers


def test_a_ruined_reader_has_no_result():
    with pytest.raises(DivergedError):
        ch08.train_on_pairs(ch08.PairReader(nn.Identity()), 3, 1e37)


# Words and positions


@pytest.mark.parametrize("scaled", [True, False])
@pytest.mark.parametrize(("draw", "size"), [("N(0, 1)", 1.0), ("N(0, 1/D)", 0.125)])
def test_word_vectors_are_as_large_as_their_name_says(draw, size, scaled):
    torch.manual_seed(0)
    vectors = ch08.make_embedding(draw, scaled)(torch.arange(1, 17))
    wanted = size * (8 if scaled else 1)
    assert 0.9 * wanted < vectors.std() < 1.1 * wanted


def test_proportions_keep_or_shrink_the_positions(monkeypatch):
    """Root mean squares of the positions: 8, as of the words, and √½/8."""
    sizes = []

    def watched(model, batches, steps, rate):
        words = model.embedding(torch.arange(1, 17)[None])
        codes = model.positions(words) - words
        sizes.append(codes.square().mean().sqrt().item())
        return [0.0] * steps

    monkeypatch.setattr(ch08, "fit", watched)
    for scaled in (True, False):
        ch08.embedding_proportion("N(0, 1)", scaled, seed=0)
    assert sizes == pytest.approx([8, 0.5**0.5 / 8], rel=1e-4)
