"""What comes from a GPU stands next to a CPU's runs."""

import json
import zipfile
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from experiments import ch12_gpu
from experiments import ch12_training as training


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


PARTS = {"en_de": part({}), "speed": part({})}


@pytest.fixture
def packed(tmp_path):
    def write(parts):
        with zipfile.ZipFile(tmp_path / "results.zip", "w") as archive:
            for name, values in parts.items():
                archive.writestr(f"{name}.json", json.dumps(values))
        return tmp_path / "results.zip"

    return write


def test_runs_that_were_stopped_are_kept_apart(tmp_path):
    lines = [{"step": 50, "loss": 3.0}, {"step": 64, "validation_loss": 2.0}]
    for name, files in {"whole": ("results.json",), "stopped": ()}.items():
        run = tmp_path / "recipe" / name
        run.mkdir(parents=True)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (run / "metrics.jsonl").write_text(text)
        for file in ("config.json", *files):
            (run / file).write_text("{}")
    kept = {"config": {}, "log": lines[1:]}
    assert ch12_gpu.unfinished(tmp_path) == {"recipe/stopped": kept}


def test_only_whole_runs_of_a_gpu_are_imported(packed, tmp_path):
    for change in ({"device": "cpu"}, {"plan": {"small": True}}):
        file = packed({"speed": part({}, **change)})
        with pytest.raises(ValueError, match="only a GPU's whole runs are imported"):
            ch12_gpu.collected(file)
        assert ch12_gpu.collected(file, trial=True)["measured"]["speed"]
    with pytest.raises(ValueError, match=r"no results of a GPU.*half_hour.py"):
        ch12_gpu.collected(tmp_path)


def test_they_never_replace_those_of_a_cpu(tmp_path, monkeypatch):
    (tmp_path / "en_de.json").write_text(json.dumps(PARTS["en_de"]))
    monkeypatch.setenv(training.RUN_VARIABLE, str(tmp_path))
    with pytest.raises(ValueError, match=r"made on cuda, .*gpu_runs"):
        training.multi30k_runs()


def test_models_are_compared_on_the_same_captions(tmp_path, monkeypatch):
    """The Transformer's translations are right, the rival's only if they are short."""
    words = [str(i) for i in range(20)]
    captions = [" ".join(words[:n]) for n in (5, 9, 12, 15, 19)] * 4
    half = [line if line == captions[0] else "a cat" for line in captions]
    for name in ("transformer", *ch12_gpu.RIVALS):
        run = tmp_path / "ladder" / name
        run.mkdir(parents=True)
        outputs = captions if name == "transformer" else half
        found = {"val": {"beam": outputs, "greedy": captions}}
        (run / "hypotheses.json").write_text(json.dumps(found))
        (run / "config.json").write_text("{}")
    monkeypatch.setenv(training.RUN_VARIABLE, str(tmp_path))
    monkeypatch.setattr(ch12_gpu, "load_texts", lambda *_: (captions, captions))
    found = ch12_gpu.ladder_scores()
    bleu = {name: groups[1]["bleu"] for name, groups in found["by_length"].items()}
    assert bleu["transformer"] == pytest.approx(100)
    assert bleu["luong"] < 1
    assert found["by_length"]["luong"][0]["bleu"] == pytest.approx(100)
    against = found["against"]
    assert against["beam"]["luong"]["bleu"] > against["beam"]["luong"]["other"]
    assert against["greedy"]["bahdanau"]["other"] == pytest.approx(100)


class Named:
    """Subwords that are known by name and number alone."""

    def __init__(self, names):
        self.tokenizer = self
        self.id_to_token, self.token_to_id = names.__getitem__, names.index
        self.names = names

    def __len__(self):
        return len(self.names)


def test_word_tables_are_put_into_the_order_of_other_subwords():
    model = nn.ModuleList([nn.Embedding(3, 2), nn.Linear(2, 2)])
    old, other = model[0].weight.detach().clone(), model[1].weight.detach().clone()
    own = SimpleNamespace(model=model, subwords=Named(["a", "b", "c"]))
    ch12_gpu.renumbered(own, Named(["c", "a", "b"]))
    assert torch.equal(model[0].weight, old[[2, 0, 1]])
    assert torch.equal(model[1].weight, other)
