"""The experiments of appendix A3: what they measure, at small size."""

import functools
from statistics import fmean

import pytest
import torch
from compare import close

from attnbook.analysis.maps import attention_maps
from attnbook.core.vocabulary import EOS, PAD
from attnbook.nn.masks import causal_mask, key_mask
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch
from attnbook.toy.models import load_toy_model, toy_transformer
from attnbook.translation.corpora import Texts
from experiments import a3
from experiments.a3 import ShortCache, mean_first, without_values
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


def test_the_average_of_a_single_sentence_changes_nothing(trained):
    alone = make_batch(held_out_pairs(2, 3)[:1])
    mean = mean_first(trained, [alone])
    _, state = trained.step(alone.tgt_in[:, 0], trained.start(alone.src))
    for own, cache in zip(mean, state.layers, strict=True):
        assert torch.equal(own.k, cache.target.k)
        assert torch.equal(own.v, cache.target.v)
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


def test_ends_by_hand():
    torch.manual_seed(0)
    untrained = toy_transformer(len(SOURCE), len(TARGET)).eval()
    short, last = ShortCache(untrained, 100), BATCH.tgt_out.max().item()
    found = a3.with_correct_tokens(short, [BATCH], (last, EOS))
    assert found["loss"] == pytest.approx(stepwise_loss(short, [BATCH]), abs=1e-4)
    log_p, tgt = stepped_logits(short).log_softmax(-1), BATCH.tgt_out
    ends, losses, early = (last, EOS), [], []
    for row, targets in zip(log_p, tgt.tolist(), strict=True):
        for t, token in enumerate(targets):
            if t >= a3.SIZE and token in ends:
                losses.append(-row[t, token].item())
            elif t >= a3.SIZE and token != PAD:
                early.append(row[t, [*ends]].exp().sum().item())
    assert found["loss_end"] == pytest.approx(sum(losses) / len(losses), abs=1e-4)
    assert found["early_end"] == pytest.approx(sum(early) / len(early), abs=1e-4)


def test_lengths_and_unchanged_translations_are_counted():
    found = a3.compared(["a b", "a b c"], ["a b", "a b"])
    assert found == {"unchanged": 1, "words": 2.5, "long": 1}


def test_sinks_at_small_size(monkeypatch):
    texts = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei Männer."])
    monkeypatch.setattr(a3, "load_texts", lambda config, split: texts)
    monkeypatch.setattr(a3, "SIZE", 3)
    for loaded in (a3.validation, a3.translations):
        monkeypatch.setattr(a3, loaded.__name__, functools.cache(loaded.__wrapped__))
    found = {keeps: a3.sinks("shipped", keeps) for keeps in a3.KEPT}
    assert found["all"]["unchanged"] == 2
    everything, *others = (run["loss"] for run in found.values())
    assert everything not in others


def test_mean_weights_by_hand(trained):
    found, size = a3.mean_weights(trained, [BATCH], 4), 4
    maps = attention_maps(trained, BATCH.src, BATCH.tgt_in)
    own = [w for name, w in maps.items() if name.endswith("self_attention")]
    lengths = (BATCH.tgt_in != PAD).sum(1).tolist()
    at = [(row, i) for row, t in enumerate(lengths) for i in range(size, t)]
    for layer, shares in zip(own, found["by_head"], strict=True):
        for head, share in enumerate(shares):
            wanted = fmean(layer[row, head, i, 0].item() for row, i in at)
            assert share == pytest.approx(wanted, abs=1e-4)
    assert found["equal"] == pytest.approx(fmean(1 / (i + 1) for _, i in at), abs=1e-4)


# The state of linear attention


def test_a_wide_state_learns_to_recall():
    assert a3.recall_accuracy("linear", 1, 0, steps=200, n=5) > 0.8
