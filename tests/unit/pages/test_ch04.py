"""Figures, tables and drawings of chapter 4."""

import pytest
import torch
from matplotlib.colors import to_hex

from attnbook.experiments import fused_cost, look_up
from attnbook.nn.scaled_dot_product import attention
from attnbook.pages.colours import TEXT_COLOURS
from attnbook.pages.figures import ch04
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
    assert "output  (3, 3)" in [text.get_text() for text in ax.texts]


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


@pytest.mark.parametrize(("d_k", "scale"), [(4, 1.0), (8, 0.25)])
def test_query_gradients_are_those_of_autograd(d_k, scale):
    found = ch04.query_gradients(d_k, scale, n_keys=3, draws=5)
    for size, q, k in zip(found, *ch04.random_pairs(d_k, 3, 5), strict=True):
        jacobian = torch.autograd.functional.jacobian(
            lambda x, k=k: (scale * k @ x).softmax(0), q[0]
        )  # (3, d_k)
        assert size.item() == pytest.approx(jacobian.norm().item(), rel=1e-4)


def test_scale_figure_draws_what_it_says():
    *bars, largest, size = ch04.scale_figure((4, 64)).axes
    heights = [[bar.get_height() for bar in ax.patches] for ax in bars]
    assert [sum(h) for h in heights] == pytest.approx([1, 1, 1])
    assert max(heights[0]) > max(heights[1]) > max(heights[2])
    for axes, measure in (
        (largest, lambda c: (ch04.random_scores(64) * c).softmax(-1).amax(-1).mean()),
        (size, lambda c: ch04.query_gradients(64, c).median()),
    ):
        drawn = {line.get_label(): [*line.get_ydata()] for line in axes.get_lines()}
        assert [*drawn] == [*ch04.SCALES]
        for name, factor in {"no scale": 1, "1/√d": 1 / 8, "1/d": 1 / 64}.items():
            assert drawn[name][-1] == pytest.approx(measure(factor).item(), rel=1e-5)
    low, high = size.get_ylim()
    assert all(low < y < high for line in size.get_lines() for y in line.get_ydata())


def test_the_additive_score_does_not_spread_with_the_width():
    torch.manual_seed(1)
    narrow, wide = (ch04.additive_start(d, draws=3) for d in (4, 256))
    after = torch.rand(1)
    torch.manual_seed(1)
    assert torch.rand(1) == after
    assert torch.equal(narrow, ch04.additive_start(4, draws=3))
    assert narrow.shape == (150, 64)
    assert 0.2 < narrow.std() < 0.5
    assert 0.2 < wide.std() < 0.5


def test_with_a_large_v_it_spreads_like_the_dot_product():
    narrow, wide = (ch04.additive_start(d, v_std=1.0, draws=3) for d in (4, 256))
    assert 0.7 < narrow.std() < 1.6
    assert 6 < wide.std() < 12


# Stored results


@pytest.fixture
def _stored_look_up(stored):
    runs = [
        {"d_k": d, "score": score, "seed": seed, "right": [d / 1000, (seed + k) / 10]}
        for d in (16, 256)
        for k, score in enumerate(ch04.LOOK_UP_COLOURS)
        for seed in (0, 2)
    ]
    stored("look_up", steps=[50, 100], runs=runs)


def test_every_score_of_the_experiment_has_a_colour():
    assert [*ch04.LOOK_UP_COLOURS] == [*look_up.SCALES, *look_up.ADDITIVE]


@pytest.mark.usefixtures("_stored_look_up")
def test_look_up_table_prints_mean_and_range(capsys):
    ch04.print_look_up(100, scores=("8/√d",))
    ch04.print_look_up(50, scores=("8/√d",))
    head, row, _, early = capsys.readouterr().out.splitlines()
    assert head.split("%")[1].split() == ["d_k", "=", "16", "d_k", "=", "256"]
    assert row.split() == ["8/√d", *["20", "(10–30)"] * 2]
    assert early.split() == ["8/√d", "2", "(2–2)", "26", "(26–26)"]


@pytest.mark.usefixtures("_stored_look_up")
def test_look_up_figure_draws_the_stored_shares():
    narrow, wide = ch04.look_up_figure(("1", "1/d"), (16, 256)).axes
    drawn = {line.get_label(): [*line.get_ydata()] for line in wide.get_lines()}
    assert drawn == {
        "1": pytest.approx([25.6, 10]),
        "1/d": pytest.approx([25.6, 60]),
    }
    assert "16" in narrow.get_title("left")
    edges = wide.collections[0].get_paths()[0].vertices
    last = {round(y) for x, y in edges if x == 100}
    assert last == {0, 20}  # the lowest and the highest seed


@pytest.fixture
def _stored_cost(stored):
    runs = [
        {"n": n, "form": form, "bytes": n * n * (2 - k), "seconds": n / 10**6 / (1 + k)}
        for n in (1000, 2000)
        for k, form in enumerate(fused_cost.FORMS)
    ]
    stored("fused_cost", heads=8, d_k=64, machine="an abacus", runs=runs)


@pytest.mark.usefixtures("_stored_cost")
def test_fused_costs_are_printed_as_stored(capsys):
    ch04.print_fused_costs()
    first, *_, last = capsys.readouterr().out.splitlines()
    assert first == "8 heads, d_k = 64; an abacus"
    assert [float(cell) for cell in last.split()] == [2000, 8, 4, 2, 1]


@pytest.mark.usefixtures("_stored_cost")
def test_fused_figure_draws_both_forms():
    memory, times = ch04.fused_figure().axes
    drawn = {line.get_label(): [*line.get_ydata()] for line in memory.get_lines()}
    assert drawn == {"readable": [2, 8], "fused": [1, 4]}
    drawn = {line.get_label(): [*line.get_ydata()] for line in times.get_lines()}
    assert drawn["fused"] == pytest.approx([0.5, 1])


# Drawings
