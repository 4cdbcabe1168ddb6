"""Chapter 12: translators scored, the shipped one from several sides, others beside it.

Runs that a GPU made, and comparisons of their models, were stored by an older state of
this repository: ``git checkout ee4e0849``.
"""

from __future__ import annotations

import json
import os
import re
from collections import Counter
from pathlib import Path

import torch
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest
from torch import Tensor

from attnbook.analysis.maps import attention_maps
from attnbook.core import results
from attnbook.course.kit.word_links import NULL_WORD, train_ibm_model1
from attnbook.data.batching import IdPair, id_batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.transformer import Transformer
from attnbook.translation.bleu_score import (
    corpus_scores,
    paired_bootstrap,
)
from attnbook.translation.configs import from_json, from_stored
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.report import METHODS
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.ch05 import length_batches, mean_loss
from experiments.ch12 import split_words
from experiments.registry import experiment

LOSS_SENTENCES = 300
RUN_VARIABLE = "ATTNBOOK_RUN"


@experiment
def multi30k_scores() -> dict:
    """Evaluate the stored translations of the test set of 2016.

    Returns:
        "comparison": beam search against greedy decoding, by paired bootstrap;
        "margin": that of beam search, by :func:`margin`; "scorings": the same
        translations scored in several ways; "losses": nats per token by split, on the
        first sentences.
    """
    split = "test_2016_flickr"
    translator, found = Translator(), results.load("multi30k_en_de_hypotheses")[split]
    references = load_texts(translator.config, split).target
    outputs = found["beam"]
    return {
        "split": split,
        "comparison": paired_bootstrap(outputs, found["greedy"], references)._asdict(),
        "margin": margin(outputs, references),
        "scorings": scorings(outputs, references),
        "loss_sentences": LOSS_SENTENCES,
        "losses": {x: loss_on_first(translator, x) for x in ("train", "val")},
    }


@experiment
def multi30k_headline() -> dict:
    """Score the stored translations of both test sets, by sacreBLEU alone.

    Returns:
        "scores": by test set, and by decoding and case, BLEU, chrF, their signatures,
        and tokens of the translations for each token of the references.
    """
    stored = results.load("multi30k_en_de_hypotheses")
    config = from_stored(results.load("multi30k_en_de")["config"])
    return {
        "scores": {
            split: scores_by_case(outputs, load_texts(config, split).target)
            for split, outputs in stored.items()
        }
    }


def scores_by_case(outputs: dict[str, list[str]], references: list[str]) -> dict:
    """BLEU and chrF of outputs by their decoding, cased and lowercased."""
    return {
        f"{how}, {case}": corpus_scores(hypotheses, references, lowercase)._asdict()
        for how, hypotheses in outputs.items()
        for case, lowercase in (("cased", False), ("lowercased", True))
    }


def margin(hypotheses: list[str], references: list[str]) -> float:
    """Half the width of the 95 % confidence interval of BLEU, by bootstrap."""
    test = PairedTest(
        # It needs two systems, and gives an interval for each.
        [("it", hypotheses), ("itself", hypotheses)],
        {"BLEU": BLEU(force=True)},
        [references],
        test_type="bs",
        n_samples=1000,
    )
    _, scores = test()
    return round(scores["BLEU"][0].ci, 2)


def loss_on_first(translator: Translator, split: str) -> float:
    """Loss per token on the first sentences of a split, without dropout."""
    first = Texts(*(x[:LOSS_SENTENCES] for x in load_texts(translator.config, split)))
    pairs = encode_pairs(translator.subwords, first)
    return round(mean_loss(translator.model, length_batches(pairs)), 4)


def scorings(hypotheses: list[str], references: list[str]) -> list[dict]:
    """BLEU of the same output with other tokenisation and case."""
    rules = {
        "sacreBLEU's own, cased": {},
        "lowercased": {"lowercase": True},
        "words between spaces": {"tokenize": "none"},
        "words between spaces, lowercased": {"tokenize": "none", "lowercase": True},
        "letter by letter": {"tokenize": "char"},
    }
    found = []
    for name, rule in rules.items():
        metric = BLEU(**rule, force=True)
        score = metric.corpus_score(hypotheses, [references]).score
        signature = str(metric.get_signature())
        found.append({"rule": name, "bleu": round(score, 2), "signature": signature})
    return found


# One sentence, five translators

FIVE = ("initial_state", "static_context", "bahdanau", "luong", "transformer")
CHAPTER_1 = "The old farmer sees a bird and this young queen hears the big dog."
SENTENCE = "The old farmer watches a bird and this young woman follows the big dog."


@experiment
def five_translators() -> dict:
    """Translate one sentence by five models trained alike.

    Reads the runs in the folder named by ``ATTNBOOK_RUN``, by default ``runs``, where
    this command writes them, in one line and with each MODEL of :data:`FIVE`::

        attnbook train --config multi30k-cpu --out runs/MODEL --set model=MODEL
        precision=fp32 peak_learning_rate=0.003 max_epochs=8 average=3 seed=0

    The sentence is that of chapter 1, in which each word that fewer than five training
    captions contain, *sees*, *queen* and *hears*, was exchanged for one that ten or
    more contain: *watches*, *woman*, *follows*. It was fixed before any of the five had
    translated it. A run that isn't finished is left out.

    Returns:
        "captions": for each word of both sentences the number of training captions with
        it; "models": by name the scores of the run, and "translations" of the sentence,
        "text" by greedy decoding and "beam" by a beam of five. With the former go the
        "target" and "source" subwords, and the "weights" (T, S) of a model with
        attention: the Transformer's are the mean over all heads and layers.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs"))
    finished = [name for name in FIVE if (folder / name / "results.json").exists()]
    if not finished:
        raise ValueError(f"no finished run in {folder}: set {RUN_VARIABLE}")
    data = from_json(folder / finished[0] / "config.json")
    words = {
        word.lower() for text in (CHAPTER_1, SENTENCE) for word in split_words(text)
    }
    counts = Counter(
        word
        for line in load_texts(data, "train").source
        for word in {word.lower() for word in split_words(line)} & words
    )
    return {
        "captions": {word: counts[word] for word in sorted(words)},
        "models": {name: one_of_five(folder / name, SENTENCE) for name in finished},
    }


def one_of_five(run: Path, sentence: str) -> dict:
    """A run's scores on validation data, and its translations of a sentence."""
    found = json.loads((run / "results.json").read_text(encoding="utf-8"))
    translator = Translator(run / "model")
    [text] = translator([sentence], width=1)
    pieces = [*map(translator.subwords.pieces, (text, sentence))]
    target, source = ([*side, "<eos>"] for side in pieces)
    [beam] = translator([sentence])
    about = {"text": text, "beam": beam, "target": target, "source": source}
    weights = caption_weights(translator, sentence, text)
    if weights is not None:
        about["weights"] = [[round(w, 3) for w in row] for row in weights.tolist()]
    print(f"  {run.name}: {text}", flush=True)
    kept = ("config", "parameters", "updates", "epochs", "precision", "validation_loss")
    scores = found["validation_scores"]
    return {
        **{entry: found[entry] for entry in kept},
        "alpha": found["alpha"],
        **{
            how: {entry: scores[f"{how}, cased"][entry] for entry in ("bleu", "chrf")}
            for how in METHODS
        },
        "translations": [about],
    }


@torch.no_grad()
def caption_weights(
    translator: Translator, sentence: str, translation: str
) -> Tensor | None:
    """The weights (T, S) on the source under teacher forcing, if the model has any."""
    model, encode = translator.model, translator.subwords.encode
    src, tgt_in, _ = id_batch([IdPair(encode(sentence), encode(translation))])
    if isinstance(model, Transformer):
        maps = attention_maps(model, src, tgt_in)
        cross = [w for name, w in maps.items() if name.endswith("cross_attention")]
        return torch.stack(cross).mean(dim=(0, 2))[0]
    if isinstance(model, Bahdanau | Luong):
        return model(src, tgt_in, need_weights=True)[1][0]
    return None


# The translator in a page

MIN_COUNT = 3  # of a German word; rarer ones are seldom aligned well
WORD = re.compile(r"\w+(?:-\w+)*")


@experiment
def german_glosses() -> dict:
    """Find an English word for every German one of the training captions.

    By IBM Model 1 on words, in both directions: the English word e for which
    t(e | g) · t(g | e) is largest. The table glosses outputs word by word; it is no
    dictionary.

    Returns:
        "least": the least number of times that a word occurs; "glosses": pairs.
    """
    return {
        "least": MIN_COUNT,
        "glosses": glosses(load_texts(Translator().config, "train"), MIN_COUNT),
    }


def glosses(texts: Texts, least: int) -> dict[str, str]:
    """The English word that fits each German word best, in lower case both."""
    numbers: dict[str, int] = {}

    def ids(line: str) -> list[int]:
        words = WORD.findall(line.lower())
        return [numbers.setdefault(word, len(numbers)) for word in words]

    english = [ids(line) for line in texts.source]
    german = [ids(line) for line in texts.target]
    there = [IdPair(*pair) for pair in zip(german, english, strict=True)]
    back = [IdPair(*pair) for pair in zip(english, german, strict=True)]
    forward, backward = train_ibm_model1(there), train_ibm_model1(back)
    best: dict[int, tuple[float, int]] = {}
    for (g, e), p in forward.items():
        if g != NULL_WORD:
            best[g] = max(best.get(g, (0.0, 0)), (p * backward.get((e, g), 0.0), e))
    words = list(numbers)
    counts = Counter(word for line in german for word in line)
    return {
        words[g]: words[e]
        for g, (score, e) in sorted(best.items(), key=lambda item: words[item[0]])
        if counts[g] >= least and score > 0
    }
