"""Laboratory page 12: what decoding, averaging and length change in BLEU."""

import json

import pytest

from attnbook.course.ch12 import lab_log as lab12_log
from attnbook.course.ch12 import lab_scores as lab12_scores

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def a_run(bleu, alphas=(30.0, 31.5)):
    ways = ("beam, lowercased", "greedy, lowercased")
    return {
        "validation_bleu_by_alpha": dict(zip(("0.0", "1.0"), alphas, strict=True)),
        "scores": {
            split: {way: {"bleu": bleu - less - n} for n, way in enumerate(ways)}
            for split, less in (("test_2016_flickr", 0), ("test_2017_flickr", 7))
        },
    }


@pytest.fixture
def _stored(stored):
    stored(
        "multi30k_scores",
        comparison={"bleu": 38.0, "other": 37.0, "p_value": 0.0125},
        margin=1.25,
        by_length=[
            {"first": 1, "last": 8, "sentences": 60, "bleu": 42.0, "margin": 2.0},
            {"first": 9, "last": 99, "sentences": 40, "bleu": 35.0, "margin": 5.0},
        ],
    )
    stored(
        "multi30k_beams",
        runs=[
            {"width": 1, "bleu": 37.0, "seconds": 2.0, "length": 0.9},
            {"width": 5, "bleu": 38.5, "seconds": 9.0, "length": 1.0},
        ],
    )
    averages = [{"epochs": 1, "validation_bleu": 36.0}]
    averages.append({"epochs": 10, "validation_bleu": 37.25})
    stored("multi30k_average", runs=averages)
    stored(lab12_scores.NAME, **a_run(40))
    parts = {
        "en_de": {"runs": {"seed_0": a_run(40), "seed_1": a_run(42, (32.0, 30.5))}},
        "de_en": {"runs": {"seed_0": a_run(44)}},
    }
    stored("multi30k_runs", parts=parts)


@pytest.mark.usefixtures("_stored")
def test_tables_show_what_is_stored():
    assert lab12_scores.averaging_table().rows() == [("1", 36.0), ("10", 37.25)]
    assert lab12_scores.length_penalties_table().rows() == [
        ("0.0", 30.0, (31, 30, 32)),
        ("1.0", 31.5, (31, 30.5, 31.5)),
    ]
    assert lab12_scores.greedy_table().rows() == [
        ("beam of 5", 38.0, 1.25, None),
        ("greedy", 37.0, None, None),
        ("difference", 1.0, None, 0.0125),
    ]


@pytest.mark.usefixtures("_stored")
def test_a_direction_with_one_run_has_no_range():
    several, one = lab12_scores.directions_table().rows()
    assert several[:2] == ("English to German, 2 runs", (41, 40, 42))
    assert several[2:] == ((34, 33, 35), (40, 39, 41), (33, 32, 34))
    assert one == ("German to English, 1 run", 44, 37, 43, 36)


@pytest.mark.usefixtures("_stored")
def test_beams_and_lengths_are_drawn():
    bleu, seconds = lab12_scores.beams_figure().axes
    for ax, values in ((bleu, [37, 38.5]), (seconds, [2, 9])):
        [line] = ax.get_lines()
        assert list(line.get_xdata()) == [1, 5]
        assert list(line.get_ydata()) == values
    ax = lab12_scores.lengths_figure().axes[0]
    assert [bar.get_height() for bar in ax.patches] == [42, 35]
    [ranges] = (c for c in ax.collections if hasattr(c, "get_segments"))
    ends = [[y for _, y in segment] for segment in ranges.get_segments()]
    assert ends == [[40, 44], [30, 40]]
    labels = [t.get_text() for t in ax.get_xticklabels()]
    assert labels == ["≤ 8\n(60)", "≥ 9\n(40)"]


@pytest.mark.parametrize("at_hand", [True, False])
def test_the_worst_are_shown_with_what_is_at_hand(stored, monkeypatch, at_hand):
    outputs = {"test_2016_flickr": {"beam": ["eins", "zwei"]}}
    stored(f"{lab12_scores.NAME}_hypotheses", **outputs)
    monkeypatch.setattr(lab12_scores.multi30k, "available", lambda: at_hand)
    monkeypatch.setattr(
        lab12_scores.multi30k, "sentences", lambda split, language: [language] * 2
    )
    groups = lab12_scores.worst_table([1]).groups
    rows = [("source", "en"), ("output", "zwei"), ("reference", "de")]
    assert groups == {"sentence 1": rows if at_hand else rows[1:2]}


def test_a_log_is_shown_line_by_line(tmp_path):
    lines = [
        {"step": 50, "epoch": 0, "loss": 6.0},
        {"step": 50, "epoch": 1, "validation_loss": 3.0, "validation_bleu": 9.0},
    ]
    text = "".join(json.dumps(line) + "\n" for line in lines)
    (tmp_path / "metrics.jsonl").write_text(text)
    assert lab12_log.log_table(tmp_path).rows() == [
        ("50", 6.0, None, None),
        ("50", None, 3.0, 9.0),
    ]
    assert lab12_log.scratch_folder().is_dir()
