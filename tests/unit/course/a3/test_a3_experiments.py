"""The experiments of appendix A3: what they measure, at small size."""

import pytest
import torch

from attnbook.course.a3 import (
    experiment_linear_state as linear_state,
)
from attnbook.course.a3 import (
    experiment_lite_encoders as lite_encoders,
)
from attnbook.course.a3 import (
    experiment_sinks as sinks,
)
from attnbook.course.a3 import (
    experiment_two_orders as two_orders,
)
from attnbook.nn.linear_attention import LinearAttention
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import causal_mask, key_mask, prepare_mask
from attnbook.nn.windows import window_mask
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.models import load_toy_model, toy_transformer
from attnbook.toy.two_orders import object_first
from attnbook.translation.corpora import Texts

BATCH = make_batch(held_out_pairs(2, 3))


# Sinks


@pytest.fixture(scope="module")
def trained():
    return load_toy_model("transformer")


def test_with_the_causal_mask_the_loss_is_the_models(trained):
    with torch.no_grad():
        wanted = token_loss(trained(BATCH.src, BATCH.tgt_in), BATCH.tgt_out).item()
    assert sinks.masked_loss(trained, [BATCH], causal_mask) == pytest.approx(wanted)


def test_a_window_of_the_whole_text_changes_nothing(trained):
    full = sinks.masked_loss(trained, [BATCH], causal_mask)
    wide = sinks.masked_loss(trained, [BATCH], lambda t: window_mask(t, t))
    assert (
        wide == full != sinks.masked_loss(trained, [BATCH], lambda t: window_mask(t, 2))
    )


def test_one_position_is_kept_besides_the_window():
    first = sinks.keep_one(8, 3, position=0)
    assert torch.equal(first, window_mask(8, 3, sinks=1))
    second = sinks.keep_one(8, 3, position=1)
    assert torch.equal(second & ~window_mask(8, 3), torch.tensor(
        [[i >= 4 and j == 1 for j in range(8)] for i in range(8)]
    ))  # fmt: skip


def test_sinks_at_small_size(monkeypatch):
    texts = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei Männer."])
    monkeypatch.setattr(sinks, "load_texts", lambda run, split: texts)
    monkeypatch.setattr(sinks, "KEPT", (2, 40))
    found = sinks.sinks()
    small, large = found["runs"]
    assert found["sentences"] == 2
    assert large["window"] == large["sink"] == large["word"] == found["full"]
    assert small["window"] != found["full"]


# The state of linear attention


def test_both_kinds_are_trained_with_all_heads(monkeypatch):
    monkeypatch.setattr(linear_state, "STEPS", 2)
    monkeypatch.setattr(linear_state, "HEADS", (1, 4))
    runs = linear_state.linear_state(seeds=(0, 1))["runs"]
    assert [(r["kind"], r["d_k"]) for r in runs] == [
        ("softmax", 64), ("softmax", 16), ("linear", 64), ("linear", 16)
    ]  # fmt: skip
    assert all(len(r["accuracy"]) == 2 for r in runs)
    assert linear_state.LAYERS["linear"] is LinearAttention


def test_a_wide_state_learns_to_recall():
    assert linear_state.recall_accuracy("linear", 1, 0, steps=200, n=5) > 0.8


# Lighter encoders


@pytest.mark.parametrize(
    "make", [lite_encoders.toy_lite_transformer, lite_encoders.toy_local_transformer]
)
def test_lighter_encoders_ignore_padding(make):
    torch.manual_seed(0)
    model = make(len(SOURCE), len(TARGET)).eval()
    one = make_batch(held_out_pairs(2, 3)[1:2])
    with torch.no_grad():
        alone = model(one.src, one.tgt_in)
        batch = model(BATCH.src, BATCH.tgt_in)[1:2, : alone.shape[1]]
    assert torch.allclose(batch, alone, atol=1e-4)


def test_the_local_encoder_sees_neighbours_only():
    layer = lite_encoders.LocalOnly(8, lite_encoders.WIDTH)
    x = torch.randn(1, 9, 8)
    mask = prepare_mask(key_mask(torch.ones(1, 9, dtype=torch.long)))
    changed = x.clone()
    changed[:, 4] += 1
    moved = (layer(changed, changed, changed, mask) - layer(x, x, x, mask))[0]
    assert moved.abs().amax(-1).nonzero().flatten().tolist() == [2, 3, 4, 5, 6]


# Two orders


def test_valid_outputs_and_right_words_are_counted():
    pairs = held_out_pairs(1, 4)
    outputs = [
        pairs[0].target,
        object_first(pairs[1]).target,
        pairs[2].target[::-1],  # the right words, in no valid order
        pairs[3].target[:-1] + pairs[3].target[:1],
    ]
    found = two_orders.measured(outputs, pairs)
    assert found == {"valid": 0.5, "object_first": 0.25, "right_words": 0.75}


def test_distilled_pairs_have_the_teachers_translations(trained):
    pairs = [object_first(pair) for pair in held_out_pairs(1, 6)]
    taught = {pair.source: pair.target for pair in two_orders.distilled(pairs, trained)}
    rule = {pair.source: pair.target for pair in held_out_pairs(1, 6)}
    assert taught == rule  # it has learned the rule's order


def test_a_teacher_that_has_learned_nothing_is_refused():
    torch.manual_seed(0)
    untrained = toy_transformer(len(SOURCE), len(TARGET)).eval()
    with pytest.raises(ValueError, match="more steps"):
        next(two_orders.distilled(held_out_pairs(1, 6), untrained))


def test_two_orders_at_small_size(monkeypatch):
    monkeypatch.setattr(two_orders, "distilled", lambda pairs, teacher: pairs)
    monkeypatch.setattr(two_orders, "held_out_pairs", lambda n: held_out_pairs(n, 4))
    found = two_orders.two_orders(seeds=(0,), steps=2)
    assert len(found["runs"]) == 4
    assert all(len(run["examples"]) == 3 for run in found["runs"])
    assert {run["seed"] for run in found["runs"]} == {0}
