"""The report of a run: what it scores is what is stored."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from attnbook.translation import evaluation, report
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.configs import changed, config
from attnbook.translation.corpora import load_texts
from attnbook.translation.train_command import train
from attnbook.translation.trainer import Trainer


def nothing(model, subwords, source, *_, scored=False, **__):
    """In the place of ``beam_translate``."""
    return [("", 0.0) if scored else ""] * len(source)


@pytest.fixture
def scored(finished_run, tmp_path, monkeypatch):
    """The weights at each kind of scoring in a new report, and the run's folder."""
    folder = shutil.copytree(finished_run.folder, tmp_path / "run")
    trainer, weights = Trainer(finished_run.config, folder), {}

    def noted(name, answer):
        def score(*given, **how):
            found = trainer.model.state_dict().items()
            weights[name] = {entry: w.clone() for entry, w in found}
            return answer(*given, **how)

        return score

    losses = trainer.validation_loss
    monkeypatch.setattr(
        report, "bleu_by_alpha", noted("alphas", lambda *_, **__: {0.5: 1.0})
    )
    monkeypatch.setattr(report, "beam_translate", noted("translations", nothing))
    monkeypatch.setattr(trainer, "validation_loss", noted("loss", losses))
    report.finish(trainer)
    return weights, folder


def test_the_scores_are_those_of_the_stored_weights(scored):
    """They are stored in half precision, so that is what must be scored."""
    weights, folder = scored
    stored = load_file(folder / "model" / "weights.safetensors")
    assert {w.dtype for w in stored.values()} == {torch.float16}
    assert set(weights) == {"alphas", "translations", "loss"}
    for used in weights.values():
        for name, w in stored.items():
            assert torch.equal(w.float(), used[name]), name


def test_only_frozen_recipes_are_scored_on_multi30k():
    """With any seed and languages; what compares is scored on validation data."""
    for name in report.HEADLINES:
        free = {"data": "multi30k", "seed": 7, "precision": "bf16"}
        report.check_may_test(config(name, score_tests=True, **free))
    report.check_may_test(config("multi30k-cpu", source="de", target="en"))
    report.check_may_test(config("multi30k-cpu", n_heads=8, score_tests=False))
    report.check_may_test(config("toy", n_heads=2))
    with pytest.raises(ValueError, match=r"none of those .* add score_tests=false"):
        report.check_may_test(config("multi30k-cpu", n_heads=8))


def test_a_refused_recipe_trains_nothing(tmp_path):
    with pytest.raises(ValueError, match="comparisons are made on validation data"):
        train(config("multi30k-cpu", dropout=0.1), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_per_token_no_alpha_is_searched(finished_run, tmp_path, monkeypatch):
    """Beam search then ranks by log p over the length, in all that is scored."""
    folder = shutil.copytree(finished_run.folder, tmp_path / "run")
    trainer = Trainer(finished_run.config, folder)
    trainer.config = changed(finished_run.config, per_token=True)
    asked = []

    def translate(*given, **how):
        asked.append((*given[4:], how["per_token"]))
        return nothing(*given, **how)

    monkeypatch.setattr(report, "beam_translate", translate)
    monkeypatch.setattr(evaluation, "beam_translate", translate)
    assert report.finish(trainer)["alpha"] == 1.0
    assert {*asked} == {(1.0, True)}


@pytest.mark.parametrize("tests", [True, False])
def test_a_comparison_leaves_the_test_sets_alone(
    finished_run, tmp_path, monkeypatch, tests
):
    folder = shutil.copytree(finished_run.folder, tmp_path / "run")
    trainer = Trainer(changed(finished_run.config, score_tests=tests), folder)
    opened, load = [], report.load_texts
    monkeypatch.setattr(
        report,
        "load_texts",
        lambda run, split: opened.append(split) or load(run, split),
    )
    monkeypatch.setattr(report, "bleu_by_alpha", lambda *_, **__: {0.5: 1.0})
    found = report.finish(trainer)
    splits = {"val", "test"} if tests else {"val"}
    hypotheses = json.loads((folder / "hypotheses.json").read_text())
    assert {*opened} - {"train"} == {*hypotheses} == splits
    assert {*found["scores"]} == splits - {"val"}
    right = load_texts(trainer.config, "val").target
    for how, lowercase in (("cased", False), ("lowercased", True)):
        again = corpus_scores(hypotheses["val"]["beam"], right, lowercase)
        assert found["validation_scores"][f"beam, {how}"] == again._asdict()
