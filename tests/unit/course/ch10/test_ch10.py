"""Figures, tables and exercises of chapter 10."""

import pytest
import torch
from compare import make_transformer

from attnbook.course.kit.exercises.checking import find
from attnbook.decoding.greedy_search import greedy

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# Exercises


@torch.no_grad()
def test_cached_is_what_the_state_holds():
    model = make_transformer(10, d_model=8, n_heads=2, n_layers=3, d_ff=8).eval()
    state = model.start(torch.full((1, 5), 4))
    for _ in range(4):
        _, state = model.step(torch.tensor([4]), state)
    held = sum(x.numel() for layer in state.layers for kv in layer for x in kv)
    assert held == find("ex10_cached").reference(3, 8, 5, 4)


def test_the_fixed_loop_generates_what_greedy_generates():
    exercise = find("ex10_last_position")
    for model, src, length in exercise.inputs():
        output = greedy(model, src, length)
        found = exercise.reference(model, src, length)
        ended = (output == 2).cumsum(1) - (output == 2).long()  # after EOS it goes on
        assert torch.equal(found[:, : output.shape[1]][ended == 0], output[ended == 0])
        assert len({tuple(row.tolist()) for row in found}) == len(src)


def test_each_sentence_keeps_the_best_of_its_own_table():
    exercise = find("ex10_beam_step")
    for log_p, steps in exercise.inputs():
        parents, tokens = exercise.reference(log_p, steps)
        for b, (parent, token) in enumerate(zip(parents, tokens, strict=True)):
            every = sorted(
                (log_p[b, i].item() + steps[b, i, j].item() for i, j in _cells(steps)),
                reverse=True,
            )
            found = (log_p[b, parent] + steps[b, parent, token]).tolist()
            assert found == pytest.approx(every[: len(parent)])


def _cells(steps):
    """Every hypothesis with every token."""
    _, w, v = steps.shape
    return [(i, j) for i in range(w) for j in range(v)]
