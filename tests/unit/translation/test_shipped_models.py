"""The models of real sentences that come with the package, and their stored results."""

import hashlib
from dataclasses import replace

import pytest
from sacrebleu.metrics import BLEU

from attnbook.core import results
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.transformer import Transformer
from attnbook.translation.configs import from_stored
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import (
    MODELS,
    OTHERS,
    SHIPPED,
    Translator,
    find_model,
)

HEADLINE, BAHDANAU = "multi30k_en_de", "multi30k_bahdanau"
NAMES = [HEADLINE, BAHDANAU, *(folder.name for folder in OTHERS.values())]


@pytest.fixture(scope="module", params=NAMES)
def name(request):
    return request.param


@pytest.fixture(scope="module")
def translator(name):
    return Translator(MODELS / name)


def captions(translator, split):
    """A split of Multi30k; a student's own data are a folder of texts."""
    config = replace(translator.config, data="multi30k")
    return load_texts(config, split)


def test_it_is_the_stored_one(name, translator):
    """In 16 bits per weight the first, the others in eight, unseen by test sets."""
    found = results.load(name)
    weights = (MODELS / name / "weights.safetensors").read_bytes()
    assert hashlib.sha256(weights).hexdigest() == found["weights_sha256"]
    assert isinstance(translator.model, Bahdanau if name == BAHDANAU else Transformer)
    assert translator.facts["alpha"] == found["alpha"]
    assert max(line["step"] for line in found["log"]) == found["updates"]
    if name == HEADLINE:
        assert len(weights) <= 12 * 2**20
        assert translator.config == from_stored(found["config"])
    else:
        assert len(weights) < 1.05 * found["parameters"]
        assert found["config"]["score_tests"] is False
        assert found["scores"] == {}


def test_scores_follow_from_the_stored_translations(requires_data, name, translator):
    """By sacreBLEU alone."""
    found = results.load(name)
    scored = found["scores"] or {"val": found["validation_scores"]}
    outputs = results.load(f"{name}_hypotheses")
    for split, scores in scored.items():
        references = captions(translator, split).target
        assert len(scores) == 4
        for how, score in scores.items():
            method, case = how.split(", ")
            metric = BLEU(lowercase=case == "lowercased")
            again = metric.corpus_score(outputs[split][method], [references])
            assert again.score == pytest.approx(score["bleu"], abs=1e-9)


@pytest.mark.parametrize(("method", "width"), [("greedy", 1), ("beam", 5)])
def test_it_still_translates_as_it_is_stored(
    requires_data, name, translator, method, width
):
    stored = results.load(f"{name}_hypotheses")
    split = next(iter(stored))
    source = captions(translator, split).source[:12]
    pairs = zip(translator(source, width), stored[split][method], strict=False)
    same = sum(a == b for a, b in pairs)
    assert same >= 11  # another processor may round a tie the other way


def test_a_name_is_a_model_unless_there_is_such_a_folder(tmp_path, monkeypatch):
    assert Translator("german-english").config.source == "de"
    assert Translator("distilled").config.source == "en"
    monkeypatch.chdir(tmp_path)
    (tmp_path / "distilled").mkdir()
    assert find_model("distilled") != OTHERS["distilled"]


def test_without_a_name_it_is_that_of_the_book():
    assert Translator().facts == Translator(SHIPPED).facts
    assert Translator()(["Two dogs are playing."]) == ["Zwei Hunde spielen."]
