"""How chapter 12's translators are scored, on outputs that are known."""

import json
from types import SimpleNamespace

import pytest
import torch
from sacrebleu.metrics import CHRF
from torch import nn

from attnbook.core import results
from attnbook.data.batching import IdPair, id_batch
from attnbook.data.subwords import Subwords
from attnbook.nn.losses import token_loss
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import config, to_json
from attnbook.translation.corpora import Texts
from attnbook.translation.models import model_from_config
from attnbook.translation.training_state import save_state
from attnbook.translation.translator import MODELS, SHIPPED, Translator
from experiments import ch12_translators as ch12

ONE_VECTOR = {
    "model": nn.Identity(),
    "subwords": SimpleNamespace(encode=lambda text: [4]),
}
"""A translator without attention, as far as its weights are concerned."""


def test_sentences_are_grouped_by_words_of_the_source():
    lengths = ch12.LENGTHS
    assert [b for _, b in lengths[:-1]] == [a - 1 for a, _ in lengths[1:]]
    source = ["w " * 8] * 3 + ["w " * 9] * 2 + ["w " * n for n, _ in lengths[2:]]
    right = ["a b c d e"] * 3 + ["f g h i j"] * 2 + ["p q r s"] * 3
    output = right[:3] + ["x y z v w"] * 2 + right[5:]
    groups = ch12.by_length(source, output, right)
    assert [g["sentences"] for g in groups] == [3, 2, 1, 1, 1]
    assert groups[0]["bleu"] == 100 > 10 > groups[1]["bleu"]
    assert groups[0]["margin"] == 0  # whatever is drawn, all of it is right


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


def test_the_worst_come_first_and_short_ones_not_at_all():
    right = ["a b c d e f g h i", "a b", "a b c d e f g h"]
    output = ["a b c d e f g h i", "x", "a b c x y z v w"]
    assert ch12.worst(output, right) == [2, 0]


def test_a_run_is_compared_with_the_shipped_model(tmp_path, monkeypatch):
    text = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei Männer."])
    monkeypatch.setattr(ch12, "load_texts", lambda config, split: text)
    monkeypatch.setenv(ch12.RUN_VARIABLE, "")
    with pytest.raises(ValueError, match="set ATTNBOOK_RUN"):
        ch12.multi30k_against_shipped()
    monkeypatch.setenv(ch12.RUN_VARIABLE, str(tmp_path))
    (tmp_path / "model").symlink_to(SHIPPED)
    facts = dict(results.load("multi30k_en_de"), precision="bfloat16")
    facts["config"] = {**facts["config"], "r_drop": 5.0}
    (tmp_path / "results.json").write_text(json.dumps(facts))
    found = ch12.multi30k_against_shipped()
    (run,) = found["runs"]
    assert (found["precision"], run["precision"]) == ("float32", "bfloat16")
    assert run["config"] == {"r_drop": 5.0}
    assert run["bleu"] == run["other"]
    assert run["p_value"] == 1


def test_the_last_epochs_are_averaged(tmp_path, monkeypatch):
    """A run's folder with two epochs of weights, 0 and 2 everywhere."""
    run, values = config("toy"), []
    subwords = Subwords.train(["the dog sees a cat", "der hund sieht"] * 5, 40)
    subwords.save(tmp_path / "subwords.json")
    (tmp_path / "config.json").write_text(to_json(run))
    (tmp_path / "epochs").mkdir()
    for number, value in ((1, 0.0), (2, 2.0)):
        model = model_from_config(run, len(subwords))
        with torch.no_grad():
            for p in model.parameters():
                p.fill_(value)
        save_state(tmp_path / "epochs" / f"{number:04}.safetensors", model)

    def translate(model, subwords, sentences, width):
        values.append({p.unique().item() for p in model.parameters()})
        assert width == 1
        assert not model.training
        return [f"{s} x" for s in sentences]

    monkeypatch.setenv(ch12.RUN_VARIABLE, str(tmp_path))
    monkeypatch.setattr(ch12, "beam_translate", translate)
    found = ch12.multi30k_average()
    assert found["last_epoch"] == 2
    assert [run["epochs"] for run in found["runs"]] == [1, 2]
    assert values == [{2.0}, {1.0}]


def test_models_are_compared_on_the_same_captions(tmp_path, monkeypatch):
    """The Transformer's translations are right, the rival's only if they are short."""
    words = [str(i) for i in range(20)]
    captions = [" ".join(words[:n]) for n in (5, 9, 12, 15, 19)] * 4
    half = [line if line == captions[0] else "a cat" for line in captions]
    for name in ("transformer", *ch12.RIVALS):
        run = tmp_path / "ladder" / name
        run.mkdir(parents=True)
        outputs = captions if name == "transformer" else half
        found = {"val": {"beam": outputs, "greedy": captions}}
        (run / "hypotheses.json").write_text(json.dumps(found))
        (run / "config.json").write_text("{}")
    monkeypatch.setenv(ch12.RUN_VARIABLE, str(tmp_path))
    monkeypatch.setattr(ch12, "load_texts", lambda *_: (captions, captions))
    found = ch12.ladder_scores()
    bleu = {name: groups[1]["bleu"] for name, groups in found["by_length"].items()}
    assert bleu["transformer"] == pytest.approx(100)
    assert bleu["luong"] < 1
    against = found["against"]
    assert against["beam"]["luong"]["bleu"] > against["beam"]["luong"]["other"]
    assert against["greedy"]["bahdanau"]["other"] == pytest.approx(100)


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
