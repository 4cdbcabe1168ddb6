"""Figures and exercises of chapter 8."""

from itertools import product
from statistics import fmean

import pytest
import torch
from compare import close, numbers
from matplotlib.colors import to_hex

from attnbook.course.ch08 import exercises as ch08_exercises
from attnbook.course.ch08 import figures as ch08
from attnbook.course.kit.exercises.checking import find, verdict
from attnbook.nn.layers import DecoderLayer, EncoderLayer, TransformerConfig
from attnbook.nn.residual import Residual
from attnbook.toy.deep_stacks import token_diversity

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def labelled(ax):
    return {line.get_label(): line for line in ax.get_lines()}


# Deep stacks


def test_the_figure_of_stacks_shows_diversity_and_gradients_by_block():
    runs = {}
    for name, seed in (("plain", 0), ("with skip connections", 1)):
        states = numbers(seed, *3 * [(2, 3, 4)])
        runs[name] = states, [0.5, 1e-9]
    above, below = ch08.stack_figure(runs).axes
    for name, (states, gradients) in runs.items():
        line = labelled(above)[name].get_ydata().tolist()
        assert line == pytest.approx([token_diversity(s.detach()) for s in states])
        blocks, drawn = labelled(below)[name].get_data()
        assert blocks.tolist() == [1, 2]
        assert drawn.tolist() == gradients


# What norms average


def test_cells_of_one_colour_share_a_mean_and_padding_is_hatched():
    above, below = ch08.norms_figure().axes
    for ax in (above, below):
        assert len(ax.patches) == 3 * 6 * 4
        hatched = {c.get_x() for c in ax.patches if c.get_hatch()}
        assert hatched == {7 + 4, 7 + 5, 14 + 5}
        groups = {}
        for cell in ax.patches:
            groups.setdefault(to_hex(cell.get_facecolor()), set()).add(
                cell.get_x() if ax is above else cell.get_y()
            )
        assert len(groups) == (18 if ax is above else 4)
        assert all(len(group) == 1 for group in groups.values())


# Stored runs


def test_figure_of_warm_ups_shows_the_means_of_all_seeds(stored):
    means, runs = {}, []
    for norm_first, name in ((False, "post-norm"), (True, "pre-norm")):
        for n_warm, warm in ((0, "no warm-up"), (30, "30 steps")):
            losses = [[3.0, norm_first + n_warm / 100 + s] for s in (0.0, 0.5)]
            means[f"{name}, {warm}"] = [
                fmean(step) for step in zip(*losses, strict=True)
            ]
            about = {"rate": 0.003, "norm_first": norm_first, "warm_up": n_warm}
            runs += [{**about, "loss": loss} for loss in losses]
    stored("warm_up", runs=runs)
    (ax,) = ch08.warm_up_figure().axes
    for name, mean in means.items():
        steps, drawn = labelled(ax)[name].get_data()
        assert steps.tolist() == [1, 2]
        assert drawn.tolist() == mean


def test_stored_warm_ups_are_as_the_chapter_says():
    ends = {
        (norm_first, n_warm): [
            fmean(loss[-10:]) for loss in ch08.warm_up_runs(norm_first, n_warm)
        ]
        for norm_first in (False, True)
        for n_warm in (0, 30)
    }
    assert min(ends[False, 0]) > 2.6 > 1.3 > max(ends[False, 30])
    assert min(ends[False, 30]) > 1 > 0.5 > max(ends[True, 0] + ends[True, 30])


def test_stored_warm_ups_at_other_learning_rates_are_as_the_chapter_says():
    def ends(learning_rate, norm_first, n_warm):
        runs = ch08.warm_up_runs(norm_first, n_warm, learning_rate)
        return [fmean(loss[-10:]) for loss in runs]

    assert max(ends(0.001, False, 0)) < 1.2  # post-norm needs no warm-up
    assert min(ends(0.01, False, 30)) > 2.5  # post-norm fails in spite of it
    for rate, n_warm in product((0.001, 0.01), (0, 30)):
        assert max(ends(rate, True, n_warm)) < 1.3


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
    assert "the stream passes through the norm" in hint


def test_pre_norm_in_the_exercise_is_that_of_the_package():
    residual = Residual(4, norm_first=True)
    (x,) = numbers(0, (2, 3, 4))
    residual = residual.double()
    found = find("ex8_pre_norm").reference(x, residual.norm, torch.sin)
    close(found, residual(x, torch.sin))
