"""Figures of chapter 4."""

import pytest
import torch
from matplotlib.colors import to_hex

from attnbook.course.ch04 import figures as ch04
from attnbook.course.kit.colours import TEXT_COLOURS
from attnbook.nn.scaled_dot_product import attention
from attnbook.toy.example import SENTENCE, STATES

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def written(ax, colour=None):
    """The numbers in a drawing, in the order of writing, maybe of one colour."""
    numbers = []
    for text in ax.texts:
        if colour is None or to_hex(text.get_color()) == colour.lower():
            word = text.get_text().replace("−", "-")
            if word.lstrip("-").replace(".", "").isdigit():
                numbers.append(float(word))
    return numbers


# Dot products


def test_each_key_of_the_figure_has_its_score_and_its_part_along_the_query():
    ax = ch04.dot_product_figure().axes[0]
    labels = [text.get_text() for text in ax.texts if text.get_text()]
    scores = [2 * x for x, _ in ch04.PLANE_KEYS]
    assert ch04.PLANE_QUERY == (2, 0)
    assert labels[-1] == "$q$"
    for j, (label, score) in enumerate(zip(labels[:-1], scores, strict=True), start=1):
        assert label.replace("−", "-") == f"$k_{j}$: score {score:g}"
    feet = [
        line.get_xydata().tolist()
        for line in ax.get_lines()
        if line.get_marker() == "o"
    ]
    assert feet == [[[x, 0]] for x, _ in ch04.PLANE_KEYS]
    tips = [a.xy for a in ax.texts if hasattr(a, "arrow_patch") and a.arrow_patch]
    assert tips == [*ch04.PLANE_KEYS, ch04.PLANE_QUERY]


# Matrices


def test_products_figure_writes_all_six_matrices():
    q = torch.tensor([[2.0, 0, 0, 1], [2.0, 0, 0, -1], [0, 0, 2.0, 0]])
    k, v = STATES, STATES[:, :3]
    ax = ch04.products_figure(q, k, v, SENTENCE).axes[0]
    out, weights = attention(q, k, v, need_weights=True)
    wanted = torch.cat([x.flatten() for x in (k.T, q, q @ k.T, weights, v, out)])
    assert written(ax) == pytest.approx(wanted.tolist(), abs=0.0051)
    assert len(ax.patches) == len(wanted)
    assert written(ax, TEXT_COLOURS["query"]) == q.flatten().tolist()
    texts = [text.get_text() for text in ax.texts]
    assert "output  (3, 3)" in texts
    assert texts.count("$q_1$") == texts.count("$q_3$") == 2
    assert all(texts.count(word) == 2 for word in SENTENCE)
    assert any(text.startswith("divide by √4") for text in texts)


def test_a_product_stands_where_row_and_column_cross():
    """Each cell of QKᵀ has the row of its query and the column of its key."""
    q, k = torch.tensor([[1.5, 2.0]]), torch.tensor([[3.0, 0.0], [0.0, 4.0]])
    ax = ch04.products_figure(q, k, k, ("one", "two")).axes[0]
    at = {patch.get_xy() for patch in ax.patches}
    place = {t.get_text(): t.get_position() for t in ax.texts}
    (left, top), (right, _) = place["4.5"], place["8.0"]
    assert place["1.5"][1] == top == place["2.0"][1]
    assert place["3.0"][0] == left
    assert right == left + 1
    assert len(at) == 4 + 2 + 2 + 2 + 4 + 2  # no cell covers another


def test_map_figure_writes_weights_beside_the_words():
    g = torch.Generator().manual_seed(0)
    weights = torch.rand(6, 6, generator=g).softmax(-1)
    ax = ch04.map_figure(weights, SENTENCE).axes[0]
    assert written(ax) == pytest.approx(weights.flatten().tolist(), abs=0.0051)
    for labels, role in (
        (ax.get_yticklabels(), "query"),
        (ax.get_xticklabels(), "key"),
    ):
        assert [label.get_text() for label in labels] == [*SENTENCE]
        assert {label.get_color() for label in labels} == {TEXT_COLOURS[role]}
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("query", "key")
    assert ax.figure.axes[1].get_xlabel() == "attention weight"


def test_a_cell_of_weight_is_darker_the_more_it_holds_and_stays_legible():
    grounds = []
    for weight in torch.linspace(0, 1, 21).tolist():
        ground, ink = ch04._cell_colours(weight, "weights")
        ink_light, ground_light = (1.05 / ch04.contrast(c) for c in (ink, ground))
        low, high = sorted((ink_light, ground_light))
        assert high / low >= 4.5
        grounds.append(ground_light)
    assert grounds == sorted(grounds, reverse=True)


# Scales


@pytest.mark.parametrize("d_k", [4, 64])
def test_random_scores_spread_like_the_root_of_the_width(d_k):
    scores = ch04.random_scores(d_k)
    assert scores.shape == (500, 32)
    assert scores.std().item() == pytest.approx(d_k**0.5, rel=0.05)
    assert torch.equal(scores, ch04.random_scores(d_k))


def test_scale_figure_draws_the_largest_weight_of_each_scale():
    (axes,) = ch04.scale_figure((4, 64)).axes
    drawn = {line.get_label(): [*line.get_ydata()] for line in axes.get_lines()}
    assert [*drawn] == [*ch04.SCALES]
    for name, factor in {"no scale": 1, "1/√d": 1 / 8, "1/d": 1 / 64}.items():
        largest = (ch04.random_scores(64) * factor).softmax(-1).amax(-1).mean()
        assert drawn[name][-1] == pytest.approx(largest.item(), rel=1e-5)
