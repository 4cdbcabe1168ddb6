"""Chapter 5's exercises and the page's own layer. What it shows nbval compares."""

import torch
from notebook_cells import printed

from attnbook.course.kit.exercises.short_exercises import find, verdict_on_answer
from attnbook.nn.scaled_dot_product import attention


def test_the_bug_of_the_page_is_known():
    bug = printed("ch05", "suspicious")
    assert "(B, T, H, H)" in verdict_on_answer(
        find("ex5_find_the_bug"), "ex5_find_the_bug", bug
    )


def test_heads_of_a_group_share_keys_and_values():
    exercise = find("ex5_grouped")
    for q, k, v in exercise.inputs():
        share = q.shape[1] // k.shape[1]
        found = exercise.reference(q, k, v)
        for head in range(q.shape[1]):
            of_group = k[:, head // share], v[:, head // share]
            torch.testing.assert_close(found[:, head], attention(q[:, head], *of_group))


def test_the_layer_of_the_page_in_half_precision():
    layer = printed("ch05", "MultiHead")(64, 1).half()
    for linear in (layer.W_Q, layer.W_K, layer.W_V, layer.W_O):
        torch.nn.init.eye_(linear.weight)
        torch.nn.init.zeros_(linear.bias)
    x = torch.full((1, 1, 64), 40.0).half()
    assert torch.equal(layer(x, x, x), x)
