"""The experiments of appendix A3: what they measure, at small size."""

import pytest
import torch

from attnbook.core.vocabulary import EOS, PAD
from attnbook.course.a3.short_cache import (
    ShortCache,
    mean_first,
    without_values,
)
from attnbook.nn.linear_attention import LinearAttention
from attnbook.nn.masks import causal_mask, key_mask, window_mask
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.models import load_toy_model, toy_transformer
from attnbook.toy.two_orders import object_first
from attnbook.translation.corpora import Texts
from experiments import a3_linear_state as linear_state
from experiments import a3_lite_encoders as lite_encoders
from experiments import a3_sinks as sinks
from experiments import a3_two_orders as two_orders
from experiments.ch06 import stepwise_loss

BATCH = make_batch(held_out_pairs(2, 3))


# Sinks


@pytest.fixture(scope="module")
def trained():
    return load_toy_model("transformer")


def masked_logits(model, mask):
    with torch.no_grad():
        source_mask = key_mask(BATCH.src)
        memory = model.encode(BATCH.src, source_mask)
        y = model.positions(model.target_embedding(BATCH.tgt_in))
        for layer in model.decoder:
            y = layer(y, memory, mask, source_mask)
        return model.out(model.decoder_norm(y))


def stepped_logits(short):
    state, logits = short.start(BATCH.src), []
    with torch.no_grad():
        for token in BATCH.tgt_in.unbind(1):
            new, state = short.step(token, state)
            logits.append(new)
    return torch.stack(logits, 1)


@pytest.mark.parametrize("always", [(), (0,), (1,)])
def test_a_short_cache_is_a_mask(trained, always):
    t, size = BATCH.tgt_in.shape[1], 4
    mask = window_mask(t, size - len(always))
    for position in always:
        mask[size:, position] = True
    mask[size - 1, :size] = True  # four positions have room
    short = ShortCache(trained, size, always)
    assert torch.allclose(
        stepped_logits(short), masked_logits(trained, mask), atol=1e-4
    )


def test_all_tokens_but_the_first_are_a_mask(trained):
    t, size = BATCH.tgt_in.shape[1], 4
    mask = causal_mask(t)
    mask[size:, 0] = False
    short = ShortCache(trained, size, always=range(1, 100))
    assert torch.allclose(
        stepped_logits(short), masked_logits(trained, mask), atol=1e-4
    )


def test_a_cache_with_room_for_all_changes_nothing(trained):
    wanted = masked_logits(trained, causal_mask(BATCH.tgt_in.shape[1]))
    assert torch.allclose(stepped_logits(ShortCache(trained, 100)), wanted, atol=1e-4)


def test_the_oldest_that_may_go_is_dropped(trained):
    short = ShortCache(trained, 4, always=(0,))
    assert short.rows_to_keep((0, 1, 2)) == [0, 1, 2]
    assert short.rows_to_keep((0, 5, 6, 7)) == [0, 2, 3]


def test_the_average_of_a_single_sentence_is_its_own(trained):
    alone = make_batch(held_out_pairs(2, 3)[:1])
    first = mean_first(trained, [alone])
    _, state = trained.step(alone.tgt_in[:, 0], trained.start(alone.src))
    for mean, cache in zip(first, state.layers, strict=True):
        assert torch.equal(mean.k, cache.target.k)
        assert torch.equal(mean.v, cache.target.v)


def test_the_average_of_a_single_sentence_changes_nothing(trained):
    alone = make_batch(held_out_pairs(2, 3)[:1])
    mean = mean_first(trained, [alone])
    losses = [
        stepwise_loss(ShortCache(trained, 4, (0,), change), [alone])
        for change in (None, lambda _: mean)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)


def average(model):
    mean = mean_first(model, [BATCH])
    return lambda _: mean


@pytest.mark.parametrize("make", [average, lambda _: without_values])
def test_position_0_changes_once_the_cache_is_full(trained, make):
    own = stepped_logits(ShortCache(trained, 4, (0,)))
    other = stepped_logits(ShortCache(trained, 4, (0,), make(trained)))
    assert torch.allclose(own[:, :4], other[:, :4], atol=1e-5)
    assert not torch.allclose(own[:, 4], other[:, 4], atol=1e-3)


def test_without_values_position_0_still_takes_its_weight(trained):
    short, tokens = ShortCache(trained, 4, (0,), without_values), BATCH.tgt_in
    state = short.start(BATCH.src)
    with torch.no_grad():
        for token in tokens[:, :4].unbind(1):
            _, state = short.step(token, state)
    _, plain = trained.step(tokens[:, 0], trained.start(BATCH.src))
    for changed, own in zip(state.inner.layers, plain.layers, strict=True):
        assert torch.allclose(changed.target.k[:, :, :1], own.target.k)
        assert not changed.target.v[:, :, 0].any()
        assert changed.target.v[:, :, 1:].all()


def test_ends_by_hand(trained):
    short, last = ShortCache(trained, 100), BATCH.tgt_out.max().item()
    found = sinks.with_correct_tokens(short, [BATCH], (last, EOS))
    assert found["loss"] == pytest.approx(stepwise_loss(short, [BATCH]), abs=1e-4)
    log_p, tgt = stepped_logits(short).log_softmax(-1), BATCH.tgt_out
    ends, losses, early = (last, EOS), [], []
    for row, targets in zip(log_p, tgt.tolist(), strict=True):
        for t, token in enumerate(targets):
            if t >= sinks.CLOSER_LOOK and token in ends:
                losses.append(-row[t, token].item())
            elif t >= sinks.CLOSER_LOOK and token != PAD:
                early.append(row[t, [*ends]].exp().sum().item())
    assert found["loss_end"] == pytest.approx(sum(losses) / len(losses), abs=1e-4)
    assert found["early_end"] == pytest.approx(sum(early) / len(early), abs=1e-4)


def test_lengths_and_unchanged_translations_are_counted():
    found = sinks.compared(["a b", "a b c"], ["a b", "a b"])
    assert found == {"unchanged": 1, "words": 2.5, "long": 1}


def test_sinks_at_small_size(monkeypatch):
    texts = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei Männer."])
    monkeypatch.setattr(sinks, "load_texts", lambda run, split: texts)
    monkeypatch.setattr(sinks, "SIZES", (3, 40))
    monkeypatch.setattr(sinks, "CLOSER_LOOK", 3)
    found = sinks.sinks()
    everything, *runs = found["runs"]
    assert found["sentences"] == 2
    assert [run["keeps"] for run in runs] == [
        "last", "word", "sink", "last", "word", "sink", "average", "no values", "words"
    ]  # fmt: skip
    assert everything["unchanged"] == 2
    assert everything["size"] is None
    short, long, changed = runs[:3], runs[3:6], runs[6:]
    assert all(run["loss"] == everything["loss"] for run in long)
    assert all(run["loss"] != everything["loss"] for run in [*short, *changed])
    assert "neben einem Baum" in everything["example"]


def test_mean_weights_by_hand(trained):
    found = sinks.mean_weights(trained, [BATCH], 4)
    assert all(0 < found[name] < 1 for name in ("sink", "word", "oldest"))
    lengths = (BATCH.tgt_in != 0).sum(1).tolist()
    equal = [1 / (i + 1) for t in lengths for i in range(4, t)]
    assert found["equal"] == pytest.approx(sum(equal) / len(equal))


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
    mask = key_mask(torch.ones(1, 9, dtype=torch.long))
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
