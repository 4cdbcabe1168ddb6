"""Chapter 12: its run and its scores show what is stored."""

import math

import pytest
import torch

from attnbook.course.ch12 import (
    figures_scores as ch12_scores,
)
from attnbook.course.ch12 import (
    figures_training_run as ch12_training_run,
)
from attnbook.course.kit.exercises.checking import find
from attnbook.nn.losses import label_smoothing_loss
from attnbook.translation.bleu_from_scratch import matching_ngrams
from attnbook.translation.configs import CONFIGS

pytestmark = pytest.mark.usefixtures("as_in_the_pages")

LOG = [
    {"step": 50, "epoch": 0, "loss": 6.0},
    {"step": 96, "epoch": 0, "loss": 4.0},
    {"step": 96, "epoch": 1, "validation_loss": 3.0, "validation_bleu": 9.0},
    {"step": 100, "epoch": 1, "loss": 2.0},
    {"step": 150, "epoch": 1, "loss": 3.0},
    {"step": 192, "epoch": 1, "loss": 1.0},
    {"step": 192, "epoch": 2, "validation_loss": 2.5, "validation_bleu": 20},
]
"""Of two epochs of 96 updates, with short stretches at their ends."""


def a_run():
    return {
        "config": {
            "n_layers": 4,
            "d_model": 128,
            "d_ff": 256,
            "n_heads": 2,
            "norm_first": True,
            "smoothing": 0.1,
            "vocab_size": 8000,
        },
        "machine": "an abacus",
        "precision": "float32",
        "versions": {"python": "3.11", "torch": "2.13"},
        "commit": "abc1234",
        "parameters": 2345678,
        "epochs": 2,
        "averaged_epochs": 1,
        "updates": 192,
        "seconds": 180,
        "tokens_per_second": 4321,
        "peak_memory_mb": 567,
        "log": LOG,
    }


# The run


def test_recorded_reads_what_is_stored(stored):
    stored(ch12_training_run.NAME, updates=7)
    assert ch12_training_run.run("recorded") == {"updates": 7}


@pytest.mark.parametrize(
    ("device", "name"), [("cpu", "multi30k-cpu"), ("cuda", "multi30k-tiny")]
)
def test_live_trains_what_suits_the_device_and_adds_the_log(
    monkeypatch, tmp_path, device, name
):
    asked = []

    def train(run, folder):
        asked.append((run, folder))
        (folder / "metrics.jsonl").write_text('{"step": 1}\n')
        return {"updates": 9}

    monkeypatch.setattr(ch12_training_run, "train", train)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: device == "cuda")
    monkeypatch.delenv("ATTNBOOK_DEVICE", raising=False)
    assert ch12_training_run.run("live", folder=tmp_path) == {
        "updates": 9,
        "log": [{"step": 1}],
    }
    assert asked == [(CONFIGS[name], tmp_path)]


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="recorded or live"):
        ch12_training_run.run("alive")


def test_what_a_run_took_is_shown():
    shown = dict(ch12_training_run.run_table(a_run()).rows())
    assert shown == {
        "machine": "an abacus, float32",
        "software": "python 3.11, torch 2.13",
        "commit": "abc1234",
        "model": "4 + 4 layers, D = 128, d_ff = 256, 2 heads, pre-norm",
        "parameters": "2,345,678",
        "training": "2 epochs, 192 updates",
        "time": "3 minutes",
        "speed": "4,321 target tokens per second",
        "memory": "at most 567 MB",
    }


def test_the_floor_is_the_loss_of_a_model_that_outputs_the_target_distribution():
    v, smoothing = 50, 0.1
    targets = torch.tensor([[7]])
    p = torch.full((v,), smoothing / v)
    p[7] += 1 - smoothing
    least = label_smoothing_loss(p.log()[None, None], targets, smoothing).item()
    assert ch12_training_run.smoothed_floor(smoothing, v) == pytest.approx(
        least, abs=1e-5
    )
    assert math.isclose(
        ch12_training_run.smoothed_floor(0.1, 37000), 1.377, abs_tol=1e-3
    )


def test_short_stretches_of_the_log_are_joined():
    steps, means = ch12_training_run.training_losses(LOG)
    assert steps == [50, 100, 150]
    joined = (46 * 4 + 4 * 2) / 50
    assert means == pytest.approx([6, joined, 3])
    assert ch12_training_run.training_losses(LOG, least=1)[0] == [50, 96, 100, 150, 192]


def test_curves_are_drawn_against_epochs():
    losses, bleu = ch12_training_run.curves_figure(a_run()).axes
    training, validation, floor = losses.get_lines()
    assert list(training.get_xdata()) == [50 / 96, 100 / 96, 150 / 96]
    assert training.get_ydata()[0] == 6
    assert list(validation.get_xdata()) == [1, 2]
    assert list(validation.get_ydata()) == [3, 2.5]
    assert floor.get_ydata()[0] == ch12_training_run.smoothed_floor(0.1, 8000)
    assert list(bleu.get_lines()[0].get_ydata()) == [9, 20]
    (averaged,) = bleu.patches
    assert averaged.get_x() == 1.5
    assert averaged.get_width() == 1


def test_the_gap_is_shown_by_what_is_kept(stored):
    losses = [
        {"dropout": True, "smoothing": 0.1, "train": 4.0, "val": 4.25},
        {"dropout": True, "smoothing": 0.0, "train": 3.0, "val": 3.25},
        {"dropout": False, "smoothing": 0.1, "train": 2.0, "val": 2.25},
        {"dropout": False, "smoothing": 0.0, "train": 1.0, "val": 1.25},
    ]
    stored("multi30k_scores", losses=losses)
    assert ch12_training_run.gap_table().rows() == [
        ("smoothing and dropout", 4.0, 4.25),
        ("dropout", 3.0, 3.25),
        ("smoothing", 2.0, 2.25),
        ("neither", 1.0, 1.25),
    ]


# Scores


def test_rules_are_named_for_a_reader(stored):
    scorings = [{"rule": rule, "bleu": 30 + n} for n, rule in enumerate(RULES)]
    stored("multi30k_scores", scorings=scorings)
    rows = ch12_scores.scorings_table().rows()
    assert rows == [(name, 30 + n) for n, name in enumerate(RULES.values())]


RULES = ch12_scores.RULES


def test_every_stored_rule_has_a_name():
    assert len(ch12_scores.scorings_table().rows()) == len(RULES)


def test_scores_of_the_shipped_model_stand_next_to_the_seeds(stored):
    def scores(bleu):
        return {
            "test_2016_flickr": {"beam, lowercased": {"bleu": bleu}},
            "test_2017_flickr": {"beam, lowercased": {"bleu": bleu - 7}},
        }

    seeds = {f"seed_{n}": {"scores": scores(bleu)} for n, bleu in enumerate((38, 40))}
    stored("multi30k_runs", parts={"en_de": {"runs": seeds}})
    shipped = {
        split: found | {"beam, cased": {"bleu": 36.0, "chrf": 60.0}}
        for split, found in scores(38).items()
    }
    stored("multi30k_headline", scores=shipped)
    assert ch12_scores.scores_table().rows() == [
        ("2016", 36.0, 60.0, 38, (39, 38, 40), 41.02),
        ("2017", 36.0, 60.0, 31, (32, 31, 33), None),
    ]


# Exercises


def test_the_parrot_is_scored_as_by_hand():
    output, reference = "a dog a dog a dog a dog", "a dog runs after a dog"
    found = [
        matching_ngrams(output.split(), reference.split(), n) for n in (1, 2, 3, 4)
    ]
    assert found == find("ex12_matches").reference
