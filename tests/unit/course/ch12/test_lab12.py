"""Laboratory page 12: its tables say what the stored runs hold."""

import shlex

import pytest

from attnbook.core import results
from attnbook.course.ch12 import lab as lab12
from attnbook.course.ch12.figures_comparisons import part
from attnbook.translation.train_command import read_config

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def runs():
    return [run for kind in lab12.all_runs().values() for run in kind.values()]


def test_every_stored_run_is_in_the_table_once():
    weights = [run["weights_sha256"] for run in runs()]
    assert len({*weights}) == len(weights)
    for name in results.load("multi30k_runs")["parts"]:
        assert {r["weights_sha256"] for r in part(name)["runs"].values()} - {
            *weights
        } == set()


def test_a_row_has_the_numbers_of_its_run():
    for row, run in zip(lab12.runs_table().rows(), runs(), strict=True):
        _, precision, minutes, speed, loss, bleu, chrf = row
        assert run["precision"] == {"fp32": "float32", "bf16": "bfloat16"}[precision]
        assert 60 * minutes == pytest.approx(run["seconds"])
        assert speed == run["tokens_per_second"]
        assert loss == run["validation_loss"]
        assert bleu == max(run["validation_bleu_by_alpha"].values())
        scores = run.get("validation_scores")
        lower = run["config"].get("lowercase", False)
        how = "beam, lowercased" if lower else "beam, cased"
        assert chrf == (scores[how]["chrf"] if scores else None)
        if scores:
            assert bleu == pytest.approx(scores[how]["bleu"])


def test_a_command_makes_the_config_of_its_run():
    """It gives what was trained, down to the precision that "auto" meant."""
    for command, run in zip(lab12.commands().values(), runs(), strict=True):
        words = shlex.split(command)
        assert words[:4] == ["attnbook", "train", "--config", "multi30k-cpu"]
        made = vars(read_config("multi30k-cpu", words[5:]))
        for entry, value in run["config"].items():
            if entry in made and entry != "precision":
                assert made[entry] == value, (command, entry)
        assert made["precision"] == lab12.PRECISIONS[run["precision"]]


def test_the_table_of_test_scores_has_those_of_the_stored_translations():
    scores = results.load("multi30k_headline")["scores"]
    rows = {row[0]: row[1:] for row in lab12.headline_table().rows()}
    assert (
        rows["2016, lowercased"][2]
        == (scores["test_2016_flickr"]["beam, lowercased"]["bleu"])
    )
    assert rows["2017, cased"][1] == scores["test_2017_flickr"]["greedy, cased"]["chrf"]
    assert set(lab12.signatures().values()) == {
        score[entry]
        for split in scores.values()
        for score in split.values()
        for entry in ("signature", "chrf_signature")
    }


def test_the_page_says_what_is_stored():
    against = [row[2:] for row in lab12.against_table().rows()]
    assert [round(bleu, 1) for _, bleu, _ in against] == [40.7, 40.5, 40.5]
    assert [round(p, 2) for *_, p in against[1:]] == [0.23, 0.25]
    for row in lab12.learning_rates_table().rows():
        assert row[2] < row[1]
    third, fourth = (row[1:] for row in lab12.epochs_table("bahdanau", (3, 4)).rows())
    assert [round(x, 1) for x in third[1:3]] == [12.9, 40.4]
    assert [round(x, 1) for x in fourth[1:3]] == [26.0, 48.3]
    assert (round(third[4], 1), round(fourth[4], 1)) == (4.2, 0.1)


def test_speeds_are_compared_with_the_first_method():
    rows = lab12.training_speeds_table().rows()
    assert rows[0][0] == "eager, fp32"
    assert "nn.Transformer" in {row[0] for row in rows}
    assert all(row[2] == row[1] / rows[0][1] for row in rows)


def test_decoding_stands_beside_marian_where_it_was_measured(stored):
    both = {"width": 1, "ours": 300, "marian": 100, "ours_faster": 3.0}
    stored("processor_speeds", decoding=[both, {"width": 5, "ours": 70}])
    assert lab12.decoding_speeds_table().rows() == [
        ("greedy", 300, 100, 3.0),
        ("beam of 5", 70, None, None),
    ]
