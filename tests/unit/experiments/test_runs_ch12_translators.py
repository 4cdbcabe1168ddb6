"""How chapter 12's translators are scored, on outputs that are known."""

import json
from types import SimpleNamespace

import pytest
import torch
from sacrebleu.metrics import CHRF
from torch import nn

from attnbook.data.batching import IdPair, id_batch
from attnbook.nn.losses import token_loss
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import Texts
from attnbook.translation.translator import MODELS, SHIPPED, Translator
from experiments import ch12_translators as ch12

ONE_VECTOR = {
    "model": nn.Identity(),
    "subwords": SimpleNamespace(encode=lambda text: [4]),
}
"""A translator without attention, as far as its weights are concerned."""


def test_the_margin_is_wide_where_sentences_differ_and_few():
    right = ["a b c d e", "f g h i j"]
    few = ch12.margin([right[0], "x"], right)
    many = ch12.margin([right[0], "x"] * 50, right * 50)
    assert few > 2 * many > 0


def test_losses_are_of_both_splits_in_all_four_ways(monkeypatch):
    text = {
        "train": ["A dog runs.", "Two dogs run in the snow.", "never asked"],
        "val": ["A man reads.", "A woman sits.", "never asked"],
    }
    monkeypatch.setattr(ch12, "load_texts", lambda run, split: (text[split],) * 2)
    translator = Translator()
    rows = ch12.losses(translator, number=2)
    smoothing = translator.config.smoothing
    ways = [(dropout, s) for dropout in (True, False) for s in (smoothing, 0.0)]
    assert [(row["dropout"], row["smoothing"]) for row in rows] == ways
    assert not translator.model.training
    ids = [translator.subwords.encode(s) for s in text["val"][:2]]
    batch = id_batch([IdPair(x, x) for x in ids])
    with torch.no_grad():
        loss = token_loss(translator.model(batch.src, batch.tgt_in), batch.tgt_out)
    assert rows[3]["val"] == pytest.approx(loss.item(), abs=1e-3)
    assert rows[1]["val"] != rows[3]["val"]


def test_scores_by_decoding_and_case():
    outputs = {"greedy": ["Ein Hund läuft im Schnee."], "beam": ["Ein Hund läuft."]}
    right = ["ein Hund läuft im Schnee."]
    found = ch12.scores_by_case(outputs, right)
    assert list(found) == [
        f"{x}, {y}" for x in outputs for y in ("cased", "lowercased")
    ]
    assert found["greedy, lowercased"]["bleu"] == pytest.approx(100)
    chrf = CHRF().corpus_score(outputs["greedy"], [right]).score
    assert found["beam, cased"]["chrf"] < found["greedy, cased"]["chrf"] == chrf


def test_one_output_is_scored_by_several_rules():
    output, right = ["Ein Hund läuft im Schnee."], ["ein Hund läuft im Schnee!"]
    rows = {row["rule"]: row for row in ch12.scorings(output, right)}
    plain, theirs = rows["sacreBLEU's own, cased"], corpus_bleu(output, right)
    assert plain["bleu"] == round(theirs.bleu, 2)
    assert plain["signature"] == theirs.signature
    assert rows["lowercased"]["bleu"] > plain["bleu"]
    assert len({row["signature"] for row in rows.values()}) == len(rows)


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
