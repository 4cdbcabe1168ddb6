"""How chapter 12's translators are scored, on outputs that are known."""

import json
from types import SimpleNamespace

import torch
from torch import nn

from attnbook.translation.corpora import Texts
from attnbook.translation.translator import MODELS, SHIPPED, Translator
from experiments import ch12_translators as ch12

ONE_VECTOR = {
    "model": nn.Identity(),
    "subwords": SimpleNamespace(encode=lambda text: [4]),
}
"""A translator without attention, as far as its weights are concerned."""


def test_sentences_are_translated_by_models_with_and_without_attention(
    tmp_path, monkeypatch
):
    captions = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei."])
    score = {"bleu": 30.0, "chrf": 50.0}
    facts = dict.fromkeys(("parameters", "updates", "epochs", "validation_loss"), 1)
    facts |= {"config": {}, "precision": "float32", "alpha": 1.0}
    scores = ("greedy, cased", score | {"signature": "x"}), ("beam, cased", score)
    facts["validation_scores"] = dict(scores)
    for name, model in (("transformer", ""), ("bahdanau", "multi30k_bahdanau")):
        run = tmp_path / name
        run.mkdir()
        (run / "model").symlink_to(MODELS / model if model else SHIPPED)
        (run / "results.json").write_text(json.dumps(facts))
        (run / "config.json").write_text("{}")
    monkeypatch.setenv(ch12.RUN_VARIABLE, str(tmp_path))
    monkeypatch.setattr(ch12, "load_texts", lambda *_: captions)
    found = ch12.five_translators()
    assert [*found["models"]] == ["bahdanau", "transformer"]  # of the five
    assert found["captions"]["dog"] == found["captions"]["a"] == 1
    assert found["captions"]["queen"] == 0
    assert found["sentences"] == [ch12.SENTENCE, *captions.source]
    for model in found["models"].values():
        assert model["greedy"] == model["beam"] == score
        for sentence in model["translations"]:
            size = len(sentence["target"]), len(sentence["source"])
            weights = torch.tensor(sentence["weights"])
            assert weights.shape == size
            assert torch.allclose(weights.sum(1), torch.ones(size[0]), atol=0.02)
    shown = found["models"]["transformer"]["translations"][1]
    assert shown["text"] == Translator()(captions.source, width=1)[0]
    assert ch12.caption_weights(SimpleNamespace(**ONE_VECTOR), "a", "b") is None
