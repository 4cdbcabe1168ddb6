"""A trained model and its subwords in one folder, and the reports of a run."""

import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from attnbook.core import results
from attnbook.core.divergence import DivergedError
from attnbook.data.subwords import Subwords
from attnbook.translation import report
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.configs import config
from attnbook.translation.corpora import load_texts
from attnbook.translation.doubts import quantile
from attnbook.translation.models import model_from_config
from attnbook.translation.train_command import after_divergence
from attnbook.translation.trainer import Trainer
from attnbook.translation.training_state import average_weights, save_state
from attnbook.translation.translator import MAX_SUBWORDS, Translator, save_translator


@pytest.fixture
def model_folder(finished_run, tmp_path):
    """A copy of the run's model, to be spoiled."""
    return Path(shutil.copytree(finished_run.folder / "model", tmp_path / "model"))


@pytest.fixture(scope="module")
def translator(finished_run):
    return Translator(finished_run.folder / "model")


@pytest.fixture(scope="module")
def test_split(finished_run):
    return load_texts(finished_run.config, "test")


# The translator


def test_the_folder_of_a_run_stands_for_its_model(finished_run, translator, tmp_path):
    for folder in (finished_run.folder, str(finished_run.folder)):
        assert Translator(folder).facts == translator.facts
    (tmp_path / "config.json").write_text("{}")
    with pytest.raises(ValueError, match="is not finished: resume it by the command"):
        Translator(tmp_path)


def test_it_says_what_the_run_said(finished_run, translator, test_split):
    """Word for word: what was scored has the precision of what is kept."""
    stored = finished_run.hypotheses["test"]
    for name, width in (("greedy", 1), ("beam", 5)):
        assert translator(test_split.source, width=width) == stored[name]
    assert translator(test_split.source) == translator(test_split.source, width=5)


def test_three_in_100_validation_texts_are_below_the_stored_limit(
    finished_run, translator
):
    texts = load_texts(finished_run.config, "val").source
    for name, width in (("greedy", 1), ("beam", 5)):
        log_probs = [log_prob for _, log_prob in translator(texts, width, scored=True)]
        limit = quantile(log_probs, 0.03)
        assert translator.usual["unsure"][name] == pytest.approx(limit, abs=1e-3)


def test_weights_are_stored_in_half_and_used_in_full(finished_run, model_folder):
    size = (model_folder / "weights.safetensors").stat().st_size
    parameters = finished_run.results["parameters"]
    assert 2 * parameters < size < 2 * parameters + 10_000
    model = Translator(model_folder).model
    assert {p.dtype for p in model.parameters()} == {torch.float32}
    assert not model.training


def test_empty_sentences_stay_empty_and_white_space_does_not_count(translator):
    sentence = "the dog sees a farmer"
    (output,) = translator([sentence])
    found = translator(["", sentence, " ", "\u00a0the  dog sees\ta\u00a0farmer "])
    assert found == ["", output, "", output]
    blank, (text, log_prob) = translator([" ", sentence], scored=True)
    assert (blank, text) == (("", 0.0), output)
    assert log_prob < 0
    assert translator([]) == []
    assert translator([""]) == [""]


def test_the_penalty_is_the_one_chosen_unless_another_is_given(
    translator, test_split, monkeypatch
):
    asked = []
    monkeypatch.setattr(
        "attnbook.translation.translator.beam_translate",
        lambda *args, scored: asked.append(args[3:]) or ["x"],
    )
    translator(["the dog"])
    translator(["the dog"], width=2, alpha=0.0)
    assert asked == [(5, translator.facts["alpha"]), (2, 0.0)]


def test_a_sentence_of_2000_words_is_refused(translator):
    message = rf"sentence 2 has \d{{4}} subwords; at most {MAX_SUBWORDS} can"
    with pytest.raises(ValueError, match=message):
        translator(["the dog", "dog " * 2000])


def test_signs_and_special_words_do_no_harm(translator):
    output = translator(["漢字 <eos> <pad>", "<pad>", "<eos> the dog", "!?", "\u200b"])
    assert len(output) == 5


def spoil(folder, how):
    facts, subwords = folder / "facts.json", folder / "subwords.json"
    if how == "no subwords":
        subwords.unlink()
    elif how == "other subwords":
        Subwords.train(["aa bb aa bb"], 9).save(subwords)
    elif how == "no facts":
        facts.write_text("{}")
    else:
        content = json.loads(facts.read_text()) | {"alpha": "1.0"}
        facts.write_text(json.dumps(content))


@pytest.mark.parametrize(
    ("how", "message"),
    [
        ("no subwords", r"subwords\.json holds no subwords"),
        ("other subwords", r"subwords\.json in .* is not the one that the model was"),
        ("no facts", r"facts\.json has no entry 'config'; it is no translator; give"),
        ("alpha", r"facts\.json: alpha is '1\.0'; it must be a number"),
    ],
)
def test_a_spoiled_folder_is_told(model_folder, how, message):
    spoil(model_folder, how)
    with pytest.raises(ValueError, match=message):
        Translator(model_folder)


@pytest.mark.parametrize("name", ["bahdanau", "static_context"])
def test_every_model_of_the_course_can_be_kept(tmp_path, name):
    subwords = Subwords.train(["ein Mann geht, a man goes"] * 2, 40)
    chosen = config("toy", model=name, d_model=8)
    model = model_from_config(chosen, len(subwords)).eval()
    save_translator(model, subwords, chosen, tmp_path / "kept", alpha=0.5, note="x")
    kept = Translator(str(tmp_path / "kept"))
    assert (kept.config, kept.facts["alpha"], kept.facts["note"]) == (chosen, 0.5, "x")
    assert {p.dtype for p in model.parameters()} == {torch.float32}  # as it was
    half = model.half().float()
    for one, other in zip(kept.model.parameters(), half.parameters(), strict=True):
        assert torch.equal(one, other)
    assert len(kept(["a man"], width=1)) == 1


# The report of a run


def test_the_report_says_all_that_is_promised(finished_run):
    found = finished_run.results
    assert found == json.loads((finished_run.folder / "results.json").read_text())
    assert found["config"] == asdict(finished_run.config)
    assert set(found) >= {
        *("config", "machine", "commit", "precision", "processes", "versions"),
        *("parameters", "updates", "epochs", "seconds", "tokens_per_second"),
        *("peak_memory_mb", "validation_loss", "validation_bleu_by_alpha", "alpha"),
        *("averaged_epochs", "weights_sha256", "scores"),
    }
    assert found["versions"]["torch"] == torch.__version__
    assert found["versions"]["sacrebleu"] == version("sacrebleu")
    assert found["precision"] == "float32"
    assert found["processes"] == 1
    assert found["machine"] == results.machine()
    assert found["updates"] == finished_run.updates
    assert (found["epochs"], found["averaged_epochs"]) == (2, 2)
    assert found["tokens_per_second"] > 0
    assert 50 < found["peak_memory_mb"] < 100_000
    weights = (finished_run.folder / "model" / "weights.safetensors").read_bytes()
    assert found["weights_sha256"] == hashlib.sha256(weights).hexdigest()


def test_the_penalty_is_the_best_on_the_validation_split(finished_run):
    found = finished_run.results
    by_alpha = {float(a): b for a, b in found["validation_bleu_by_alpha"].items()}
    assert by_alpha[found["alpha"]] == max(by_alpha.values())
    assert Translator(finished_run.folder / "model").facts["alpha"] == found["alpha"]


def test_only_as_many_epochs_as_asked_for_are_averaged(finished_run, tmp_path):
    folder = shutil.copytree(finished_run.folder, tmp_path / "run")
    shorter = finished_run.config.__class__(
        **asdict(finished_run.config) | {"average": 1}
    )
    found = report.write_results(Trainer(shorter, folder))
    assert found["averaged_epochs"] == 1
    wanted = average_weights([folder / "epochs" / "0002.safetensors"])
    for name, w in Translator(folder / "model").model.named_parameters():
        assert torch.equal(w, wanted[name].half().float())


def test_the_commit_is_that_of_the_repository_that_tracks_the_code(
    tmp_path, monkeypatch
):
    """Outside of one it is the commit that is told."""

    def git(*arguments):
        who = ("-c", "user.name=A", "-c", "user.email=a@b.c")
        command = ["git", "-C", str(tmp_path), *who, *arguments]
        subprocess.run(command, check=True, capture_output=True)

    file = tmp_path / "report.py"
    file.write_text("1\n")
    monkeypatch.setattr(report, "__file__", str(file))
    monkeypatch.setenv(report.COMMIT_VARIABLE, "abc1234")
    git("init", "--quiet")
    git("commit", "--quiet", "--allow-empty", "--message=of something else")
    assert report.commit() == "abc1234"
    git("add", "report.py")
    git("commit", "--quiet", "--message=of the code")
    assert re.fullmatch("[0-9a-f]{7,}", report.commit())
    file.write_text("2\n")
    assert report.commit().endswith("-dirty")


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
