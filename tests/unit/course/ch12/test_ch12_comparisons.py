"""Chapter 12: tables and figures of several runs say what the stored result holds."""

import json

import pytest

import gpu
from attnbook.core import results
from attnbook.course.ch12 import experiment_multi30k_runs as multi30k_runs
from attnbook.course.ch12 import figures_comparisons as ch12_comparisons
from attnbook.course.ch12 import lab as lab12
from attnbook.translation.report import TEST_SPLITS
from gpu import bleu_statistics

pytestmark = pytest.mark.usefixtures("as_in_the_pages")


def a_run(bleu, seed=0):
    scores = {
        split: {
            "beam, lowercased": {"bleu": bleu - less},
            "greedy, lowercased": {"bleu": bleu - less - 1},
        }
        for split, less in zip(TEST_SPLITS["multi30k"], (0, 7), strict=True)
    }
    log = [
        {"step": 5, "epoch": 0, "loss": 6.0},
        {"step": 9, "epoch": 1, "validation_loss": 3.0, "validation_bleu": bleu / 2},
        {"step": 18, "epoch": 2, "validation_loss": 2.0, "validation_bleu": bleu},
    ]
    kept = dict.fromkeys(multi30k_runs.KEPT, 1)
    validation = {"bleu": bleu, "chrf": bleu + 20, "length_ratio": 0.98}
    return {
        **kept,
        "config": {"seed": seed},
        "parameters": 2_345_678,
        "parameters_without_tables": 1_230_000,
        "seconds": 120,
        "validation_loss": 1.5,
        "validation_scores": {"beam, cased": validation},
        "scores": scores,
        "log": log,
        "left out": 7,
    }


def a_part(*bleus, names=(), missing=()):
    runs = [a_run(bleu, seed) for seed, bleu in enumerate(bleus)]
    names = names or [f"seed_{i}" for i in range(len(runs))]
    return {
        "bleu": bleu_statistics(runs),
        "missing": dict.fromkeys(missing, "the time was over"),
        "jobs_at_once": 3,
        "runs": dict(zip(names, runs, strict=True)),
    }


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder as the script leaves it."""
    made = {
        "en_de": a_part(39.0, 40.0, 41.0),
        "de_en": a_part(42.0, missing=["seed_1"]),
        "ladder": a_part(10, 20, 30, 31, 35, names=ch12_comparisons.LADDER),
        "ablation": a_part(35.0, 34.0, names=["as_it_is", "heads_1"], missing=["rest"]),
    }
    runs = tmp_path / "runs"
    runs.mkdir()
    for name, part in made.items():
        (runs / f"{name}.json").write_text(json.dumps(part), encoding="utf-8")
    monkeypatch.setenv("ATTNBOOK_RUN", str(runs))
    return runs


def test_runs_are_collected_without_what_no_page_shows(folder):
    parts = multi30k_runs.multi30k_runs()["parts"]
    assert {*parts} >= {"en_de", "de_en", "ladder", "ablation"}
    assert parts["de_en"]["missing"] == ["seed_1"]
    assert parts["de_en"]["jobs_at_once"] == 3
    run = parts["de_en"]["runs"]["seed_0"]
    assert set(run) == {*multi30k_runs.KEPT, *multi30k_runs.LATER, "log"}
    assert [line["epoch"] for line in run["log"]] == [1, 2]


def test_a_part_that_the_folder_lacks_stays_as_it_is_stored(folder):
    (folder / "ablation.json").unlink()
    parts = multi30k_runs.multi30k_runs()["parts"]
    stored = results.load("multi30k_runs")["parts"]
    assert {*parts} == {*multi30k_runs.PARTS, "ablation_fp32"}
    assert parts["ablation"] == stored["ablation"] != {}
    assert parts["en_de"] != stored["en_de"]


def test_a_folder_without_runs_is_refused(tmp_path, monkeypatch):
    monkeypatch.setenv("ATTNBOOK_RUN", str(tmp_path))
    with pytest.raises(ValueError, match=r"holds none of en_de, .*ATTNBOOK_RUN"):
        multi30k_runs.multi30k_runs()


def test_the_models_are_shown_and_drawn(folder, stored):
    stored(ch12_comparisons.NAME, **multi30k_runs.multi30k_runs())
    speeds = {
        name: {"tokens_per_second": 1000 + i}
        for i, name in enumerate(ch12_comparisons.LADDER)
    }
    stored("processor_speeds", models=speeds)
    assert [row[1:] for row in ch12_comparisons.models_table().rows()] == [
        (2.345678, 1.23, 1000 + i, 1.5, bleu, bleu + 20, 0.98)
        for i, bleu in enumerate((10, 20, 30, 31, 35))
    ]
    (ax,) = ch12_comparisons.ladder_figure().axes
    ends = {line.get_label(): line.get_xydata()[-1].tolist() for line in ax.lines}
    assert ends["initial state only"] == [2, 10]
    assert ends["Transformer"] == [2, 35]
    assert {*ch12_comparisons.LADDER} <= {*gpu.LADDER}


@pytest.fixture
def ablation(stored):
    """Every row of the ablation, two of them twice; the first in fp32, too."""
    names = [name for kind in ch12_comparisons.ABLATION.values() for name in kind]
    runs = {name: a_run(30 + i) for i, name in enumerate([*names, "seed_2"])}
    again = {"heads_1": a_run(41)}
    for run in [*runs.values(), *again.values()]:
        scores = run["validation_scores"]
        low = scores["beam, cased"] | {"bleu": scores["beam, cased"]["bleu"] + 1.5}
        scores["beam, lowercased"] = low
    old = {"alpha": 1.0, "validation_bleu_by_alpha": {"0.6": 30.0, "1.0": 29.5}}
    parts = {"ablation": runs, "ablation_seed_2": again}
    parts["ablation_fp32"] = {"as_it_is": old}
    stored(ch12_comparisons.NAME, parts={k: {"runs": v} for k, v in parts.items()})
    return runs


@pytest.mark.usefixtures("ablation")
def test_the_chapter_shows_the_changes_of_the_model():
    first, second, *rows = ch12_comparisons.ablation_table().rows()
    assert first == ("unchanged", (1.5,) * 3, (36.5, 30, 43), (56.5, 50, 63))
    assert second[2] == (36, 31, 41)
    assert [row[2] for row in rows] == [*range(32, 38)]  # one seed


def test_the_laboratory_shows_all_changes_in_lower_case_and_in_fp32(ablation):
    rows = lab12.ablation_table().rows()
    assert rows[0][1:] == ((1.5,) * 3, (36.5, 30, 43), 38, 29.5, 56.5, 0.98)
    assert rows[1][3:5] == (37.5, None)
    assert rows[2][1:] == (1.5, 32, 33.5, None, 52, 0.98)
    assert len(rows) == len(ablation) - 1  # another seed is no row of its own


def test_the_shown_rows_are_all_that_the_script_trains(tmp_path):
    """Pre-norm is the configuration's own; runs in fp32 are a part of their own."""
    shown = [name for kind in ch12_comparisons.ABLATION.values() for name in kind]
    jobs = gpu.Plan(tmp_path, config="multi30k-cpu").jobs("ablation")
    assert {*shown, "fp32", "seed_2"} == {job.name for job in jobs}
