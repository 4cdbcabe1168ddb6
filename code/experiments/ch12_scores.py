"""Evaluation of the shipped model: BLEU from several sides, beam width, averaging."""

from __future__ import annotations

import json
import os
import random
import time
from pathlib import Path

import torch
from sacrebleu.metrics import BLEU
from sacrebleu.significance import PairedTest

from attnbook.core import results
from attnbook.data.batching import id_batch, token_batches
from attnbook.data.subwords import Subwords
from attnbook.nn.losses import label_smoothing_loss
from attnbook.translation.bleu_score import (
    corpus_bleu,
    corpus_scores,
    paired_bootstrap,
)
from attnbook.translation.configs import from_json, from_stored
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.models import model_from_config
from attnbook.translation.trainer import encode_pairs, target_tokens
from attnbook.translation.training_state import average_weights
from attnbook.translation.translator import Translator
from experiments.registry import experiment

WIDTHS = (1, 2, 3, 5, 8, 12)
BEAM_SENTENCES = 300
LENGTHS = ((1, 8), (9, 11), (12, 14), (15, 18), (19, 99))
"""Least and greatest number of source words of each group."""
LOSS_SENTENCES = 300
RUN_VARIABLE = "ATTNBOOK_RUN"


@experiment
def multi30k_beams() -> dict:
    """Decode the first validation sentences with beams of several widths.

    Returns:
        "runs": by width BLEU, processor seconds, and the length of the translations
        relative to the references, in words.
    """
    translator, runs = Translator(), []
    val = load_texts(translator.config, "val")
    source, references = (side[:BEAM_SENTENCES] for side in val)
    for width in WIDTHS:
        start = time.process_time()
        outputs = translator(source, width)
        seconds = time.process_time() - start
        score = corpus_bleu(outputs, references)
        runs.append(
            {
                "width": width,
                "bleu": round(score.bleu, 2),
                "seconds": round(seconds, 2),
                "length": round(count_words(outputs) / count_words(references), 4),
            }
        )
        print(f"  {runs[-1]}", flush=True)
    return {
        "sentences": len(source),
        "alpha": translator.facts["alpha"],
        "signature": score.signature,
        "runs": runs,
    }


def count_words(sentences: list[str]) -> int:
    """Number of words, separated by spaces, in all sentences."""
    return sum(len(sentence.split()) for sentence in sentences)


@experiment
def multi30k_scores() -> dict:
    """Evaluate the stored translations of the test set of 2016.

    Returns:
        "comparison": beam search against greedy decoding, by paired bootstrap;
        "margin": that of beam search, by :func:`margin`; "by_length": BLEU by number of
        source words; "scorings": the same translations scored in several ways; "worst":
        indices of the sentences of at least eight words with the lowest sentence BLEU;
        "losses": see :func:`losses`.
    """
    split = "test_2016_flickr"
    found = results.load("multi30k_en_de_hypotheses")[split]
    translator = Translator()
    source, references = load_texts(translator.config, split)
    outputs = found["beam"]
    return {
        "split": split,
        "comparison": paired_bootstrap(outputs, found["greedy"], references)._asdict(),
        "margin": margin(outputs, references),
        "by_length": by_length(source, outputs, references),
        "scorings": scorings(outputs, references),
        "worst": worst(outputs, references),
        "loss_sentences": LOSS_SENTENCES,
        "losses": losses(translator),
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


@torch.no_grad()
def losses(translator: Translator, number: int = LOSS_SENTENCES) -> list[dict]:
    """Loss per token on training and on validation sentences, measured alike."""
    batches = {}
    for split in ("train", "val"):
        first = Texts(*(side[:number] for side in load_texts(translator.config, split)))
        pairs = encode_pairs(translator.subwords, first)
        batches[split] = token_batches(
            pairs, translator.config.batch_tokens, random.Random(0)
        )
    rows = []
    for dropout in (True, False):
        for smoothing in (translator.config.smoothing, 0.0):
            translator.model.train(dropout)
            torch.manual_seed(0)
            found = {x: mean_loss(translator, batches[x], smoothing) for x in batches}
            rows.append({"dropout": dropout, "smoothing": smoothing, **found})
    translator.model.eval()
    return rows


def mean_loss(translator: Translator, batches: list, smoothing: float) -> float:
    """Loss per target token, in the current mode of the model."""
    total = 0.0
    for pairs in batches:
        batch = id_batch(pairs)
        logits = translator.model(batch.src, batch.tgt_in)
        total += label_smoothing_loss(logits, batch.tgt_out, smoothing).sum().item()
    return round(total / target_tokens(batches), 4)


def by_length(
    source: list[str], hypotheses: list[str], references: list[str]
) -> list[dict]:
    """BLEU by length of the source, with its :func:`margin`."""
    groups = []
    for first, last in LENGTHS:
        some = [i for i, s in enumerate(source) if first <= len(s.split()) <= last]
        group, refs = ([x[i] for i in some] for x in (hypotheses, references))
        groups.append(
            {
                "first": first,
                "last": last,
                "sentences": len(some),
                "bleu": round(corpus_bleu(group, refs).bleu, 2),
                "margin": margin(group, refs),
            }
        )
    return groups


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


def worst(hypotheses: list[str], references: list[str], number: int = 20) -> list[int]:
    """Indices of the sentences with the lowest sentence BLEU."""
    metric = BLEU(effective_order=True)
    scores = {
        i: metric.sentence_score(hypothesis, [reference]).score
        for i, (hypothesis, reference) in enumerate(
            zip(hypotheses, references, strict=True)
        )
        if len(reference.split()) >= 8
    }
    return sorted(scores, key=scores.get)[:number]


@experiment
def multi30k_against_shipped() -> dict:
    """Compare finished runs with the shipped model, by their validation translations.

    Reads the runs' folders from the environment variable ``ATTNBOOK_RUN``, separated
    like those of ``PATH``. Each model decodes with a beam of five and its own α.

    Returns:
        "runs": for each its "config" where it differs from the shipped model's, its
        precision, seconds of training, and by
        :func:`~attnbook.translation.bleu_score.paired_bootstrap` BLEU ("bleu"), that of
        the shipped model ("other") and the "p_value".
    """
    folders = [Path(p) for p in os.environ.get(RUN_VARIABLE, "").split(os.pathsep) if p]
    if not folders:
        raise ValueError(f"no run to compare: set {RUN_VARIABLE} to folders of runs")
    shipped, recorded = Translator(), results.load("multi30k_en_de")
    val, runs = load_texts(shipped.config, "val"), []
    others = shipped(val.source)
    for folder in folders:
        outputs = Translator(folder / "model")(val.source)
        facts = json.loads((folder / "results.json").read_text(encoding="utf-8"))
        config = facts["config"].items() - recorded["config"].items()
        comparison = paired_bootstrap(outputs, others, val.target)
        about = {key: facts[key] for key in ("precision", "seconds", "epochs")}
        runs.append({"config": dict(config), **about, **comparison._asdict()})
        print(f"  {runs[-1]}", flush=True)
    return {"precision": recorded["precision"], "runs": runs}


@experiment
def multi30k_average() -> dict:
    """Average 1, 2, 5 and 10 of the last epochs of a run, and decode greedily.

    Reads the run's folder, named by the environment variable ``ATTNBOOK_RUN``; by
    default ``runs/multi30k-cpu-0``, where ``--config multi30k-cpu`` writes it.

    Returns:
        "runs": by number of averaged epochs, validation BLEU of greedy decoding.
    """
    folder = Path(os.environ.get(RUN_VARIABLE, "runs/multi30k-cpu-0"))
    run = from_json(folder / "config.json")
    subwords = Subwords.load(folder / "subwords.json")
    model = model_from_config(run, len(subwords)).eval()
    val, runs = load_texts(run, "val"), []
    kept = sorted((folder / "epochs").glob("*.safetensors"))
    for number in (n for n in (1, 2, 5, 10) if n <= len(kept)):
        model.load_state_dict(average_weights(kept[-number:]), strict=False)
        outputs = beam_translate(model, subwords, val.source, width=1)
        score = corpus_bleu(outputs, val.target).bleu
        runs.append({"epochs": number, "validation_bleu": round(score, 2)})
        print(f"  {runs[-1]}", flush=True)
    return {"last_epoch": int(kept[-1].stem), "runs": runs}
