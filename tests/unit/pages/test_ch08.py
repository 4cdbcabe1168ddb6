"""Figures, tables and exercises of chapter 8."""

from statistics import fmean

import pytest
import torch
from compare import close, numbers
from matplotlib.colors import to_hex

from attnbook.analysis.bug_zoo import DroppedStream
from attnbook.core import results
from attnbook.nn.layers import DecoderLayer, EncoderLayer, TransformerConfig
from attnbook.pages.colours import COLOURS
from attnbook.pages.exercises import ch08 as ch08_exercises
from attnbook.pages.exercises.checking import find, verdict
from attnbook.pages.figures import ch08
from attnbook.toy.deep_stacks import CONNECTIONS, gradient_norms
from attnbook.toy.residual import Residual

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def labelled(ax):
    return {line.get_label(): line for line in ax.get_lines()}


# Deep stacks


def test_gradients_are_drawn_from_the_end_for_both_sizes():
    x, direction = (t.detach() for t in numbers(0, (1, 3, 64), (1, 3, 64)))
    axes = ch08.gradient_figure(x, direction).axes
    for ax, size in zip(axes, (1.0, 3**-0.5), strict=True):
        lines = labelled(ax)
        assert {*CONNECTIONS} <= {*lines}
        for way, stack in ch08.stacks(size).items():
            blocks, drawn = lines[way].get_data()
            assert blocks.tolist() == [*range(24, -1, -1)]
            found = gradient_norms(stack, x, direction)
            assert drawn.tolist() == pytest.approx(found[::-1])


def test_the_spread_of_all_but_the_bare_stack_is_drawn():
    (x,) = (t.detach() for t in numbers(0, (1, 3, 64)))
    (ax,) = ch08.spread_figure(x).axes
    lines = labelled(ax)
    assert "none" not in lines
    for way in CONNECTIONS[1:]:
        wanted = [state.std().item() for state in ch08.stacks(1.0)[way](x)]
        assert lines[way].get_ydata().tolist() == pytest.approx(wanted)


def test_all_stacks_have_the_same_weights():
    made = ch08.stacks(1.0)
    first = [*made["none"].blocks.parameters()]
    for stack in made.values():
        for one, other in zip(first, stack.blocks.parameters(), strict=True):
            assert torch.equal(one, other)
            assert one.dtype == torch.float64


# What norms average


def test_cells_of_one_mean_are_coloured_and_pads_hatched():
    above, below = ch08.averages_figure().axes
    for ax in (above, below):
        cells = {(c.get_x(), c.get_y()): c for c in ax.patches}
        assert len(cells) == 3 * 6 * 4
        hatched = {x for (x, y), c in cells.items() if c.get_hatch()}
        assert hatched == {7 + 4, 7 + 5, 14 + 5}
        chosen = {
            place
            for place, c in cells.items()
            if to_hex(c.get_facecolor()) == to_hex(COLOURS["source"])
        }
        columns, rows = ({place[i] for place in chosen} for i in (0, 1))
        if ax is above:
            assert columns == {2}
            assert len(rows) == 4
        else:
            assert len(columns) == 18
            assert len(rows) == 1


# Stored runs


def test_table_of_networks_shows_every_seed(stored, capsys):
    runs = [
        {"task": task, "layers": kind, "n_layers": n, "seed": seed}
        | {"right": right + seed / 10, "loss": loss}
        for task, right in (("add_previous", 0.5), ("backwards", 0.1))
        for kind, n, loss in (("with", 2, [1, 0.09]), ("without", 4, [1, 0.2]))
        for seed in (0, 1)
    ]
    stored("feed_forward_needed", steps=400, runs=runs)
    ch08.print_feed_forward()
    *_, one, other = capsys.readouterr().out.splitlines()
    assert one.split() == [
        "2",
        "whole",
        "layers",
        *["400", "400", "55.0%", "400", "400", "15.0%"],
    ]
    late = [">400", ">400", "55.0%", ">400", ">400", "15.0%"]
    assert other.split() == ["4", "without", "network", *late]


def test_table_of_embeddings_shows_when_the_loss_is_small(stored, capsys):
    runs = [
        {"draw": "N(0, 1)", "scaled": True, "seed": 0, "loss": [2.0, 0.2, 0.09, 0.2]},
        {"draw": "N(0, 1)", "scaled": True, "seed": 1, "loss": [2.0, 0.2, 0.11, 0.1]},
        {"draw": "N(0, 1)", "scaled": False, "seed": 0, "loss": [0.05, 0.2, 0.1, 0.1]},
    ]
    stored("embedding_scale", steps=80, runs=runs)
    codes = {"draw": "N(0, 1/D)", "scaled": False, "codes": 1 / 8, "seed": 0}
    stored("embedding_proportion", steps=40, runs=[{**codes, "loss": [1.0, 0.05]}])
    ch08.print_embeddings()
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split(")")[1].split() for row in rows] == [
        ["times", "√D", "8", "0.71", "60", ">", "80"],
        ["as", "drawn", "1", "0.71", "20"],
        ["as", "drawn", "0.125", "0.088", "40"],
    ]


def some_losses(stored):
    losses = {}
    runs = []
    for norm_first in (False, True):
        for n_warm in (0, 30):
            for seed in (0, 1):
                level = 1 + norm_first + n_warm / 100 + seed / 2
                loss = [9.0] * 50 + [level] * 10
                losses.setdefault((norm_first, n_warm), []).append(loss)
                runs.append(
                    {"norm_first": norm_first, "warm_up": n_warm, "seed": seed}
                    | {"loss": loss}
                )
    stored("warm_up", runs=runs)
    return losses


def test_table_of_warm_ups_shows_means_of_the_last_steps(stored, capsys):
    some_losses(stored)
    ch08.print_warm_up()
    _, *rows = capsys.readouterr().out.splitlines()
    assert [row.split("warm-up")[1].split() for row in rows] == [
        ["1.25", "(1.00–1.50)"],
        ["1.55", "(1.30–1.80)"],
        ["2.25", "(2.00–2.50)"],
        ["2.55", "(2.30–2.80)"],
    ]
    assert ["post-norm" in row for row in rows] == [True, True, False, False]


def test_figure_of_warm_ups_shows_all_runs_and_their_mean(stored):
    losses = some_losses(stored)
    axes = ch08.warm_up_figure().axes
    for ax, norm_first in zip(axes, (False, True), strict=True):
        assert ax.get_title("left") == ("pre-norm" if norm_first else "post-norm")
        lines = labelled(ax)
        for label, n_warm in (("none", 0), ("30 steps", 30)):
            runs = losses[norm_first, n_warm]
            mean = [fmean(step) for step in zip(*runs, strict=True)]
            drawn = [line.get_ydata().tolist() for line in ax.get_lines()]
            assert lines[label].get_ydata().tolist() == mean
            assert all(run in drawn for run in runs)


def test_stored_runs_say_what_the_chapter_says():
    needed, soon = results.load("feed_forward_needed"), {}
    for run in needed["runs"]:
        model = run["task"], run["layers"], run["n_layers"]
        first = ch08.first_below(run["loss"], 0.1, needed["steps"])
        soon.setdefault(model, []).append(int(first.strip(" >")))
        assert run["right"] > (0.99 if run["task"] == "backwards" else 0.9)
        assert run["layers"] != "with" or run["right"] == 1
    for (task, kind, _), steps in soon.items():
        if task == "backwards":
            assert max(steps) <= 120
        else:
            assert max(steps) <= 220 if kind == "with" else min(steps) >= 300
    for run in results.load("embedding_scale")["runs"]:
        large = run["scaled"] and run["draw"] == "N(0, 1)"
        assert min(run["loss"]) > 2 if large else min(run["loss"][:8]) < 0.1
    for run in results.load("embedding_proportion")["runs"]:
        alike = run["scaled"]  # words of 8 with positions of 8
        assert min(run["loss"][:9]) < 0.1 if alike else min(run["loss"]) > 2
    ends = {
        (norm_first, n_warm): [
            fmean(loss[-10:]) for loss in ch08.warm_up_runs(norm_first, n_warm)
        ]
        for norm_first in (False, True)
        for n_warm in (0, 30)
    }
    assert min(ends[False, 0]) > 2.7 > max(ends[False, 30])
    assert min(ends[False, 30]) > 2.6 > 2 > max(ends[True, 0])
    assert min(ends[True, 0]) > 1.3 > 1 > max(ends[True, 30])


# Exercises


@pytest.mark.parametrize(("d", "d_ff"), [(8, 32), (16, 10)])
def test_parameters_in_the_exercise_are_those_of_the_layers(d, d_ff):
    count = find("ex8_parameters").reference
    for kind, decoder in ((EncoderLayer, False), (DecoderLayer, True)):
        layer = kind(TransformerConfig(d_model=d, n_heads=2, d_ff=d_ff))
        assert count(d, d_ff, decoder) == sum(p.numel() for p in layer.parameters())
    assert count(512, 2048, decoder=False) == 3_152_384
    assert count(512, 2048, decoder=True) == 4_204_032


def test_the_bug_of_the_page_is_known():
    hint = verdict(find("ex8_pre_norm"), "ex8_pre_norm", ch08_exercises._normed_stream)
    assert "way of x is not free" in hint


def test_pre_norm_in_the_exercise_is_that_of_the_package():
    residual = Residual(4, norm_first=True)
    (x,) = numbers(0, (2, 3, 4))
    residual = residual.double()
    found = find("ex8_pre_norm").reference(x, residual.norm, torch.sin)
    close(found, residual(x, torch.sin))


def test_the_shorter_norm_equals_pytorchs():
    (x,), gain = numbers(0, (2, 3, 8)), torch.rand(8, dtype=torch.float64)
    theirs = torch.nn.functional.rms_norm(x, (8,), gain, 1e-2)
    close(find("ex8_rms_norm").reference(x, gain, 1e-2), theirs)


def test_what_is_kept_in_the_exercise_is_what_the_mistake_keeps():
    torch.manual_seed(0)
    residuals = [DroppedStream(50, dropout=0.2) for _ in range(4)]
    alive = torch.ones(2000, 50, dtype=torch.bool)
    for residual in residuals:
        x = torch.randn(2000, 50)
        alive &= residual(x, torch.zeros_like) != 0
    kept = find("ex8_kept").reference(0.2, 2, 2)
    assert alive.float().mean().item() == pytest.approx(kept, abs=0.01)
