"""Occlusion: what is hidden, and what is replaced."""

import pytest
import torch
from compare import make_bahdanau

from attnbook.analysis.occlusion import (
    bahdanau_hiding_effects,
    replacing_effects,
    word_swaps,
)
from attnbook.core.vocabulary import EOS
from attnbook.toy.data import TARGET, make_batch
from attnbook.toy.language import is_sentence, translate_by_rule

PAIR = translate_by_rule("the old farmer sees a bird")


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
