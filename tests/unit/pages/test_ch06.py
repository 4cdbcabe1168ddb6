"""Data, figures, drawings and exercises of chapter 6."""

from collections import Counter, defaultdict
from itertools import islice

import pytest
import torch
from drawn import cells
from torch import nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.batching import pad
from attnbook.models.from_torch import attention_from_torch
from attnbook.nn.masks import causal_mask, key_mask, target_mask
from attnbook.pages.drawings import ch06 as ch06_drawings
from attnbook.pages.exercises.checking import find
from attnbook.pages.figures import ch06
from attnbook.toy.data import SOURCE, held_out_pairs, toy_pairs
from attnbook.toy.language import NOUNS, translate_by_rule

SRC = pad([[5] * 6, [5] * 4])
TGT = pad([[9] * 5, [9] * 3])


pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# Saying the next word


def test_targets_are_the_words_read_shifted_by_one():
    sentences = "a dog sees a cat", "the old farmer sees a bird"
    ids, targets = ch06.next_words([*map(translate_by_rule, sentences)])
    assert ids.shape == targets.shape == (2, 7)
    assert ids[:, 0].tolist() == [BOS, BOS]
    assert targets[1, -1] == EOS
    assert (targets[1, :-1] == ids[1, 1:]).all()
    assert SOURCE.decode(targets[0].tolist()) == sentences[0].split()
    assert ids[0, -1] == targets[0, -1] == PAD


def test_batches_hold_the_mask_of_their_ids():
    stream = ch06.next_word_batches(target_mask, seed=3, batch_size=8)
    for ids, mask, targets in islice(stream, 3):
        assert targets.shape == (*ids.shape, 1)
        assert len(ids) == 8
        assert torch.equal(mask, target_mask(ids))
        assert ((targets == SOURCE.ids["and"]).sum(1) <= 1).all()
    again, _, _ = next(ch06.next_word_batches(key_mask, seed=3, batch_size=8))
    first, _, _ = next(ch06.next_word_batches(target_mask, seed=3, batch_size=8))
    assert torch.equal(again, first)


def steps(pairs):
    """Each word to be said, and what its odds depend on: the word before, nouns."""
    for pair in pairs:
        before, nouns = None, 0
        for word in (*pair.source, "<eos>"):
            yield (before, nouns), word
            before, nouns = word, nouns + (word in NOUNS)


def test_best_share_is_that_of_the_most_frequent_next_word():
    counts = defaultdict(Counter)
    for state, word in steps(islice(toy_pairs(seed=1, clauses=(1, 2)), 10_000)):
        counts[state][word] += 1
    likeliest = {state: count.most_common(1)[0][0] for state, count in counts.items()}
    fresh = [*islice(toy_pairs(seed=2, clauses=(1, 2)), 10_000)]
    right = [word == likeliest[state] for state, word in steps(fresh)]
    assert ch06.best_share(fresh) == pytest.approx(sum(right) / len(right), abs=0.004)


def test_best_share_of_one_sentence():
    """the cat sees a dog <eos>: 1/3 1/7 1/8 1/3 1/6 1/2."""
    odds = [1 / 3, 1 / 7, 1 / 8, 1 / 3, 1 / 6, 1 / 2]
    share = ch06.best_share([translate_by_rule("the cat sees a dog")])
    assert share == pytest.approx(sum(odds) / 6)
    assert ch06.best_share(held_out_pairs(1, 8)) != share


# Masks as maps


def test_maps_are_the_masks():
    axes = ch06.masks_figure(SRC, TGT).axes
    titles = [ax.get_title("left") for ax in axes[:4]]
    assert titles == ["padding", "causal", "both", "cross"]
    for b in range(2):
        maps = (cells(ax) > 0 for ax in axes[4 * b : 4 * b + 4])
        padding, causal, both, cross = maps
        assert torch.equal(padding, key_mask(SRC)[b, 0].expand(6, 6))
        assert torch.equal(causal, causal_mask(5))
        assert torch.equal(both, target_mask(TGT)[b, 0])
        assert torch.equal(cross, key_mask(SRC)[b, 0].expand(5, 6))


def test_detector_marks_leaks_and_losses():
    wanted = causal_mask(3)
    moved = torch.tensor([[1, 0, 1], [1, 0, 0], [1, 1, 1]]) > 0
    panels = {"wrong": (moved, wanted), "right": (wanted, wanted)}
    figure = ch06.detector_figure(panels | {"again": (wanted, wanted)})
    first, second, *_ = figure.axes
    assert torch.equal(cells(first) > 0, moved)
    marks = {text.get_position(): text.get_text() for text in first.texts}
    assert marks == {(2.5, 0.5): "×", (1.5, 1.5): "○"}  # at (key, query)
    assert not second.texts


def test_each_broken_mask_is_broken_in_its_own_way():
    masks = ch06.broken_masks(TGT[1:])
    wrong = {name: (mask != right) for name, (mask, right) in masks.items()}
    assert all(cells.any() for cells in wrong.values())
    kinds = {tuple(mask.flatten().tolist()) for mask, _ in masks.values()}
    assert len(kinds) == len(masks) == 6
    cells = {name: mask.nonzero().tolist() for name, mask in wrong.items()}
    assert cells["one too far"] == [[0, 1], [1, 2]]
    assert cells["one too few"] == [[0, 0], [1, 1], [2, 2]]
    assert cells["no causal"] == [[0, 1], [0, 2], [1, 2]]


# Drawings


def test_shifted_words_never_look_ahead():
    arrows = ch06_drawings.shifted_words()._arrows
    assert len(arrows) == 4 + 3 + 2 + 1
    assert all(start[0] <= end[0] for start, end in (a.points for a in arrows))


# Exercises


def test_allowed_cells_are_those_of_the_target_mask():
    mask = target_mask(pad([[9] * 6, [9] * 2]))
    assert find("ex6_allowed").reference == tuple(mask.sum((1, 2, 3)).tolist())


def test_the_masks_for_pytorchs_layer_do_what_ours_does():
    torch.manual_seed(0)
    theirs = nn.MultiheadAttention(8, 2, batch_first=True)
    ours = attention_from_torch(theirs)
    for (ids,) in find("ex6_torch_masks").inputs():
        x = torch.randn(*ids.shape, 8)
        padding, triangle = find("ex6_torch_masks").reference(ids)
        found, _ = theirs(x, x, x, key_padding_mask=padding, attn_mask=triangle)
        assert torch.allclose(found, ours(x, x, x, target_mask(ids)), atol=1e-5)


def test_the_window_is_the_solution_of_the_page():
    for t, w in find("ex6_window").inputs():
        back = torch.arange(t)[:, None] - torch.arange(t)
        expected = (back >= 0) & (back < w)
        assert torch.equal(find("ex6_window").reference(t, w), expected)


def test_late_queries_are_the_packages_offset():
    for t, s in find("ex6_late_queries").inputs():
        mask = find("ex6_late_queries").reference(t, s)
        assert torch.equal(mask, causal_mask(t, offset=s - t))
