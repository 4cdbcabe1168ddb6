"""Loss, training loop, measures, stored results, experiments."""

import json
import math
from itertools import islice, product

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import nn
from torch.nn import functional as F

from attnbook.core import results
from attnbook.core.divergence import DivergedError
from attnbook.core.vocabulary import EOS, PAD
from attnbook.course.kit.toy_translation import accuracy_by_clause, train_and_measure
from attnbook.models.seq2seq import InitialState
from attnbook.nn.losses import token_loss
from attnbook.toy.data import (
    SOURCE,
    TARGET,
    held_out_pairs,
    make_batch,
    reverse_source,
    toy_batches,
)
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import correct_tokens, exact_match, greedy_translations
from attnbook.toy.training import fit

axes = st.lists(st.integers(1, 4), min_size=2, max_size=3)


@given(axes, st.integers(2, 9), st.integers(0, 99))
def test_loss_equals_a_loop_and_cross_entropy(axes, width, seed):
    """With one answer a place, (B, T), and with several, (B, L, K)."""
    g = torch.Generator().manual_seed(seed)
    logits = torch.randn(*axes, width, generator=g).double().requires_grad_()
    targets = torch.randint(width, axes, generator=g)
    targets[(0,) * len(axes)] = 1  # at least one real token
    ours = token_loss(logits, targets)
    total, count = 0.0, 0
    for i in product(*map(range, axes)):
        if targets[i] != PAD:
            p = logits[i].exp() / logits[i].exp().sum()
            total, count = total - p[targets[i]].log(), count + 1
    theirs = F.cross_entropy(logits.flatten(0, -2), targets.flatten(), ignore_index=PAD)
    assert torch.allclose(ours, total / count, atol=1e-12)
    assert torch.allclose(ours, theirs, atol=1e-12)
    a, b = (torch.autograd.grad(loss, logits)[0] for loss in (ours, theirs))
    assert torch.allclose(a, b, atol=1e-12)


def small_model(seed=0):
    torch.manual_seed(seed)
    return InitialState(len(SOURCE), len(TARGET), d_embed=16, d_hidden=16)


@pytest.mark.parametrize("warm_up", [1, 3])
def test_fit_follows_the_cosine_and_clips(warm_up):
    """Against a loop written out, with plain gradient descent's Adam and its rate."""
    batches = list(islice(toy_batches(0, clauses=(1,), batch_size=8), 5))
    model, other = small_model(), small_model()
    fit(model, batches, 5, 1e-2, clip=0.1, warm_up=warm_up)
    optimizer = torch.optim.Adam(other.parameters())
    for step, batch in enumerate(batches):
        for group in optimizer.param_groups:
            group["lr"] = 1e-2 * (1 + math.cos(math.pi * step / 5)) / 2
            group["lr"] *= min(1, (step + 1) / warm_up)
        loss = token_loss(other(batch.src, batch.tgt_in), batch.tgt_out)
        gradients = torch.autograd.grad(loss, list(other.parameters()))
        norm = sum(g.square().sum() for g in gradients).sqrt()
        for p, g in zip(other.parameters(), gradients, strict=True):
            p.grad = g * min(1.0, 0.1 / norm)
        optimizer.step()
    for a, b in zip(model.parameters(), other.parameters(), strict=True):
        assert torch.allclose(a, b, atol=1e-5)


class Adder(nn.Module):
    """Adds up what it is called with, and remembers it."""

    def __init__(self):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(5))
        self.calls, self.modes = [], []

    def forward(self, *inputs):
        self.calls.append(inputs)
        self.modes.append(self.training)
        return sum(inputs) + self.bias  # (2, 3, 5)


@pytest.mark.parametrize("n", [1, 2, 3])
def test_fit_calls_the_model_with_all_but_the_last_of_a_batch(n):
    g = torch.Generator().manual_seed(0)
    batches = [
        (*torch.randn(n, 2, 3, 5, generator=g), torch.randint(1, 5, (2, 3)))
        for _ in range(3)
    ]
    model = Adder().eval()
    losses = fit(model, iter(batches), 3, 1e-2)
    for found, (*inputs, _) in zip(model.calls, batches, strict=True):
        assert len(found) == n
        assert all(a is b for a, b in zip(found, inputs, strict=True))
    assert model.modes == [True] * 3
    assert not model.training
    *inputs, targets = batches[0]
    theirs = F.cross_entropy(sum(inputs).flatten(0, 1), targets.flatten())
    assert losses[0] == pytest.approx(theirs.item(), abs=1e-5)


def test_fit_takes_as_many_batches_as_it_has_steps():
    """The next one is still there for whoever goes on."""
    batches = iter([(torch.zeros(2, 3, 5), torch.ones(2, 3).long())] * 4)
    assert len(fit(Adder(), batches, 3, 1e-2)) == 3
    assert len(list(batches)) == 1


@pytest.mark.parametrize(
    ("steps", "message"), [(0, "steps is 0"), (3, "ran out after 2 of 3")]
)
def test_fit_names_what_is_wrong(steps, message):
    with pytest.raises(ValueError, match=message):
        fit(small_model(), islice(toy_batches(0, batch_size=2), 2), steps, 1e-2)


class Cheat(nn.Module):
    """Knows the right translation; spoils the sentences that it is told to."""

    def __init__(self, spoil=()):
        super().__init__()
        self.spoil = spoil

    def start(self, src):
        rows = [translate_by_rule(SOURCE.decode(row)).target for row in src.tolist()]
        ids = [[*TARGET.encode(row), EOS] for row in rows]
        for i in self.spoil:
            ids[i][-2] = 7
        return ids, 0

    def step(self, token, state):
        ids, t = state
        output = torch.tensor([row[t] if t < len(row) else EOS for row in ids])
        return F.one_hot(output, len(TARGET)).double(), (ids, t + 1)

    def forward(self, src, tgt_in):
        ids, _ = self.start(src)
        rows = [row + [EOS] * (tgt_in.shape[1] - len(row)) for row in ids]
        return F.one_hot(torch.tensor(rows), len(TARGET)).double()


def test_exact_match_counts_whole_sentences():
    pairs = held_out_pairs(2, 10)
    assert greedy_translations(Cheat(), pairs) == [pair.target for pair in pairs]
    assert exact_match(Cheat(), pairs) == 1.0
    assert exact_match(Cheat(spoil=(1, 4)), pairs) == pytest.approx(0.8)


def test_right_tokens_counts_real_tokens():
    pairs = held_out_pairs(1, 3) + held_out_pairs(2, 3)
    right, real = correct_tokens(Cheat(spoil=(0,)), pairs)
    assert real.sum().item() == sum(len(pair.target) + 1 for pair in pairs)
    assert (real & ~right).sum().item() == 1
    assert not (right & ~real).any()


def test_right_by_clause_counts_words_of_clauses():
    pairs = held_out_pairs(3, 4)
    assert accuracy_by_clause(Cheat(), pairs) == [1.0, 1.0, 1.0]
    *before, last = accuracy_by_clause(Cheat(spoil=(2,)), pairs)
    assert before == [1.0, 1.0]
    words = sum(len(" ".join(p.target).split(" ul ")[-1].split()) for p in pairs)
    assert last == pytest.approx(1 - 1 / words)


def test_reversed_source_keeps_its_alignment():
    pair = translate_by_rule("the old farmer sees a bird and a dog hears this cat")
    turned = reverse_source(pair)
    assert turned.source == pair.source[::-1]
    for j, k in zip(pair.alignment, turned.alignment, strict=True):
        assert (j is None) == (k is None)
        assert j is None or pair.source[j] == turned.source[k]
    assert reverse_source(turned) == pair
    assert make_batch([turned]).src[0, -1] == EOS


def test_an_experiment_in_miniature():
    found = train_and_measure(InitialState, steps=2, seeds=(0, 1))
    assert found["steps"] == 2
    assert [run["seed"] for run in found["runs"]] == [0, 1]
    assert set(found["runs"][0]["exact"]) == {"1", "2", "3", "4", "5"}
    assert len(found["runs"][0]["by_clause"]) == 4


def test_results_are_stored_whole_and_found_again(tmp_path, monkeypatch):
    path = results.save("trial", {"runs": [1, 2]}, 12.3, tmp_path)
    assert [p.name for p in tmp_path.iterdir()] == ["trial.json"]
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    found = results.load("trial")
    assert found == json.loads(path.read_text())
    assert found["command"] == "python -m attnbook.course trial"
    assert found["runs"] == [1, 2]
    assert found["seconds"] == 12
    with pytest.raises(ValueError, match="no stored result 'other'; there are trial"):
        results.load("other")


# Numbers that are no longer finite


class Exploding(nn.Module):
    """From a step on, its logits are NaN, or their gradient is alone."""

    def __init__(self, step, gradient=False):
        super().__init__()
        self.bias = nn.Parameter(torch.zeros(5))
        self.step, self.gradient, self.calls = step, gradient, 0

    def forward(self, x):
        self.calls += 1
        if self.calls < self.step:
            return x + self.bias
        if self.gradient:  # the root of 0 is 0, and its slope is infinite
            return x + (self.bias * 0).sqrt()
        return x + self.bias * math.nan


def zeros(steps):
    return [(torch.zeros(2, 3, 5), torch.ones(2, 3).long())] * steps


@pytest.mark.parametrize(("step", "steps"), [(1, 1), (2, 4), (4, 4)])
def test_fit_names_the_first_loss_that_is_not_finite(step, steps):
    with pytest.raises(DivergedError, match=rf"loss of update {step} is nan; lower"):
        fit(Exploding(step), zeros(steps), steps, 1e-2)


def test_fit_notices_what_the_last_update_has_spoiled():
    """The loss before it was finite, and so was every one that it returns."""
    with pytest.raises(DivergedError, match="last update left weights that are not"):
        fit(Exploding(1, gradient=True), zeros(1), 1, 1e-2)


@pytest.mark.parametrize("learning_rate", [1e37, math.inf])
def test_fit_does_not_return_a_ruined_model(learning_rate):
    with pytest.raises(DivergedError):
        fit(small_model(), toy_batches(0, batch_size=2), 3, learning_rate)


@pytest.mark.parametrize("name", ["learning_rate", "clip"])
@pytest.mark.parametrize("value", [0, -1e-3, math.nan, -math.inf])
def test_fit_takes_no_rate_that_teaches_nothing(name, value):
    given = {"learning_rate": 1e-2, "clip": 1.0, name: value}
    with pytest.raises(ValueError, match=rf"{name} is .*; it must be more than 0"):
        fit(small_model(), zeros(1), 1, **given)


def test_fit_needs_a_step_of_warm_up():
    with pytest.raises(ValueError, match="warm_up is 0; it must be a whole number"):
        fit(small_model(), zeros(1), 1, 1e-2, warm_up=0)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_result_that_is_not_finite_is_not_stored(tmp_path, number):
    with pytest.raises(ValueError, match=r"trial\.json.*runs.*NaN or infinite"):
        results.save("trial", {"runs": [{"loss": 1.0}, {"loss": number}]}, 1, tmp_path)
    assert not (tmp_path / "trial.json").exists()
