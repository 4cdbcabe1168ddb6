"""What comes from a GPU stands next to a CPU's runs."""

import json
from types import SimpleNamespace

import pytest
import torch
from torch import nn

from experiments import ch12_gpu


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
    monkeypatch.setenv(ch12_gpu.RUN_VARIABLE, str(tmp_path))
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
