"""Weights against effects: what is hidden, what is replaced, how ranks are compared."""

import math

import pytest
import torch
from compare import close, make_bahdanau

from attnbook.analysis.occlusion import (
    agreement,
    bahdanau_hiding_effects,
    context_changes,
    encoder_effects,
    encoder_weights,
    rank_correlation,
    replacing_effects,
    transformer_hiding_effects,
    word_swaps,
)
from attnbook.core.vocabulary import EOS
from attnbook.models.seq2seq import InitialState
from attnbook.toy.data import SOURCE, TARGET, make_batch
from attnbook.toy.language import Pair, is_sentence, translate_by_rule
from attnbook.toy.models import toy_transformer

PAIR = translate_by_rule("the old farmer sees a bird")


@pytest.fixture(scope="module")
def model():
    torch.manual_seed(0)
    return toy_transformer(len(SOURCE), len(TARGET)).eval()


def log_p(logits, right):
    return logits.log_softmax(-1).gather(-1, right[..., None])[..., 0]


@torch.no_grad()
def test_a_position_is_hidden_at_one_step_alone(model):
    src, tgt_in, tgt_out = make_batch([PAIR])
    memory, effects = model.encode(src), transformer_hiding_effects(model, PAIR)
    steps, places = effects.shape
    assert (steps, places) == (len(PAIR.target) + 1, len(PAIR.source) + 1)
    before = log_p(model(src, tgt_in), tgt_out)
    for i, j in ((0, 0), (2, 4), (6, 6), (5, 1)):
        mask = torch.ones(1, 1, steps, places, dtype=torch.bool)
        mask[0, 0, i, j] = False
        after = log_p(model.decode(tgt_in, memory, mask), tgt_out)
        close(effects[i, j], before[0, i] - after[0, i], atol=1e-5)
        close(after[0, :i], before[0, :i], atol=1e-5)  # earlier steps saw it


@torch.no_grad()
def test_context_changes_are_relative_distances_of_each_half():
    pair = translate_by_rule("a young farmer sees the dog and the cat hears a bird")
    torch.manual_seed(0)
    encoder = InitialState(len(SOURCE), len(TARGET)).encoder
    found = context_changes(encoder, pair, parts=2)  # (S, 2)
    assert found.shape == (len(pair.source) + 1, 2)
    for j, word in enumerate([*pair.source, "<eos>"]):
        if word in ("and", "<eos>"):
            assert found[j].isnan().all()
            continue
        distances = []
        for words in word_swaps(pair, j):
            old, new = (
                encoder(torch.tensor([[*SOURCE.encode(w), 2]]))[1][0].tolist()
                for w in (pair.source, words)
            )
            distances.append(
                [
                    math.dist(old[:64], new[:64]) / math.hypot(*old[:64]),
                    math.dist(old[64:], new[64:]) / math.hypot(*old[64:]),
                ]
            )
        for half, mean in enumerate(found[j].tolist()):
            wanted = sum(d[half] for d in distances) / len(distances)
            assert mean == pytest.approx(wanted, rel=1e-3, abs=1e-6)
    whole = context_changes(encoder, pair)
    assert whole.shape == (len(pair.source) + 1, 1)
    low, high = found.min(1).values, found.max(1).values
    between = (whole[:, 0] >= low - 1e-6) & (whole[:, 0] <= high + 1e-6)
    assert (between | whole[:, 0].isnan()).all()


@torch.no_grad()
def test_encoder_effects_are_means_over_other_words_of_the_kind(model):
    effects = encoder_effects(model, PAIR)
    before = model.encode(make_batch([PAIR])[0])[0]
    moved = [
        (model.encode(make_batch([Pair(words, PAIR.target, PAIR.alignment)])[0])[0])
        for words in word_swaps(PAIR, 2)
    ]
    mean = sum((after - before).norm(dim=-1) for after in moved) / len(moved)
    close(effects[[0, 1, 3, 4, 5, 6], 2], mean[[0, 1, 3, 4, 5, 6]], atol=1e-5)
    assert effects.diagonal().isnan().all()
    assert effects[:, -1].isnan().all()  # nothing else can stand at EOS


def test_encoder_weights_are_a_mean_of_all_its_heads(model):
    weights = encoder_weights(model, PAIR)
    assert weights.shape == (7, 7)
    close(weights.sum(-1), torch.ones(7), atol=1e-5)
    with torch.no_grad():
        src = make_batch([PAIR])[0]
        x = model.positions(model.source_embedding(src))
        found = []
        for layer in model.encoder:
            y = layer.norm_1(x)
            found.append(layer.attention(y, y, y, need_weights=True)[1][0])
            x = layer(x)
    close(weights, torch.cat(found).mean(0), atol=1e-5)


def test_rank_correlation_is_spearmans():
    rising = torch.tensor([1.0, 2.0, 3.0, 4.0])
    assert rank_correlation(rising, rising.exp()) == pytest.approx(1)
    assert rank_correlation(rising, -rising) == pytest.approx(-1)
    # 1 - 6 Σ d² / n (n² - 1) with the ranks 1 2 3 4 and 2 1 4 3
    other = torch.tensor([5.0, 0.0, 9.0, 7.0])
    assert rank_correlation(rising, other) == pytest.approx(1 - 6 * 4 / 60)
    tied = torch.tensor([1.0, 1.0, 2.0, 3.0])  # ranks 1.5 1.5 3 4
    expected = 4.5 / math.sqrt(5 * 4.5)
    assert rank_correlation(rising, tied) == pytest.approx(expected)
    assert math.isnan(rank_correlation(rising, torch.ones(4)))


def test_agreement_is_over_known_positions_row_by_row():
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    effects = torch.tensor([[0.0, 1.0, 2.0], [math.nan, 0.0, 1.0]])
    correlation, first = agreement(weights, effects)
    assert correlation == pytest.approx((1 - 1) / 2)
    assert first == 0.5
    assert agreement(weights, -effects) == (correlation, first)  # by size


def test_rows_without_an_order_are_left_out():
    weights = torch.tensor([[0.1, 0.2, 0.7], [0.5, 0.3, 0.2]])
    effects = torch.tensor([[0.0, 1.0, 2.0], [3.0, 3.0, 3.0]])
    assert agreement(weights, effects) == (pytest.approx(1), 1)
    with pytest.raises(ValueError, match="no row can be ranked"):
        agreement(weights, torch.ones(2, 3))


@torch.no_grad()
def test_an_article_that_changes_with_the_noun_is_no_swap(model):
    pair = translate_by_rule("a small bird sees the queen")
    kept = [w for w in word_swaps(pair, 1) if w[0] == "a"]
    assert 0 < len(kept) < len(word_swaps(pair, 1))
    before = model.encode(make_batch([pair])[0])[0]
    changed = [Pair(words, pair.target, pair.alignment) for words in kept]
    after = model.encode(make_batch(changed)[0])
    mean = (after - before).norm(dim=-1).mean(0)
    close(encoder_effects(model, pair)[0, 1], mean[0], atol=1e-5)


# Bahdanau's model


def test_hiding_takes_the_place_out_of_the_sum():
    """By hand, at one step and place: weights without j, divided by what is left."""
    model, pair, i, j = make_bahdanau(), PAIR, 2, 3
    src, tgt_in, tgt_out = make_batch([pair])
    effects = bahdanau_hiding_effects(model, pair)
    assert effects.shape == (7, 7)
    with torch.no_grad():
        state = model.start(src)
        for token in tgt_in[0, :i]:
            _, state = model.step(token[None], state)
        c, weights = model.attend(state.s, state.source)
        logs = []
        for keep in (torch.ones(7), 1 - torch.eye(7)[j]):
            left = weights[0] * keep
            c = (left / left.sum()) @ state.source.states[0]
            y = model.embedding(tgt_in[:, i])
            s = model.cell(torch.cat([y, c[None]], -1), state.s)
            logits = model.readout(s, y, c[None])
            logs.append(logits.log_softmax(-1)[0, tgt_out[0, i]])
    assert effects[i, j].item() == pytest.approx((logs[0] - logs[1]).item(), abs=1e-5)


def test_replacing_changes_the_source_from_the_start():
    model, pair = make_bahdanau(), translate_by_rule("a dog sees this cat")
    effects = replacing_effects(model, pair)
    assert effects.shape == (6, 6)
    assert effects[:, -1].isnan().all()
    log_p = [
        model(make_batch([translate_by_rule(s)]).src, make_batch([pair]).tgt_in)[
            0
        ].log_softmax(-1)[range(6), [*TARGET.encode(pair.target), EOS]]
        for s in (
            "a dog sees this cat",
            "the dog sees this cat",
            "this dog sees this cat",
        )
    ]
    wanted = log_p[0] - (log_p[1] + log_p[2]) / 2
    assert torch.allclose(effects[:, 0], wanted, atol=1e-5)


def test_swaps_are_sentences_that_differ_in_one_place():
    pair = translate_by_rule("an old king helps a bird and the cat sees a small dog")
    for j, word in enumerate(pair.source):
        found = word_swaps(pair, j)
        assert all(map(is_sentence, found))
        assert len(set(found)) == len(found)
        for words in found:
            changed = [k for k, w in enumerate(words) if w != pair.source[k]]
            assert [k for k in changed if pair.source[k] not in ("a", "an")] in (
                [j],
                [],
            )
            assert words[j] != word
    assert len(word_swaps(pair, 1)) == 5
    assert len(word_swaps(pair, 2)) == 11
    assert len(word_swaps(pair, 0)) == 2
    assert word_swaps(pair, 6) == []  # and
