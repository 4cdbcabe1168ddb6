"""What chapter 3's experiments measure, at small size."""

import pytest
import torch
from compare import close
from hypothesis import given, settings
from hypothesis import strategies as st

from attnbook.core import results
from attnbook.toy.data import held_out_pairs, toy_batches
from attnbook.toy.training import fit
from experiments import ch03


def test_each_largest_weight_is_on_the_output_the_input_or_elsewhere():
    pair = held_out_pairs(1)[0]
    n = len(pair.source) + 1  # with EOS

    def kinds(positions):
        return ch03.most_attended(torch.eye(n)[torch.tensor(positions)][None], [pair])

    by_output, by_input = [*pair.alignment, n - 1], [n - 1, *pair.alignment]
    assert {tuple(found.values()) for found in kinds(by_output).values()} == {(1, 0, 0)}
    found = kinds(by_input)
    assert found["verb"] == {"output": 0, "input": 1, "another": 0}
    assert found["noun"] == {"output": 0, "input": 0.5, "another": 0.5}  # y_0 is BOS


def test_a_frozen_encoder_stays_as_it_is_and_the_rest_learns():
    encoder = ch03.encoder_of("untrained", 0)
    model = ch03.with_frozen_encoder(encoder, 1)
    before = {name: w.clone() for name, w in model.state_dict().items()}
    given = [w.clone() for w in encoder.parameters()]
    fit(model, toy_batches(0), 1, 1e-2)
    for name, w in model.state_dict().items():
        if not name.startswith("score."):  # one position needs no score
            assert torch.equal(w, before[name]) == name.startswith("encoder."), name
    for own, kept in zip(model.encoder.parameters(), given, strict=True):
        assert torch.equal(own, kept)


# Costs


def random_batch(batch, steps, lengths):
    g = torch.Generator().manual_seed(0)
    positions = max(lengths)
    h = torch.randn(batch, steps, 3, generator=g, dtype=torch.float64)
    states = torch.randn(batch, positions, 3, generator=g, dtype=torch.float64)
    mask = torch.arange(positions) < torch.tensor(lengths)[:, None]
    return h.requires_grad_(), states.requires_grad_(), mask


@settings(max_examples=30)
@given(
    st.lists(st.integers(1, 9), min_size=1, max_size=3),
    st.integers(1, 9),
    st.integers(0, 11),
)
def test_windowed_is_masked(lengths, steps, half_width):
    """Contexts, weights and gradients; with pads, borders, windows wider than all."""
    steps = min(steps, max(lengths))
    h, states, mask = random_batch(len(lengths), steps, lengths)
    wanted, dense = ch03.local_masked(h, states, mask, half_width)
    context, weights = ch03.local_windowed(h, states, mask, half_width)
    spread_out = torch.zeros_like(dense)
    for t in range(steps):
        for d in range(2 * half_width + 1):
            if 0 <= (s := t - half_width + d) < mask.shape[1]:
                spread_out[:, t, s] = weights[:, t, d]
            else:
                assert not weights[:, t, d].any()
    close(context, wanted)
    close(spread_out, dense)
    gradients, right = (
        torch.autograd.grad(c.square().sum(), (h, states)) for c in (context, wanted)
    )
    close(gradients, right)


def test_a_window_over_everything_is_global_and_a_small_one_reads_nothing_else():
    h, states, mask = random_batch(2, 6, [6, 4])
    wanted, _ = ch03.global_attention(h, states, mask)
    for look in (ch03.local_masked, ch03.local_windowed):
        close(look(h, states, mask, 6)[0], wanted)
    h, states, mask = random_batch(1, 3, [9])
    changed = states.detach().clone()
    changed[:, 5:] = torch.nan  # steps 0 to 2 with D = 2 reach place 4
    wanted, _ = ch03.local_windowed(h, states, mask, 2)
    close(ch03.local_windowed(h, changed, mask, 2)[0], wanted)


@pytest.mark.parametrize(("length", "half_width"), [(1, 0), (5, 3), (5, 10), (50, 10)])
def test_counts_are_those_of_the_masks(length, half_width):
    h, states, mask = random_batch(1, length, [length])
    _, dense = ch03.local_masked(h, states, mask, half_width)
    assert ch03.count_scores(length, half_width) == {
        "S": length,
        "global_scores": length**2,
        "local_scores": int((dense > 0).sum()),
        "global_bytes": 4 * length**2,
        "local_bytes": 4 * length * (2 * half_width + 1),
    }


def test_calls_are_timed_in_turn_after_a_round_to_warm_up():
    ticks, called = iter(range(100)), []
    calls = {name: lambda name=name: called.append(name) for name in "ab"}
    found = ch03.time_in_turn(calls, 2, lambda: next(ticks))
    assert called == [*"ababab"]
    assert found == {"a": [1, 1], "b": [1, 1]}


def test_every_form_and_model_is_timed(monkeypatch):
    monkeypatch.setattr(ch03, "LENGTHS", (3, 30))
    monkeypatch.setattr(ch03, "REPEATS", 1)
    found, stored = ch03.local_cost(), results.load("local_cost")
    assert found.keys() <= stored.keys()
    assert [entry["S"] for entry in found["counts"]] == [3, 30]
    seen = [(run["batch"], run["S"], run["form"]) for run in found["runs"]]
    assert seen == [
        (b, s, form) for b in (1, 8) for s in (3, 30) for form in ch03.FORMS
    ]
    few = {name: ch03.TIMED[name] for name in ("dot", "dot, input feeding")}
    monkeypatch.setattr(ch03, "TIMED", few)
    found, stored = ch03.step_cost(repeats=3), results.load("step_cost")
    assert {key: found[key] for key in "BST"} == {key: stored[key] for key in "BST"}
    parameters = {run["model"]: run["parameters"] for run in stored["runs"]}
    for run in found["runs"]:
        assert run["parameters"] == parameters[run["model"]]
        assert run["low"] <= run["median"] <= run["high"]


# Dictionaries of captions


class Said:
    """A translator of two words, the first of which has two subwords."""

    class subwords:  # noqa: N801
        @staticmethod
        def pieces(text):
            return {"en": ["▁big", "▁dog"], "de": ["▁gro", "ß", "▁Hund"]}[text]


class Both:
    """Links big with groß and dog with Hund."""

    @staticmethod
    def between(source, target):
        assert (source, target) == (["big", "dog"], ["groß", "Hund"])
        return {0: 0, 1: 1}


def test_the_step_that_reads_a_word_comes_after_the_one_that_predicts_it(monkeypatch):
    """Step i predicts subword i and has read subword i - 1."""
    weights = torch.zeros(1, 2, 4, 3)  # one layer, a head and the mean; EOS in both
    predicts, reads = [0, 0, 1, 2], [2, 0, 0, 1]
    for head, places in enumerate((predicts, reads)):
        weights[0, head, range(4), places] = 1.0
    monkeypatch.setattr(ch03, "cross_maps", lambda *_: weights)
    rows = ch03.compare(Said, Both, "en", "de")
    assert [row["output"].tolist() for row in rows] == [[[True, True]], [[True, False]]]
    assert [row["input"].tolist() for row in rows] == [[[True, True]], [[False, True]]]
    assert [row["diagonal"] for row in rows] == [True, True]
