"""Experiments of chapter 12's second half, at small size and on the toy language."""

import json

import pytest
import torch
from sacrebleu.metrics import CHRF

from attnbook.analysis.ibm_model1 import align_words, train_ibm_model1
from attnbook.core import results
from attnbook.course.ch12 import (
    experiment_multi30k_decoding as multi30k_decoding,
)
from attnbook.course.ch12 import (
    experiment_multi30k_probes as multi30k_probes,
)
from attnbook.course.ch12 import (
    experiment_toy_ablation as toy_ablation,
)
from attnbook.data.batching import IdPair, id_batch
from attnbook.data.subwords import Subwords
from attnbook.nn.losses import token_loss
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.models import load_toy_model
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import CONFIGS, config, to_json
from attnbook.translation.corpora import Texts
from attnbook.translation.models import model_from_config
from attnbook.translation.training_state import save_state
from attnbook.translation.translator import SHIPPED, Translator

# Decoding and scoring


def test_sentences_are_grouped_by_words_of_the_source():
    source = ["w " * 8] * 3 + ["w " * 9] * 2
    right = ["a b c d e"] * 3 + ["f g h i j"] * 2
    output = right[:3] + ["x y z v w"] * 2
    multi = multi30k_decoding
    lengths = multi.LENGTHS
    assert [b for _, b in lengths[:-1]] == [a - 1 for a, _ in lengths[1:]]
    source += ["w " * first for first, _ in lengths[2:]]
    output += ["p q r s"] * 3
    right += ["p q r s"] * 3
    groups = multi.by_length(source, output, right)
    assert [g["sentences"] for g in groups] == [3, 2, 1, 1, 1]
    assert groups[0]["bleu"] == 100 > 10 > groups[1]["bleu"]
    assert groups[0]["margin"] == 0  # whatever is drawn, all of it is right


def test_the_margin_is_wide_where_sentences_differ_and_few():
    right = ["a b c d e", "f g h i j"]
    few = multi30k_decoding.margin([right[0], "x"], right)
    many = multi30k_decoding.margin([right[0], "x"] * 50, right * 50)
    assert few > 2 * many > 0


def test_losses_are_of_both_splits_in_all_four_ways(monkeypatch):
    text = {
        "train": ["A dog runs.", "Two dogs run in the snow.", "never asked"],
        "val": ["A man reads.", "A woman sits.", "never asked"],
    }
    monkeypatch.setattr(
        multi30k_decoding, "load_texts", lambda run, split: (text[split], text[split])
    )
    translator = Translator()
    rows = multi30k_decoding.losses(translator, number=2)
    smoothing = translator.config.smoothing
    assert [(row["dropout"], row["smoothing"]) for row in rows] == [
        (True, smoothing),
        (True, 0.0),
        (False, smoothing),
        (False, 0.0),
    ]
    assert not translator.model.training
    ids = [translator.subwords.encode(s) for s in text["val"][:2]]
    batch = id_batch([IdPair(x, x) for x in ids])
    with torch.no_grad():
        logits = translator.model(batch.src, batch.tgt_in)
    assert rows[3]["val"] == pytest.approx(
        token_loss(logits, batch.tgt_out).item(), abs=1e-3
    )
    assert rows[1]["val"] != rows[3]["val"]
    assert rows[1]["train"] != rows[1]["val"]


def test_headline_scores_are_those_of_sacrebleu_and_of_the_run():
    stored = results.load("multi30k_headline")["scores"]
    run = results.load("multi30k_en_de")["scores"]
    assert stored.keys() == run.keys()
    for split, scores in stored.items():
        for name, score in scores.items():
            assert score["bleu"] == pytest.approx(run[split][name]["bleu"])
            assert score["signature"] == run[split][name]["signature"]


def test_scores_by_decoding_and_case():
    outputs = {"greedy": ["Ein Hund läuft im Schnee."], "beam": ["Ein Hund läuft."]}
    right = ["ein Hund läuft im Schnee."]
    found = multi30k_decoding.scores_by_case(outputs, right)
    assert list(found) == [
        "greedy, cased",
        "greedy, lowercased",
        "beam, cased",
        "beam, lowercased",
    ]
    assert found["greedy, lowercased"]["bleu"] == pytest.approx(100)
    assert found["greedy, lowercased"]["chrf"] == pytest.approx(100)
    assert (
        found["greedy, cased"]["chrf"]
        == CHRF().corpus_score(outputs["greedy"], [right]).score
    )
    assert found["beam, cased"]["chrf"] < found["greedy, cased"]["chrf"]


def test_one_output_is_scored_by_several_rules():
    output, right = ["Ein Hund läuft im Schnee."], ["ein Hund läuft im Schnee!"]
    rows = {row["rule"]: row for row in multi30k_decoding.scorings(output, right)}
    plain = rows["sacreBLEU's own, cased"]
    assert plain["bleu"] == round(corpus_bleu(output, right).bleu, 2)
    assert plain["signature"] == corpus_bleu(output, right).signature
    assert rows["lowercased"]["bleu"] > plain["bleu"]
    assert "tok:none" in rows["words between spaces"]["signature"]
    assert len({row["signature"] for row in rows.values()}) == len(rows)


def test_the_worst_come_first_and_short_ones_not_at_all():
    right = ["a b c d e f g h i", "a b", "a b c d e f g h"]
    output = ["a b c d e f g h i", "x", "a b c x y z v w"]
    assert multi30k_decoding.worst(output, right) == [2, 0]


def test_words_are_counted_between_spaces():
    assert multi30k_decoding.count_words(["a b.", "c"]) == 3


def test_a_run_is_compared_with_the_shipped_model(tmp_path, monkeypatch):
    text = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei Männer."])
    monkeypatch.setattr(multi30k_decoding, "load_texts", lambda config, split: text)
    monkeypatch.setenv(multi30k_decoding.RUN_VARIABLE, str(tmp_path))
    with pytest.raises(ValueError, match="model"):
        multi30k_decoding.multi30k_against_shipped()
    (tmp_path / "model").symlink_to(SHIPPED)
    facts = dict(results.load("multi30k_en_de"), precision="bfloat16")
    facts["config"] = {**facts["config"], "r_drop": 5.0}
    (tmp_path / "results.json").write_text(json.dumps(facts))
    found = multi30k_decoding.multi30k_against_shipped()
    (run,) = found["runs"]
    assert found["precision"] == "float32"
    assert run["precision"] == "bfloat16"
    assert run["config"] == {"r_drop": 5.0}
    assert run["bleu"] == run["other"]
    assert run["p_value"] == 1


def test_without_a_run_there_is_nothing_to_compare(monkeypatch):
    monkeypatch.delenv(multi30k_decoding.RUN_VARIABLE, raising=False)
    with pytest.raises(ValueError, match="set ATTNBOOK_RUN"):
        multi30k_decoding.multi30k_against_shipped()


@pytest.fixture
def _a_run(tmp_path, monkeypatch):
    """A run's folder with two epochs of weights, 0 and 2 everywhere."""
    run = config("toy")
    text = ["the dog sees a cat", "der hund sieht eine katze"] * 5
    subwords = Subwords.train(text, 40)
    subwords.save(tmp_path / "subwords.json")
    (tmp_path / "config.json").write_text(to_json(run))
    (tmp_path / "epochs").mkdir()
    for number, value in ((1, 0.0), (2, 2.0)):
        model = model_from_config(run, len(subwords))
        with torch.no_grad():
            for p in model.parameters():
                p.fill_(value)
        save_state(tmp_path / "epochs" / f"{number:04}.safetensors", model)
    monkeypatch.setenv(multi30k_decoding.RUN_VARIABLE, str(tmp_path))


@pytest.mark.usefixtures("_a_run")
def test_the_last_epochs_are_averaged(monkeypatch):
    values = []

    def translate(model, subwords, sentences, width):
        values.append({p.unique().item() for p in model.parameters()})
        assert width == 1
        assert not model.training
        return [f"{s} x" for s in sentences]

    monkeypatch.setattr(multi30k_decoding, "beam_translate", translate)
    found = multi30k_decoding.multi30k_average()
    assert found["last_epoch"] == 2
    assert [run["epochs"] for run in found["runs"]] == [1, 2]
    assert values == [{2.0}, {1.0}]


# Probes and heads, where the truth is known


@pytest.fixture(scope="module")
def toy():
    pairs = held_out_pairs(2, 300)
    ids = [IdPair(SOURCE.encode(p.source), TARGET.encode(p.target)) for p in pairs]
    return ids, train_ibm_model1(ids)


def test_labels_are_of_the_position_and_its_neighbours(toy):
    ids, table = toy
    pair = ids[0]
    labels = {name: make(pair, table) for name, make in multi30k_probes.LABELS.items()}
    assert labels["itself"] == list(pair.source)
    assert labels["the one before"] == [-1, *pair.source[:-1]]
    assert labels["the one after"] == [*pair.source[1:], -1]
    positions = align_words(pair, table)
    for j, target in enumerate(labels["its translation"]):
        if target == -1:
            assert j not in positions
        else:
            assert target == pair.target[positions.index(j)]


def test_probes_read_off_what_is_there(toy):
    ids, table = toy
    positions = multi30k_probes.collect_states(
        load_toy_model("transformer"), ids, table
    )
    assert len(positions.states) == 3
    n = sum(len(pair.source) for pair in ids)
    assert all(x.shape == (n, 64) for x in positions.states)
    own = multi30k_probes.probe_layers(positions, "itself", 0)
    assert own["by_layer"][0] > 0.99
    assert own["by_subword"] == 1
    translation = multi30k_probes.probe_layers(positions, "its translation", 0)
    assert translation["chance"] < 0.3 < 0.7 < max(translation["by_layer"])


def test_heads_of_the_toy_model_align(toy):
    ids, table = toy
    pairs = held_out_pairs(2, 50)
    found = multi30k_probes.score_heads(load_toy_model("transformer"), ids[:50], table)
    assert [len(layer) for layer in found["heads"]] == [4, 4]
    assert min(map(min, found["heads"])) < found["mean"]
    # The model looks where it should, so it agrees with Model 1 where that is right.
    right = [
        j == truth
        for pair, both in zip(pairs, ids[:50], strict=True)
        for j, truth in zip(align_words(both, table), pair.alignment, strict=True)
        if j is not None
    ]
    assert found["mean"] == pytest.approx(sum(right) / len(right), abs=0.05)


def test_the_diagonal_is_as_far_along():
    assert multi30k_probes.diagonal(IdPair([5] * 3, [6] * 5)) == [0, 0, 1, 2, 2]
    assert multi30k_probes.diagonal(IdPair([5] * 4, [6])) == [0]


def test_the_diagonal_is_scored_where_model_1_aligns(toy):
    ids, table = toy
    found = multi30k_probes.score_heads(load_toy_model("transformer"), ids[:50], table)
    right = [
        j == k
        for pair in ids[:50]
        for j, k in zip(
            align_words(pair, table), multi30k_probes.diagonal(pair), strict=True
        )
        if j is not None
    ]
    assert found["diagonal"] == pytest.approx(sum(right) / len(right), abs=1e-4)


# The ablation


def test_each_change_is_a_config():
    for change in toy_ablation.CHANGES.values():
        run = config("toy", max_epochs=toy_ablation.EPOCHS, **change)
        assert (run == CONFIGS["toy"]) == (not change)


def test_faultless_is_the_share_of_equal_sentences(monkeypatch):
    pairs = held_out_pairs(2, 4)

    def translate(model, subwords, sources, width):
        assert sources == [" ".join(pair.source) for pair in pairs]
        assert width == 1
        right = [" ".join(pair.target) for pair in pairs]
        return [*right[:3], right[3] + " ek"]

    class AsTrained:
        model, subwords = torch.nn.Identity(), None

    monkeypatch.setattr(toy_ablation, "beam_translate", translate)
    assert toy_ablation.greedy_exact_match(AsTrained(), 2, number=4) == 0.75


def test_every_run_is_stored_and_says_what_the_chapter_says():
    stored = results.load("toy_ablation")
    runs = stored["runs"]
    wanted = {(n, s) for n in toy_ablation.CHANGES for s in toy_ablation.SEEDS}
    assert {(run["change"], run["seed"]) for run in runs} == wanted
    by_change = {
        name: [run for run in runs if run["change"] == name]
        for name in toy_ablation.CHANGES
    }
    for run in by_change["no positions"]:
        assert run["exact"]["2"] < 0.05
    for run in by_change["as it is"]:
        assert run["exact"]["2"] > 0.9
    plain = max(run["validation_loss"] for run in by_change["no smoothing"])
    assert plain < min(run["validation_loss"] for run in by_change["as it is"])


def test_stored_results_are_of_the_shipped_model():
    facts = Translator().facts
    assert results.load("multi30k_beams")["alpha"] == facts["alpha"]
    stored = results.load("multi30k_probes")
    layers, heads = facts["config"]["n_layers"], facts["config"]["n_heads"]
    assert [len(row) for row in stored["heads"]] == [heads] * layers
    assert len(stored["probes"][0]["by_layer"]) == layers + 1
    run = results.load("multi30k_en_de")
    scores = run["scores"]["test_2016_flickr"]
    found = results.load("multi30k_scores")["comparison"]
    assert found["bleu"] == pytest.approx(scores["beam, cased"]["bleu"])
    assert found["other"] == pytest.approx(scores["greedy, cased"]["bleu"])
