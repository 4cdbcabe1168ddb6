"""Chapter 9: untrained models, and exercises. nbval compares what the page shows."""

import pytest
import torch
from compare import make_transformer

from attnbook.analysis.maps import attention_maps
from attnbook.course.ch09 import explorer_transformer_pass as passing
from attnbook.course.kit.exercises.short_exercises import find
from attnbook.nn.masks import key_mask

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def test_the_walk_begins_with_a_word_and_ends_with_the_output():
    (source, _), pair = passing.tokens(), passing.pair()
    embedding = next(passing.walk(0))[1]
    for row, word in enumerate(source[:-1]):
        assert passing.nearest_words(embedding, row, 1)[0][0] == word
    *_, (_, last, _), (_, norm, _), (_, output, _) = passing.walk(1)
    for row, word in enumerate(pair.target):
        [found] = passing.next_words(output, row, 1)
        assert found[0] == word
        for stage in (norm, last):
            [(name, p)] = passing.next_words(stage, row, 1)
            assert (name, p) == (word, pytest.approx(found[1]))


# Exercises


@torch.no_grad()
def test_what_moves_is_what_comes_out():
    torch.manual_seed(0)
    model = make_transformer(10, d_model=16, n_heads=2, n_layers=2, d_ff=32).eval()
    src, tgt = torch.randint(3, 10, (1, 5)), torch.randint(3, 10, (1, 4))
    order = torch.tensor([3, 0, 4, 1, 2])
    right, memory, mask = model(src, tgt), model.encode(src), key_mask(src)
    other = tgt.clone()
    other[0, -1] = 3 + (other[0, -1] - 2) % 7
    changed = model(src, other) - right
    pads = torch.nn.functional.pad(src, (0, 3))
    moved = {
        "a": model.decode(tgt, memory[:, order], mask[..., order]) - right,
        "b": model(src[:, order], tgt) - right,
        "c": model(pads, tgt) - right,
        "d": changed[:, 0],
        "e": changed[:, -1],
    }
    attention = model.decoder[0].self_attention
    for linear in (attention.W_Q, attention.W_K, attention.W_V):
        linear.weight.copy_(linear.weight.roll(8, dims=0))
        linear.bias.copy_(linear.bias.roll(8))
    attention.W_O.weight.copy_(attention.W_O.weight.roll(8, dims=1))
    moved["f"] = model(src, tgt) - right
    found = [name for name, change in moved.items() if change.abs().max() > 1e-4]
    assert "".join(found) == find("ex9_what_moves").reference


def test_parameters_are_those_of_the_model():
    count = find("ex9_parameters").reference
    for s, t, d, n, d_ff in ((10, 11, 4, 1, 8), (12, 9, 8, 3, 20)):
        sizes = {"d_model": d, "n_heads": 2, "n_layers": n, "d_ff": d_ff}
        model = make_transformer(s, t, **sizes, norm_first=True)
        model.out = torch.nn.Linear(d, t)
        model.decoder = model.decoder[:1]
        found = sum(p.numel() for p in model.parameters())
        assert count(s, t, d, n, 1, d_ff) == found


def test_scores_are_those_that_the_model_computes():
    count = find("ex9_scores").reference
    model = make_transformer(10, 10, d_model=8, n_heads=2, n_layers=3, d_ff=8).eval()
    src, tgt = torch.full((1, 5), 4), torch.full((1, 4), 4)
    maps = attention_maps(model, src, tgt)  # (B, H, T, S) each
    assert count(3, 2, 5, 4) == sum(w.numel() for w in maps.values())
