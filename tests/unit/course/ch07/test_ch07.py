"""Figures, tables, drawing and exercises of chapter 7."""

import cmath
import json
import math

import pytest
import torch
from matplotlib.text import Annotation
from torch import nn

from attnbook.core import results
from attnbook.course.ch07 import drawings as ch07_drawings
from attnbook.course.ch07 import figures as ch07
from attnbook.course.ch07 import lab as lab07
from attnbook.course.kit.colours import contrast
from attnbook.course.kit.exercises.checking import find
from attnbook.course.kit.tables import stored_runs
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.rotary import rotate
from attnbook.toy.single_attention import POSITION_KINDS
from attnbook.toy.tasks import random_symbols

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def code(p, d):
    """Section 3.5, with Python's own numbers."""
    waves = math.sin, math.cos
    return [waves[c % 2](p / 10000 ** ((c - c % 2) / d)) for c in range(d)]


def tips(ax, width):
    """Where the hands of one width on a clock end."""
    hands = [line for line in ax.get_lines() if line.get_linewidth() == width]
    return [(line.get_xdata()[1], line.get_ydata()[1]) for line in hands]


# Clocks


def test_hands_and_cells_show_the_encoding():
    positions = (0, 1, 9)
    figures, captions, alts = ch07.clock_frames(positions)
    for p, figure, caption, alt in zip(positions, figures, captions, alts, strict=True):
        right = code(p, ch07.CLOCK_WIDTH)[: 2 * ch07.CLOCKS]
        dials, cells = figure.axes[: ch07.CLOCKS], figure.axes[ch07.CLOCKS :]
        drawn = [x for ax in dials for x in tips(ax, 3)[0]]
        assert drawn == pytest.approx(right)
        shown = [x for ax in cells for x in ax.images[0].get_array().flatten()]
        assert shown == pytest.approx(right)
        for number in right:
            assert f"{number:.2f}" in alt
        assert caption.startswith(f"Position {p}: ")
        assert f"{p / (2 * math.pi):.2f} turns" in caption
        assert len(tips(dials[0], 1.5)) - 1 == min(p, 3)  # one is twelve o'clock


@pytest.mark.parametrize("p", [0, 1, 5, 11])
def test_features_can_be_read_on_their_cells(p):
    figure = ch07.clock_frames((p,))[0][0]
    for ax in figure.axes[ch07.CLOCKS :]:
        for value, text in zip(
            ax.images[0].get_array().flatten(), ax.texts[::2], strict=True
        ):
            assert text.get_text() == f"{value:.2f}".replace("-", "−")
            with_white = contrast(ch07.SIGNED((value + 1) / 2))
            with_text = with_white if text.get_color() == "white" else 21 / with_white
            assert with_text > 4.5


def test_a_row_turns_by_one_angle():
    figure = ch07.rotation_figure(k=3, starts=(0, 5), hands=(0, 2))
    rows = figure.axes[:2], figure.axes[2:]
    for row, i in zip(rows, (0, 2), strict=True):
        angle = 3 * 10_000 ** (-2 * i / ch07.CLOCK_WIDTH)
        for ax in row:
            (pale,), (dark,) = tips(ax, 2), tips(ax, 3)
            turned = math.atan2(*dark) - math.atan2(*pale)
            assert turned % (2 * math.pi) == pytest.approx(angle)
        assert f"{math.degrees(angle):.0f}°" in [t.get_text() for t in row[-1].texts]
    assert figure.axes[1].get_title() == "5 → 8"
    legend = [text.get_text() for text in figure.legends[0].get_texts()]
    assert legend == ["position p", "position p + 3"]


# Encodings and rotations


def test_map_draws_the_encodings():
    ax, bar = ch07.map_figure(n=10, d=8).axes
    rows = torch.tensor([code(p, 8) for p in range(10)])
    drawn = torch.tensor(ax.images[0].get_array().data)
    torch.testing.assert_close(drawn.float(), rows.T)
    assert ax.get_ylabel() == "dimension"
    assert bar.get_ylabel() == "value"


def test_products_are_those_of_the_distance():
    ax = lab07.distance_figure(d=8, starts=(10, 200, 300), farthest=5).axes[0]
    assert [line.get_label() for line in ax.get_lines()] == [
        "p = 10",
        "p = 200",
        "p = 300",
    ]
    for line in ax.get_lines():
        for k, product in zip(*line.get_data(), strict=True):
            right = sum(math.cos(k * 10_000 ** (-2 * i / 8)) for i in range(4))
            assert product == pytest.approx(right, abs=1e-8)


def test_rotary_panels_turn_query_and_key_by_their_positions():
    query, key = complex(2, 1), complex(1, 3)
    figure = ch07.rotary_figure((2, 1), (1, 3))
    for ax, (m, n) in zip(figure.axes, ch07.TURNED, strict=True):
        arrows = [text for text in ax.texts if isinstance(text, Annotation)]
        q, k = (complex(*arrow.xy) for arrow in arrows)
        assert q == pytest.approx(query * cmath.exp(1j * m))
        assert k == pytest.approx(key * cmath.exp(1j * n))
        score = (query * key.conjugate() * cmath.exp(1j * (m - n))).real
        assert f"score {score:.2f}" in [text.get_text() for text in ax.texts]


# Stored results


def run(kind, seed, inside, beyond, steps=1500):
    """Made up: accuracy at trained positions, and at the others."""
    long = [[None, None], [inside, None], *[[inside, inside]] * 10]
    return {
        "positions": kind,
        "steps": steps,
        "seed": seed,
        "right_at_12": [[None, None], *[[0.5, 0.7]] * 11],
        "right_at_24": long + [[beyond, beyond]] * 12,
    }


@pytest.fixture
def _stored(tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    runs = [run(kind, 0, 0.9, 0.3) for kind in POSITION_KINDS]
    runs += [run(kind, 1, 0.8, 0.1) for kind in POSITION_KINDS]
    runs += [run(kind, 0, 0.0, 0.0, steps=400) for kind in POSITION_KINDS]
    text = json.dumps({"length": 12, "runs": runs})
    (tmp_path / "positions.json").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("_stored")
def test_accuracy_is_over_the_positions_that_are_asked_for():
    over = ch07.accuracy_over
    assert over("rotary", 1500, 12) == pytest.approx((60, 60, 60))
    assert over("rotary", 1500, 24, slice(12)) == pytest.approx((85, 80, 90))
    assert over("rotary", 1500, 24, slice(12, None)) == pytest.approx((20, 10, 30))


@pytest.mark.usefixtures("_stored")
def test_panels_draw_mean_and_trained_range():
    figure = ch07.schemes_figure(1500)
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == list(ch07.SCHEMES.values())
    for ax in figure.axes:
        (mean,) = (line for line in ax.get_lines() if len(line.get_ydata()) == 23)
        assert list(mean.get_ydata()) == pytest.approx([85] * 11 + [20] * 12)
        (trained,) = ax.patches
        assert trained.get_x() + trained.get_width() == 11.5


def test_the_most_frequent_other_symbol_is_counted_by_hand():
    """The same sequences, one by one."""
    ids = random_symbols(2000, 12, torch.Generator().manual_seed(99)).tolist()
    correct = total = 0
    for row in ids:
        for t in range(1, 12):
            others = row[:t] + row[t + 1 :]
            counts = [others.count(symbol) for symbol in range(17)]
            guess = counts.index(max(counts))
            targets = row[max(t - 2, 0) : t]
            correct += targets.count(guess)
            total += len(targets)
    assert ch07.most_frequent_accuracy(12) == pytest.approx(100 * correct / total)


def test_order_table_begins_with_the_stored_runs():
    without, learned, frequent, guess = ch07.order_table().rows()
    assert without[1].mean == pytest.approx(frequent[1], abs=1)
    assert learned[1].low > 99
    assert guess[1] == 100 / 16


def test_stored_runs_are_complete():
    """What the page and its captions tell of: five seeds, and both numbers of steps."""
    for steps in (400, 1500):
        for kind in POSITION_KINDS:
            assert len(stored_runs("positions", steps=steps, positions=kind)) == 5
    for kind in POSITION_KINDS:
        beyond = ch07.accuracy_over(kind, 1500, 24, slice(12, None))
        assert (beyond.low > 90) == (kind in ("relative", "rotary"))
        assert (beyond.high < 40) == (kind not in ("relative", "rotary"))


# Laboratory page 7


def test_schemes_table_has_both_training_times_and_all_kinds():
    groups = lab07.schemes_table().groups
    few, more, frequent = groups.values()
    assert list(groups)[:2] == ["400 training steps", "1,500 training steps"]
    assert [row[0] for row in few] == [*lab07.KINDS.values()]
    for row, kind in zip(more, lab07.KINDS, strict=True):
        assert row[3] == ch07.accuracy_over(kind, 1500, 24, slice(12, None))
    assert frequent[0][1:] == tuple(map(ch07.most_frequent_accuracy, (12, 24, 24)))


def test_farther_table_shows_the_stored_runs():
    stored = results.load("positions_farther")
    made = lab07.farther_table()
    names = [f"{n} symbols" for n in stored["lengths"]]
    assert [head.name for head in made.columns][1:] == names
    for kind, row in zip(("rotary", "relative"), made.rows(), strict=True):
        last = [100 * r["right"][-1] for r in stored["runs"] if r["positions"] == kind]
        assert row[-1] == pytest.approx((sum(last) / 5, min(last), max(last)))


# The drawing


def test_drawing_names_the_ways_and_fits_a_phone():
    drawing = ch07_drawings.ways_in()
    assert drawing.width <= 510
    svg = drawing._repr_svg_()
    for name in ("sinusoidal, learned", "rotary", "relative bias", "softmax"):
        assert f">{name}</text>" in svg
    assert svg.count("stroke-dasharray") == 2 * 3  # each once more in white, below


# Exercises


def test_who_notices_is_what_comes_out():
    torch.manual_seed(0)
    order = torch.tensor([4, 2, 0, 1, 3])
    x = torch.randn(1, 5, 4)
    attend, linear = MultiHeadAttention(4, 2), nn.Linear(4, 4)
    gru = nn.GRU(4, 4, batch_first=True)
    narrow, wide = nn.Conv1d(4, 4, 1), nn.Conv1d(4, 4, 3, padding=1)
    layers = {
        "a": lambda x: x + x.mean(1, keepdim=True),
        "b": lambda x: gru(x)[0],
        "c": linear,
        "d": lambda x: attend(x, x, x, causal_mask(5)),
        "e": lambda x: narrow(x.mT).mT,
        "f": lambda x: wide(x.mT).mT,
    }
    noticed = [
        name
        for name, layer in layers.items()
        if not torch.allclose(layer(x[:, order]), layer(x)[:, order], atol=1e-5)
    ]
    assert "".join(noticed) == find("ex7_who_notices").reference


def test_half_split_rotates_pairs_of_halves():
    """Two halves are the interleaved pairs in another order; a mix is not."""
    half_split = find("ex7_half_split").reference
    x = torch.randn(2, 6, 8, dtype=torch.float64)
    pairs = [0, 4, 1, 5, 2, 6, 3, 7]
    torch.testing.assert_close(half_split(x)[..., pairs], rotate(x[..., pairs]))
    for p, omega in ((3, 1.0), (5, 10_000 ** (-2 / 8))):
        i = 0 if omega == 1 else 1
        a, b = x[0, p, i].item(), x[0, p, i + 4].item()
        right = complex(a, b) * cmath.exp(1j * p * omega)
        rotated = half_split(x)[0, p, [i, i + 4]].tolist()
        assert rotated == pytest.approx([right.real, right.imag])


def test_the_bug_is_not_seen_in_the_shape():
    exercise = find("ex7_first_axis")
    (wrong, _), *_ = exercise.mistakes
    square = torch.zeros(3, 3, 4)
    assert wrong(square).shape == exercise.reference(square).shape
    assert torch.equal(wrong(square)[:, 0], wrong(square)[:, 2])  # no order in it
    assert torch.equal(exercise.reference(square)[0, 2], torch.tensor(code(2, 4)))
