"""Figures, tables, drawing and exercises of chapter 7."""

import json
import math

import pytest
import torch
from torch import nn

from attnbook.core import results
from attnbook.nn.masks import causal_mask
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.relative import relative_distances
from attnbook.pages.drawings import ch07 as ch07_drawings
from attnbook.pages.exercises.checking import find
from attnbook.pages.figures import ch07
from attnbook.toy.single_attention import POSITION_KINDS

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


def test_hands_and_cells_show_the_code():
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


def test_numbers_can_be_read_on_their_cells():
    figure = ch07.clock_frames((5,))[0][0]
    for ax in figure.axes[ch07.CLOCKS :]:
        for value, text in zip(
            ax.images[0].get_array().flatten(), ax.texts[::2], strict=True
        ):
            assert text.get_text() == f"{value:.2f}".replace("-", "−")
            red, green, blue, _ = ch07.RISING((value + 1) / 2)
            dark = 0.3 * red + 0.6 * green + 0.1 * blue < 0.5
            assert text.get_color() == ("white" if dark else "black")


def test_a_row_turns_by_one_angle():
    figure = ch07.rotation_figure(k=3, starts=(0, 5), pairs=(0, 2))
    rows = figure.axes[:2], figure.axes[2:]
    for row, i in zip(rows, (0, 2), strict=True):
        angle = 3 * 10_000 ** (-2 * i / ch07.CLOCK_WIDTH)
        for ax in row:
            (pale,), (dark,) = tips(ax, 2), tips(ax, 3)
            turned = math.atan2(*dark) - math.atan2(*pale)
            assert turned % (2 * math.pi) == pytest.approx(angle)
        assert row[-1].texts[-1].get_text() == f"{math.degrees(angle):.0f}°"
    assert figure.axes[1].get_title() == "5 → 8"


# The table


def test_table_figure_draws_the_codes():
    top, bottom = ch07.table_figure(n=10, d=8, pairs=(0, 2)).axes
    rows = torch.tensor([code(p, 8) for p in range(10)])
    drawn = torch.tensor(top.images[0].get_array().data)
    torch.testing.assert_close(drawn.float(), rows.T)
    curves = {line.get_label(): line.get_ydata() for line in bottom.get_lines()}
    assert list(curves) == ["0", "4"]
    for name, heights in curves.items():
        assert list(heights) == pytest.approx(rows[:, int(name)].tolist(), abs=1e-6)


def test_products_are_those_of_the_offset():
    ax = ch07.offset_figure(d=8, starts=(10, 200, 300), farthest=5).axes[0]
    assert [line.get_label() for line in ax.get_lines()] == [
        "p = 10",
        "p = 200",
        "p = 300",
    ]
    for line in ax.get_lines():
        for k, product in zip(*line.get_data(), strict=True):
            right = sum(math.cos(k * 10_000 ** (-2 * i / 8)) for i in range(4))
            assert product == pytest.approx(right, abs=1e-8)


# Stored results


def run(kind, seed, inside, beyond, steps=1500):
    """Made up: shares at trained places, and at the others."""
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
    runs += [run("none", 0, 0.0, 0.0, steps=400)]
    text = json.dumps({"length": 12, "runs": runs})
    (tmp_path / "positions.json").write_text(text, encoding="utf-8")


@pytest.mark.usefixtures("_stored")
def test_table_prints_means_and_ranges(capsys):
    ch07.print_positions(1500)
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.startswith("1500 steps")
    assert [row.split()[0] for row in rows] == list(POSITION_KINDS)
    for row in rows:
        assert row.split()[1:] == ["60", "(60–60)", "85", "(80–90)", "20", "(10–30)"]
        assert len(row) <= 79


@pytest.mark.usefixtures("_stored")
def test_panels_draw_each_seed():
    figure = ch07.positions_figure(1500)
    titles = [ax.get_title("left") for ax in figure.axes]
    assert titles == list(POSITION_KINDS)
    for ax in figure.axes:
        first, second = (line for line in ax.get_lines() if len(line.get_ydata()) == 24)
        assert list(first.get_ydata())[1:] == pytest.approx([90] * 11 + [30] * 12)
        assert list(second.get_ydata())[1:] == pytest.approx([80] * 11 + [10] * 12)
        (band,) = ax.patches
        assert band.get_x() + band.get_width() == 11.5


def test_stored_runs_are_complete():
    """What the page and its captions tell of: five seeds, and both numbers of steps."""
    for steps in (400, 1500):
        kinds = ch07.runs_of(steps)
        assert all(len(runs) == 5 for runs in kinds.values())
    for kind, runs in kinds.items():
        beyond = torch.stack([ch07.shares(run)[12:] for run in runs])
        assert (beyond > 90).all() == (kind in ("relative", "rotary"))
        assert (beyond < 40).all() == (kind not in ("relative", "rotary"))


# The drawing


def test_drawing_names_the_ways_and_fits_a_phone():
    drawing = ch07_drawings.ways_in()
    assert drawing.width <= 510
    svg = drawing._repr_svg_()
    for name in ("sinusoidal, learned", "rotary", "relative", "scores"):
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


def test_never_seen_are_the_distances_that_training_lacks():
    never_seen = find("ex7_never_seen").reference
    for longest, t in ((2, 4), (12, 24), (5, 5), (7, 3)):
        now, then = (
            set(relative_distances(n, n).flatten().tolist()) for n in (t, longest)
        )
        assert never_seen(longest, t) == sorted(now - then)


def test_later_is_the_code_of_the_later_position():
    later = find("ex7_later").reference
    answer = later(torch.tensor(code(5, 8), dtype=torch.float64), 3)
    assert answer.tolist() == pytest.approx(code(8, 8))


def test_swap_adds_the_formula_to_the_scaled_rows():
    swap = find("ex7_swap").reference
    rows = torch.eye(4)
    answer = swap(rows, torch.tensor([[2, 0]]), 7)
    for t, word in enumerate((2, 0)):
        right = 2 * rows[word] + torch.tensor(code(7 + t, 4))
        torch.testing.assert_close(answer[0, t], right, atol=1e-5, rtol=0)


def test_the_bug_is_not_seen_in_the_shape():
    exercise = find("ex7_first_axis")
    (wrong, _), *_ = exercise.mistakes
    square = torch.zeros(3, 3, 4)
    assert wrong(square).shape == exercise.reference(square).shape
    assert torch.equal(wrong(square)[:, 0], wrong(square)[:, 2])  # no order in it
    assert torch.equal(exercise.reference(square)[0, 2], torch.tensor(code(2, 4)))


def test_how_far_is_printed_from_the_stored_runs(capsys):
    ch07.print_farther()
    head, *rows = capsys.readouterr().out.splitlines()
    stored = results.load("positions_farther")
    assert head.split() == ["places", *map(str, stored["lengths"])]
    for row in rows:
        kind, mean, _, *_, last, span = row.split()
        found = [100 * r["right"][-1] for r in stored["runs"] if r["positions"] == kind]
        assert float(last) == pytest.approx(sum(found) / len(found), abs=0.51)
        assert span == f"({min(found):.0f}–{max(found):.0f})"
        assert float(mean) > float(last)
