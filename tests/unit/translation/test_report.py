"""The report of a run: what it scores is what is stored."""

import json
import shutil

import pytest
import torch
from safetensors.torch import load_file

from attnbook.core.divergence import DivergedError
from attnbook.translation import report
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.configs import config
from attnbook.translation.corpora import load_texts
from attnbook.translation.train_command import after_divergence
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import save_state


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
    report.write_results(trainer)
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


def test_only_frozen_recipes_are_scored_on_multi30k(finished_run):
    """With any seed and languages; what compares is scored on validation data."""
    free = {"data": "multi30k", "seed": 7, "precision": "bf16"}
    both = ("test_2016_flickr", "test_2017_flickr")
    for name in report.HEADLINES:
        assert report.test_splits(config(name, **free)) == both
    assert report.test_splits(config("multi30k-cpu", source="de", target="en")) == both
    assert report.test_splits(config("multi30k-cpu", n_heads=8)) == ()
    assert report.test_splits(config("toy", n_heads=2)) == ("test",)
    assert report.test_splits(finished_run.config) == ("test",)


def test_weights_beyond_half_precision_are_no_finished_model(finished_run, tmp_path):
    """The run is over, so that to resume it would be no remedy."""
    folder = shutil.copytree(finished_run.folder, tmp_path / "run")
    shutil.rmtree(folder / "model")
    trainer = Trainer(finished_run.config, folder)
    with torch.no_grad():
        trainer.model.out.weight[5] = 2e5
    save_state(folder / "epochs" / "0002.safetensors", trainer.model)
    message = r"a weight has grown to 1e\+05, .* half precision, which ends at 65,504"
    with pytest.raises(DivergedError, match=message) as error:
        report.write_results(trainer)
    assert not (folder / "model").exists()
    advice = after_divergence(trainer)
    assert "another folder with --out." in advice
    assert "kept" not in f"{error.value} {advice}"


def test_a_comparison_leaves_the_test_sets_alone(finished_run, tmp_path, monkeypatch):
    folder = shutil.copytree(finished_run.folder, tmp_path / "run")
    trainer, opened, load = Trainer(finished_run.config, folder), [], report.load_texts
    monkeypatch.setattr(report, "test_splits", lambda config: ())
    monkeypatch.setattr(
        report,
        "load_texts",
        lambda run, split: opened.append(split) or load(run, split),
    )
    monkeypatch.setattr(report, "bleu_by_alpha", lambda *_: {0.5: 1.0})
    found = report.write_results(trainer)
    hypotheses = json.loads((folder / "hypotheses.json").read_text())
    assert {*opened} - {"train"} == {*hypotheses} == {"val"}
    assert found["scores"] == {}
    right = load_texts(trainer.config, "val").target
    for how, lowercase in (("cased", False), ("lowercased", True)):
        again = corpus_scores(hypotheses["val"]["beam"], right, lowercase)
        assert found["validation_scores"][f"beam, {how}"] == again._asdict()
