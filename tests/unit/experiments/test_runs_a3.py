"""The experiments of appendix A3: what they measure, at small size."""

import pytest
import torch
from compare import close, step_by_step

from attnbook.nn.losses import token_loss
from attnbook.nn.masks import causal_mask, key_mask
from attnbook.toy.data import held_out_pairs, make_batch
from attnbook.toy.models import load_toy_model
from experiments.a3 import ShortCache, mean_first, without_values

BATCH = make_batch(held_out_pairs(2, 3))


def stepwise_loss(model, batch):
    """Loss per target token if every step sees the correct tokens before it."""
    state, steps = model.start(batch.src), []
    for token in batch.tgt_in.unbind(1):
        step, state = model.step(token, state)
        steps.append(step)
    return token_loss(torch.stack(steps, 1), batch.tgt_out).item()


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


@torch.no_grad()
def stepped_logits(short):
    return step_by_step(short, BATCH.src, BATCH.tgt_in)


@pytest.mark.parametrize("always", [(), (0,), (1,)])
def test_a_short_cache_is_a_mask(trained, always):
    t, size = BATCH.tgt_in.shape[1], 4
    window = size - len(always)
    mask = causal_mask(t) & ~causal_mask(t).tril(-window)
    for position in always:
        mask[size:, position] = True
    mask[size - 1, :size] = True  # four positions have room
    short = ShortCache(trained, size, always)
    close(stepped_logits(short), masked_logits(trained, mask), 1e-4)


@pytest.mark.parametrize("dropped", [True, False])
def test_all_tokens_or_all_but_the_first_are_a_mask(trained, dropped):
    mask, size = causal_mask(BATCH.tgt_in.shape[1]), 4 if dropped else 100
    mask[size:, 0] = False
    short = ShortCache(trained, size, always=range(1, 100))
    close(stepped_logits(short), masked_logits(trained, mask), 1e-4)


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


def test_the_average_of_a_single_sentence_changes_nothing(trained):
    alone = make_batch(held_out_pairs(2, 3)[:1])
    mean = mean_first(trained, [alone])
    _, state = trained.step(alone.tgt_in[:, 0], trained.start(alone.src))
    for own, cache in zip(mean, state.layers, strict=True):
        assert torch.equal(own.k, cache.target.k)
        assert torch.equal(own.v, cache.target.v)
    losses = [
        stepwise_loss(ShortCache(trained, 4, (0,), change), alone)
        for change in (None, lambda _: mean)
    ]
    assert losses[0] == pytest.approx(losses[1], abs=1e-6)
