"""Chapter 2's figures, tables and exercises: they show what was measured."""

import math
from statistics import fmean

import pytest
import torch
from compare import make_bahdanau
from drawn import cells

from attnbook.analysis import occlusion
from attnbook.analysis.learning_to_attend import AttentionSnapshot
from attnbook.core import results
from attnbook.course.ch02 import figures as ch02
from attnbook.course.kit.exercises.checking import find, verdict
from attnbook.toy.language import translate_by_rule
from attnbook.toy.metrics import attention_weights

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

SENTENCE = "the old farmer sees a bird"

# Learning where to attend

LOG = [
    AttentionSnapshot(0, 4.0, 4.0, 4.0, 0.05, 0.06, 0.1, 0.001),
    AttentionSnapshot(10, 3.0, 3.5, 2.5, 0.25, 0.15, 0.5, 0.125),
    AttentionSnapshot(20, 1.0, 3.5, 0.5, 0.95, 0.85, 0.75, 0.25),
    AttentionSnapshot(30, 9.0, 9.0, 9.0, 0.0, 0.0, 0.0, 0.0),
]


def test_learning_is_drawn_from_the_log():
    fig = ch02.learning_figure([4.0] * 10 + [2.0] * 10 + [9.0] * 9, LOG, until=20)
    lines = [[list(x.get_ydata()) for x in ax.get_lines()] for ax in fig.axes]
    training, uniform, own, oracle = lines[0]
    assert training == [4, 2]
    assert (uniform, own, oracle) == ([4, 3.5, 3.5], [4, 3, 1], [4, 2.5, 0.5])
    assert lines[1] == [pytest.approx([5, 25, 95]), pytest.approx([6, 15, 85])]
    assert fig.axes[1].get_xlabel() == "training step"


# Alignment maps


def test_the_map_shows_weights_and_frames_the_aligned_words():
    pair = translate_by_rule(SENTENCE)
    weights = torch.zeros(9, 9)  # padded
    weights[0, :3] = torch.tensor([0.04, 0.06, 0.9])
    ax, bar = ch02.alignment_figure(weights, pair).axes
    shown = [t.get_text() for t in ax.texts if t.get_text()]
    assert shown == ["6", "90"]
    assert [(p.get_y(), p.get_x()) for p in ax.patches] == list(
        enumerate(pair.alignment)
    )
    assert [t.get_text() for t in ax.get_yticklabels()] == [*pair.target, "<eos>"]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("target token", "source token")
    assert ax.xaxis.get_label_position() == "top"  # where the words are
    assert bar.get_xlabel() == "weight, %"


def test_a_map_of_words_has_their_names_and_no_frames():
    weights = torch.tensor([[0.05, 0.95], [0.6, 0.4]])
    ax, bar = ch02.word_map_figure(weights, ["Hallo", "<eos>"], ["Hello", "."]).axes
    assert torch.allclose(cells(ax), 100 * weights)
    assert [t.get_text() for t in ax.texts if t.get_text()] == ["95", "60", "40"]
    assert [t.get_text() for t in ax.get_yticklabels()] == ["Hallo", "<eos>"]
    assert [t.get_text() for t in ax.get_xticklabels()] == ["Hello", "."]
    assert (ax.get_ylabel(), ax.get_xlabel()) == ("target word", "source word")
    assert bar.get_xlabel() == "weight, %"
    assert not ax.patches


# Do weights explain?


def test_late_attention_is_summed_up_over_the_seeds():
    stored = results.load("late_attention")["runs"]
    made = ch02.late_attention_table().rows()
    for (name, *cells_), held in zip(made, (0, 150), strict=True):
        runs = [run for run in stored if run["held"] == held]
        assert name == ("uniform for 150 steps" if held else "learned from the start")
        exact, align, hidden = (cell.mean for cell in cells_)
        assert exact == pytest.approx(
            100 * fmean(run["exact"][n] for run in runs for n in "1234")
        )
        assert align == pytest.approx(
            100 * fmean(run["align"][n] for run in runs for n in "1234")
        )
        assert hidden == pytest.approx(fmean(run["hidden"][1] for run in runs))


def test_weights_and_effects_are_drawn_below_each_other():
    model, pair = make_bahdanau(), translate_by_rule(SENTENCE)
    effects = occlusion.occlusion_effects(model, pair)
    weights = attention_weights(model, [pair])[0]
    fig = ch02.weight_and_effect_figure(weights, effects, pair)
    drawn = [ax.collections[0].get_array().filled(math.nan).ravel() for ax in fig.axes]
    assert drawn[0] == pytest.approx((100 * weights).flatten().numpy())
    assert drawn[1] == pytest.approx(effects["hidden"].flatten().numpy())
    assert [ax.get_xlabel() for ax in fig.axes] == ["", "", "source token"]
    assert fig.get_figwidth() <= 5.5


# Exercises


def masked_softmax(scores, mask):
    return scores.masked_fill(~mask, float("-inf")).softmax(-1)


def alignment_accuracy(weights, alignments):
    right = total = 0
    for rows, alignment in zip(weights, alignments, strict=True):
        for row, wanted in zip(rows, alignment, strict=False):
            if wanted is not None:
                total += 1
                right += row.argmax().item() == wanted
    return right / total


@pytest.mark.parametrize(
    ("name", "answer"),
    [
        ("ex2_masked_softmax", masked_softmax),
        ("ex2_key_projection", (20 * 128 * 64, 20 * 20 * 128 * 64)),
        ("ex2_alignment_accuracy", alignment_accuracy),
    ],
)
def test_the_solutions_are_right_and_the_stubs_wait(name, answer):
    exercise = find(name)
    assert verdict(exercise, name, answer) == f"{name}: right."
    assert verdict(exercise, name, ...) == f"{name}: your turn."
    for mistake, hint in exercise.mistakes:
        assert f"\nHint: {hint}" in verdict(exercise, name, mistake)
