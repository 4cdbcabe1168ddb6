"""What chapter 5 and its laboratory measure, and maps of models that are trained there.

What else they show nbval compares.
"""

from statistics import fmean

import pytest
import torch
from drawn import cells

from attnbook.core import results
from attnbook.course.ch05 import exercises, figures, lab
from attnbook.course.kit.exercises.checking import find, verdict
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.scaled_dot_product import attention
from attnbook.toy.tasks import TASK_VOCAB_SIZE, random_symbols

pytestmark = pytest.mark.usefixtures("as_in_the_pages")
G = torch.Generator().manual_seed(0)


def test_every_symbol_has_a_letter_of_its_own():
    assert len({*figures.LETTERS}) == len(figures.LETTERS) == TASK_VOCAB_SIZE
    assert figures.spell(torch.tensor([0, 1, 16])) == ["·", "a", "p"]


def test_maps_show_the_weights_and_frame_what_is_asked():
    four = torch.rand(4, 6, 6, generator=G)
    ids = random_symbols(1, 6, G)[0]
    *axes, bar = lab.four_heads_figure(four, ids).axes
    tokens = ["▁A", "▁dog", "<eos>", "▁a", "▁b", "▁c"]
    *others, _ = figures.translator_heads_figure(four, tokens).axes
    shown = zip((*axes, *others), (*four, *four), strict=True)
    for ax, weights in shown:
        torch.testing.assert_close(cells(ax), 100 * weights)
    for ax in axes:
        *frames, veil = ax.patches
        asked = {(i - back, i) for back in (1, 2) for i in range(2, 6)}
        assert {frame.get_xy() for frame in frames} == asked
        assert (veil.get_y(), veil.get_height()) == (0, 2)  # two rows
    letters = [label.get_text() for label in axes[2].get_xticklabels()]
    assert letters == figures.spell(ids)
    assert [t.get_text() for t in others[0].get_yticklabels()][:2] == ["A", "dog"]
    labels = axes[2].get_xlabel(), axes[2].get_ylabel(), bar.get_xlabel()
    assert labels == ("key", "query", "weight, %")
    titles = [ax.get_title("left") for ax in (*axes, *others)]
    heads = [f"head {n}" for n in (1, 2, 3, 4)]
    assert titles == [*heads, *heads]


def test_weights_by_distance_are_means_from_the_third_position_on():
    weights = torch.zeros(2, 2, 5, 5)
    for i in range(2, 5):
        weights[:, 0, i, i - 1] = 0.75
        weights[:, 0, i, i - 2] = 0.25
        weights[0, 1, i, i - 2] = 1.0  # in one sequence of two
    weights[:, :, 1, 0] = 1.0  # doesn't count
    groups = lab.offsets_table({"a model": weights}).groups
    assert groups == {"a model": [("head 1", 75, 25), ("head 2", 0, 50)]}


def test_stored_runs_say_what_the_page_says():
    for run in results.load("heads")["runs"]:
        worse, better = sorted((run["last"], run["before"]))
        assert better > 0.99
        assert (worse < 0.1) == (run["heads"] == 1)
    for run in results.load("wrong_split")["runs"]:
        right = fmean(run["right"])
        assert (right > 0.99) if run["split"] == "right" else (right < 0.1)


# Exercises


def test_parameters_in_the_exercise_are_those_of_the_layer():
    count = find("ex5_parameters").reference
    for d, h, bias in ((64, 2, True), (64, 8, False)):
        layer = MultiHeadAttention(d, h, bias=bias)
        assert count(d, h, bias) == sum(p.numel() for p in layer.parameters())


def test_the_bug_of_the_page_is_known():
    exercise = find("ex5_find_the_bug")
    hint = verdict(exercise, "ex5_find_the_bug", exercises._heads_attend)
    assert "(B, T, H, H)" in hint


def test_heads_of_a_group_share_keys_and_values():
    exercise = find("ex5_grouped")
    for q, k, v in exercise.inputs():
        share = q.shape[1] // k.shape[1]
        found = exercise.reference(q, k, v)
        for head in range(q.shape[1]):
            of_group = k[:, head // share], v[:, head // share]
            torch.testing.assert_close(found[:, head], attention(q[:, head], *of_group))
