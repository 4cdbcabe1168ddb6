"""What comes from a GPU stands next to a CPU's runs, and is told only if there."""

import json
import zipfile

import pytest

from attnbook.core import results
from attnbook.course.ch12 import experiment_gpu, figures_gpu
from attnbook.course.ch12 import experiment_training as training

SCORES = {"beam, cased": {"bleu": 40.5, "signature": "nrefs:1|tok:13a"}}


def part(runs, **changes):
    about = {"machine": "a GPU", "device": "cuda", "commit": "abc", "missing": {}}
    plan = {"small": False, "config": "multi30k-tiny"}
    return {
        **about,
        "plan": plan,
        "bleu": {},
        "jobs_at_once": 3,
        "runs": runs,
    } | changes


def training_run(loss):
    kept = dict.fromkeys([*training.KEPT, *training.LATER], 60)
    return kept | {
        "config": {"batch_tokens": 8192},
        "versions": {"torch": "2.11"},
        "precision": "bfloat16",
        "validation_loss": loss,
        "validation_scores": SCORES,
        "log": [],
    }


PARTS = {
    "en_de": part({f"seed_{i}": training_run(1.5 + i / 10) for i in range(3)}),
    "speed": part(
        {
            "tiny_eager": {
                "matmul_tflops": {"bfloat16": 700.4},
                "eager": [
                    {"name": "+ CUDA graphs", "tokens_per_second": 9, "share": 0.0123},
                    {"name": "Marian", "failed": "not installed"},
                ],
            }
        }
    ),
}


@pytest.fixture
def packed(tmp_path):
    def write(parts):
        with zipfile.ZipFile(tmp_path / "results.zip", "w") as archive:
            for name, values in parts.items():
                archive.writestr(f"{name}.json", json.dumps(values))
        return tmp_path / "results.zip"

    return write


def test_results_of_a_gpu_are_told_once_they_are_there(packed, tmp_path, monkeypatch):
    monkeypatch.setattr(results, "FOLDER", tmp_path)
    assert figures_gpu.gpu_passage() is None
    monkeypatch.setenv(experiment_gpu.RUN_VARIABLE, str(packed(PARTS)))
    results.save("gpu_runs", experiment_gpu.gpu_runs(), 0, tmp_path)
    shown = figures_gpu.gpu_passage()
    for text in (repr(shown), shown._repr_html_()):
        told = ("a GPU", "2.11", "bfloat16", "abc", "8,192", "40.5", "700 in bfloat16")
        for words in (*told, "1.60", "+ CUDA graphs", "1.2"):
            assert words in text
        assert "Marian" not in text
        assert "tok:13a" in text


def test_only_whole_runs_of_a_gpu_are_imported(packed, tmp_path):
    for change in ({"device": "cpu"}, {"plan": {"small": True}}):
        file = packed({"speed": part({}, **change)})
        with pytest.raises(ValueError, match="only a GPU's whole runs are imported"):
            experiment_gpu.collected(file)
        assert experiment_gpu.collected(file, trial=True)["measured"]["speed"]
    with pytest.raises(ValueError, match=r"no results of a GPU.*half_hour.py"):
        experiment_gpu.collected(tmp_path)


def test_they_never_replace_those_of_a_cpu(tmp_path, monkeypatch):
    (tmp_path / "en_de.json").write_text(json.dumps(PARTS["en_de"]))
    monkeypatch.setenv(training.RUN_VARIABLE, str(tmp_path))
    with pytest.raises(ValueError, match=r"made on cuda, .*gpu_runs"):
        training.multi30k_runs()
