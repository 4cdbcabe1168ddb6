"""Chapter 12's experiments on translations, probes and heads, at small size."""

import json

import pytest
import torch
from sacrebleu.metrics import CHRF

from attnbook.analysis.ibm_model1 import align_words, train_ibm_model1
from attnbook.core import results
from attnbook.course.kit.exercises.checking import find
from attnbook.data.batching import IdPair, id_batch
from attnbook.data.subwords import Subwords
from attnbook.nn.losses import token_loss
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs
from attnbook.toy.models import load_toy_model
from attnbook.translation.bleu_from_scratch import matching_ngrams
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.configs import config, to_json
from attnbook.translation.corpora import Texts
from attnbook.translation.models import model_from_config
from attnbook.translation.training_state import save_state
from attnbook.translation.translator import SHIPPED, Translator
from experiments import ch12_probes as probes
from experiments import ch12_scores as decoding

# What the laboratory says without a table


def test_speeds_of_decoding_are_as_the_laboratory_says():
    rows = results.load("processor_speeds")["decoding"]
    found = [(row["width"], row["ours"], row["marian"]) for row in rows]
    assert found == [(1, 7371, 6559), (5, 1774, 1298)]


def test_agreement_of_heads_with_model_1_is_as_the_laboratory_says():
    found = results.load("multi30k_probes")
    first, *others = [[round(100 * x) for x in layer] for layer in found["heads"]]
    assert (min(first), max(first)) == (14, 34)
    assert (min(map(min, others)), max(map(max, others))) == (30, 49)
    assert [round(100 * found[x]) for x in ("mean", "diagonal")] == [57, 35]


# Decoding and scoring


def test_sentences_are_grouped_by_words_of_the_source():
    lengths = decoding.LENGTHS
    assert [b for _, b in lengths[:-1]] == [a - 1 for a, _ in lengths[1:]]
    source = ["w " * 8] * 3 + ["w " * 9] * 2 + ["w " * n for n, _ in lengths[2:]]
    right = ["a b c d e"] * 3 + ["f g h i j"] * 2 + ["p q r s"] * 3
    output = right[:3] + ["x y z v w"] * 2 + right[5:]
    groups = decoding.by_length(source, output, right)
    assert [g["sentences"] for g in groups] == [3, 2, 1, 1, 1]
    assert groups[0]["bleu"] == 100 > 10 > groups[1]["bleu"]
    assert groups[0]["margin"] == 0  # whatever is drawn, all of it is right


def test_the_margin_is_wide_where_sentences_differ_and_few():
    right = ["a b c d e", "f g h i j"]
    few = decoding.margin([right[0], "x"], right)
    many = decoding.margin([right[0], "x"] * 50, right * 50)
    assert few > 2 * many > 0


def test_losses_are_of_both_splits_in_all_four_ways(monkeypatch):
    text = {
        "train": ["A dog runs.", "Two dogs run in the snow.", "never asked"],
        "val": ["A man reads.", "A woman sits.", "never asked"],
    }
    monkeypatch.setattr(decoding, "load_texts", lambda run, split: (text[split],) * 2)
    translator = Translator()
    rows = decoding.losses(translator, number=2)
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
    assert rows[1]["train"] != rows[1]["val"]


def test_scores_by_decoding_and_case():
    outputs = {"greedy": ["Ein Hund läuft im Schnee."], "beam": ["Ein Hund läuft."]}
    right = ["ein Hund läuft im Schnee."]
    found = decoding.scores_by_case(outputs, right)
    assert list(found) == [
        f"{x}, {y}" for x in outputs for y in ("cased", "lowercased")
    ]
    assert found["greedy, lowercased"]["bleu"] == pytest.approx(100)
    assert found["greedy, lowercased"]["chrf"] == pytest.approx(100)
    chrf = CHRF().corpus_score(outputs["greedy"], [right]).score
    assert found["beam, cased"]["chrf"] < found["greedy, cased"]["chrf"] == chrf


def test_one_output_is_scored_by_several_rules():
    output, right = ["Ein Hund läuft im Schnee."], ["ein Hund läuft im Schnee!"]
    rows = {row["rule"]: row for row in decoding.scorings(output, right)}
    plain, theirs = rows["sacreBLEU's own, cased"], corpus_bleu(output, right)
    assert plain["bleu"] == round(theirs.bleu, 2)
    assert plain["signature"] == theirs.signature
    assert rows["lowercased"]["bleu"] > plain["bleu"]
    assert "tok:none" in rows["words between spaces"]["signature"]
    assert len({row["signature"] for row in rows.values()}) == len(rows)


def test_the_worst_come_first_and_short_ones_not_at_all():
    right = ["a b c d e f g h i", "a b", "a b c d e f g h"]
    output = ["a b c d e f g h i", "x", "a b c x y z v w"]
    assert decoding.worst(output, right) == [2, 0]
    assert decoding.count_words(["a b.", "c"]) == 3


def test_a_run_is_compared_with_the_shipped_model(tmp_path, monkeypatch):
    text = Texts(["A dog runs.", "Two men sit."], ["Ein Hund rennt.", "Zwei Männer."])
    monkeypatch.setattr(decoding, "load_texts", lambda config, split: text)
    monkeypatch.setenv(decoding.RUN_VARIABLE, "")
    with pytest.raises(ValueError, match="set ATTNBOOK_RUN"):
        decoding.multi30k_against_shipped()
    monkeypatch.setenv(decoding.RUN_VARIABLE, str(tmp_path))
    (tmp_path / "model").symlink_to(SHIPPED)
    facts = dict(results.load("multi30k_en_de"), precision="bfloat16")
    facts["config"] = {**facts["config"], "r_drop": 5.0}
    (tmp_path / "results.json").write_text(json.dumps(facts))
    found = decoding.multi30k_against_shipped()
    (run,) = found["runs"]
    assert (found["precision"], run["precision"]) == ("float32", "bfloat16")
    assert run["config"] == {"r_drop": 5.0}
    assert run["bleu"] == run["other"]
    assert run["p_value"] == 1


def test_the_last_epochs_are_averaged(tmp_path, monkeypatch):
    """A run's folder with two epochs of weights, 0 and 2 everywhere."""
    run, values = config("toy"), []
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

    def translate(model, subwords, sentences, width):
        values.append({p.unique().item() for p in model.parameters()})
        assert width == 1
        assert not model.training
        return [f"{s} x" for s in sentences]

    monkeypatch.setenv(decoding.RUN_VARIABLE, str(tmp_path))
    monkeypatch.setattr(decoding, "beam_translate", translate)
    found = decoding.multi30k_average()
    assert found["last_epoch"] == 2
    assert [run["epochs"] for run in found["runs"]] == [1, 2]
    assert values == [{2.0}, {1.0}]


def test_stored_results_are_of_the_shipped_model():
    facts = Translator().facts
    assert results.load("multi30k_beams")["alpha"] == facts["alpha"]
    run = results.load("multi30k_en_de")["scores"]
    found = results.load("multi30k_scores")
    scores = run["test_2016_flickr"]
    assert found["comparison"]["bleu"] == pytest.approx(scores["beam, cased"]["bleu"])
    assert found["comparison"]["other"] == pytest.approx(
        scores["greedy, cased"]["bleu"]
    )
    headline = results.load("multi30k_headline")["scores"]
    assert headline.keys() == run.keys()
    for split, scores in headline.items():
        for name, score in scores.items():
            assert score["bleu"] == pytest.approx(run[split][name]["bleu"])
            assert score["signature"] == run[split][name]["signature"]
    outputs = results.load("multi30k_en_de_hypotheses")["test_2016_flickr"]["beam"]
    one, other = (outputs[i] for i in found["worst"][:2])  # as the laboratory says
    assert "Budonch" in one
    assert "Donama" in other


# A remark of the page


def test_the_parrot_is_scored_as_by_hand():
    output, reference = ["a", "dog"] * 4, ["a", "dog", "runs", "after", "a", "dog"]
    found = [matching_ngrams(output, reference, n) for n in (1, 2, 3, 4)]
    assert found == find("ex12_matches").reference
    smoothed = (4 / 8 * 2 / 7 * 1 / 12 * 1 / 20) ** 0.25
    found = corpus_bleu([" ".join(output)], [" ".join(reference)]).bleu
    assert found == pytest.approx(100 * smoothed)
    assert round(found, 1) == 15.6


# Probes and heads, where the truth is known


@pytest.fixture(scope="module")
def toy():
    pairs = held_out_pairs(2, 300)
    ids = [IdPair(SOURCE.encode(p.source), TARGET.encode(p.target)) for p in pairs]
    return ids, train_ibm_model1(ids)


def test_labels_are_of_the_position_and_its_neighbours(toy):
    ids, table = toy
    pair = ids[0]
    labels = {name: make(pair, table) for name, make in probes.LABELS.items()}
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
    positions = probes.collect_states(load_toy_model("transformer"), ids, table)
    n = sum(len(pair.source) for pair in ids)
    assert [x.shape for x in positions.states] == [(n, 64)] * 3
    own = probes.probe_layers(positions, "itself", 0)
    assert own["by_layer"][0] > 0.99
    assert own["by_subword"] == 1
    translation = probes.probe_layers(positions, "its translation", 0)
    assert translation["chance"] < 0.3 < 0.7 < max(translation["by_layer"])
