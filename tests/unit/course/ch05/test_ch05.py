"""Figures, drawing and exercises of chapter 5."""

import pytest
import torch
from drawn import cells
from matplotlib.colors import to_hex

from attnbook.course.ch05 import drawings as ch05_drawings
from attnbook.course.ch05 import exercises as ch05_exercises
from attnbook.course.ch05 import figures as ch05
from attnbook.course.kit.exercises.checking import find, verdict
from attnbook.nn.multi_head import MultiHeadAttention, split_heads
from attnbook.nn.scaled_dot_product import attention
from attnbook.toy.example import SENTENCE
from attnbook.toy.tasks import TASK_VOCAB_SIZE, random_symbols

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


# Maps of heads


def test_every_symbol_has_a_letter_of_its_own():
    assert len({*ch05.LETTERS}) == len(ch05.LETTERS) == TASK_VOCAB_SIZE
    assert ch05.spell(torch.tensor([0, 1, 16])) == ["·", "a", "p"]


def test_maps_show_the_weights_and_frame_what_is_asked():
    g = torch.Generator().manual_seed(0)
    one, two = torch.rand(1, 6, 6, generator=g), torch.rand(2, 6, 6, generator=g)
    ids = random_symbols(1, 6, g)[0]
    *axes, bar = ch05.task_maps_figure(one, two, ids).axes
    for ax, shown in zip(axes, (*one, *two), strict=True):
        torch.testing.assert_close(cells(ax), 100 * shown)
        *frames, veil = ax.patches
        asked = {(i - back, i) for back in (1, 2) for i in range(2, 6)}
        assert {frame.get_xy() for frame in frames} == asked
        assert (veil.get_y(), veil.get_height()) == (0, 2)  # two rows
        letters = [label.get_text() for label in ax.get_xticklabels()]
        assert letters == ch05.spell(ids)
        assert ax.get_xlabel() == "key"
    assert axes[0].get_ylabel() == "query"
    assert bar.get_xlabel() == "weight, %"


def test_maps_of_the_translator_have_its_tokens():
    weights = torch.rand(4, 3, 3, generator=torch.Generator().manual_seed(0))
    *axes, _ = ch05.translator_heads_figure(weights, ["▁A", "▁dog", "<eos>"]).axes
    for n, (ax, shown) in enumerate(zip(axes, weights, strict=True), 1):
        torch.testing.assert_close(cells(ax), 100 * shown)
        assert ax.get_title("left") == f"head {n}"
    assert [t.get_text() for t in axes[0].get_yticklabels()] == ["A", "dog", "<eos>"]


# Splitting


def test_owners_are_those_of_the_real_split():
    t, d, h = 6, 4, 2
    x = torch.arange(t * d).view(1, t, d)
    heads = split_heads(x, h)[0]
    found = ch05.owners(t, d, h, transposed=True)
    for i in range(t):
        for j in range(d):
            head, position = found[i, j].tolist()
            assert x[0, i, j] in heads[head, position]
            assert (head, position) == (j // 2, i)


def test_wrong_owners_hold_whole_words():
    found = ch05.owners(6, 4, 2, transposed=False)
    assert found[:3, :, 0].eq(0).all()
    assert found[3:, :, 0].eq(1).all()
    assert found[:3, :, 1].tolist() == [[0, 0, 1, 1], [2, 2, 3, 3], [4, 4, 5, 5]]


def test_split_figure_colours_each_feature_by_its_head():
    axes = ch05.split_figure(SENTENCE).axes
    for ax, transposed in zip(axes, (True, False), strict=True):
        wanted = ch05.owners(6, 4, 2, transposed=transposed).flatten(0, 1).tolist()
        colours = ax.collections[0].get_facecolors()
        for colour, text, (head, position) in zip(
            colours, ax.texts, wanted, strict=False
        ):
            assert to_hex(colour).upper() == to_hex(ch05.HEAD_COLOURS(head)).upper()
            assert text.get_text() == str(position + 1)
        assert [text.get_text() for text in ax.texts[-2:]] == ["head 1", "head 2"]
        assert [t.get_text() for t in ax.get_xticklabels()] == ["1", "2", "3", "4"]
    words = [label.get_text() for label in axes[0].get_yticklabels()]
    assert words == [*SENTENCE]


def test_drawing_names_the_shapes():
    svg = ch05_drawings.multi_head()._repr_svg_()
    for text in ("(B, T, D)", "(B, S, D)", "(B, H, T, S)", "softmax"):
        assert text in svg


# Exercises


def test_parameters_in_the_exercise_are_those_of_the_layer():
    count = find("ex5_parameters").reference
    for d, h, bias in ((64, 2, True), (64, 8, False)):
        layer = MultiHeadAttention(d, h, bias=bias)
        assert count(d, h, bias) == sum(p.numel() for p in layer.parameters())


def test_the_bug_of_the_page_is_known():
    exercise = find("ex5_find_the_bug")
    hint = verdict(exercise, "ex5_find_the_bug", ch05_exercises._heads_attend)
    assert "(B, T, H, H)" in hint


def test_heads_of_a_group_share_keys_and_values():
    exercise = find("ex5_grouped")
    for q, k, v in exercise.inputs():
        share = q.shape[1] // k.shape[1]
        found = exercise.reference(q, k, v)
        for head in range(q.shape[1]):
            of_group = k[:, head // share], v[:, head // share]
            torch.testing.assert_close(found[:, head], attention(q[:, head], *of_group))
