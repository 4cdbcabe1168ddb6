"""What the shipped model's translations are worth, and what decoding does to them."""

from __future__ import annotations

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
from attnbook.translation.bleu_score import corpus_bleu, paired_bootstrap
from attnbook.translation.configs import from_json
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.models import model_from_config
from attnbook.translation.trainer import encode_pairs, target_tokens
from attnbook.translation.training_state import average_weights
from attnbook.translation.translator import Translator

WIDTHS = (1, 2, 3, 5, 8, 12)
BEAM_SENTENCES = 300
LENGTHS = ((1, 8), (9, 11), (12, 14), (15, 18), (19, 99))
"""Words of the source, first and last of each group."""
LOSS_SENTENCES = 300
RUN = "ATTNBOOK_RUN"


def multi30k_beams() -> dict:
    """Decode the first validation sentences with beams of several widths.

    Returns:
        "runs": by width BLEU, processor seconds, and how long the translations are
        beside the references, as words.
    """
    translator, runs = Translator(), []
    val = load_texts(translator.config, "val")
    source, references = (side[:BEAM_SENTENCES] for side in val)
    for width in WIDTHS:
        start = time.process_time()
        said = translator(source, width)
        took = time.process_time() - start
        score = corpus_bleu(said, references)
        runs.append(
            {
                "width": width,
                "bleu": round(score.bleu, 2),
                "seconds": round(took, 2),
                "length": round(words(said) / words(references), 4),
            }
        )
        print(f"  {runs[-1]}", flush=True)
    return {
        "sentences": len(source),
        "alpha": translator.facts["alpha"],
        "signature": score.signature,
        "runs": runs,
    }


def words(sentences: list[str]) -> int:
    """Words between spaces, over all sentences."""
    return sum(len(sentence.split()) for sentence in sentences)


def multi30k_scores() -> dict:
    """Look at the stored translations of the test set of 2016 from several sides.

    Returns:
        "comparison": greedy decoding beside the beam, by paired bootstrap; "margin":
        of the beam's BLEU, by :func:`margin`; "by_length": BLEU by words of the
        source; "scorings": the same translations scored in several ways; "worst":
        numbers of the sentences with the lowest BLEU of their own, from eight words
        on; "losses": see :func:`losses`.
    """
    split = "test_2016_flickr"
    found = results.load("multi30k_en_de_hypotheses")[split]
    translator = Translator()
    source, references = load_texts(translator.config, split)
    said = found["beam"]
    return {
        "split": split,
        "comparison": paired_bootstrap(said, found["greedy"], references)._asdict(),
        "margin": margin(said, references),
        "by_length": by_length(source, said, references),
        "scorings": scorings(said, references),
        "worst": worst(said, references),
        "loss_sentences": LOSS_SENTENCES,
        "losses": losses(translator),
    }


def margin(said: list[str], references: list[str]) -> float:
    """Half the range that holds 95 of 100 BLEUs, if sentences are drawn anew."""
    test = PairedTest(
        [("it", said), ("itself", said)],  # it needs two, and gives each its range
        {"BLEU": BLEU(force=True)},
        [references],
        test_type="bs",
        n_samples=1000,
    )
    _, scores = test()
    return round(scores["BLEU"][0].ci, 2)


@torch.no_grad()
def losses(translator: Translator, number: int = LOSS_SENTENCES) -> list[dict]:
    """Mean loss a token of training and of validation sentences, measured alike.

    Args:
        translator: Its model is asked in training mode, too.
        number: The first sentences of each split.

    Returns:
        With dropout and without, smoothed and not: "train" and "val", in nats.
    """
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
    """Loss a target token, in the mode that the model is in."""
    total = 0.0
    for pairs in batches:
        batch = id_batch(pairs)
        logits = translator.model(batch.src, batch.tgt_in)
        total += label_smoothing_loss(logits, batch.tgt_out, smoothing).sum().item()
    return round(total / target_tokens(batches), 4)


def by_length(source: list[str], said: list[str], references: list[str]) -> list[dict]:
    """BLEU of the sentences of like length, with its :func:`margin`."""
    groups = []
    for first, last in LENGTHS:
        some = [i for i, s in enumerate(source) if first <= len(s.split()) <= last]
        ours, right = ([side[i] for i in some] for side in (said, references))
        groups.append(
            {
                "first": first,
                "last": last,
                "sentences": len(some),
                "bleu": round(corpus_bleu(ours, right).bleu, 2),
                "margin": margin(ours, right),
            }
        )
    return groups


def scorings(said: list[str], references: list[str]) -> list[dict]:
    """Score one and the same output by other rules."""
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
        score = metric.corpus_score(said, [references]).score
        signature = str(metric.get_signature())
        found.append({"rule": name, "bleu": round(score, 2), "signature": signature})
    return found


def worst(said: list[str], references: list[str], number: int = 20) -> list[int]:
    """Numbers of the sentences whose own BLEU is lowest."""
    metric = BLEU(effective_order=True)
    own = {
        i: metric.sentence_score(words, [right]).score
        for i, (words, right) in enumerate(zip(said, references, strict=True))
        if len(right.split()) >= 8
    }
    return sorted(own, key=own.get)[:number]


def multi30k_average() -> dict:
    """Average the last epochs of a run, more and more of them, and decode greedily.

    Reads the run's folder, which the environment variable ``ATTNBOOK_RUN`` names; if it
    does not, ``runs/multi30k-cpu-0``, where ``--config multi30k-cpu`` puts it.

    Returns:
        "runs": by number of epochs averaged, validation BLEU of greedy decoding.

    Raises:
        ValueError: If there is no run.
    """
    folder = Path(os.environ.get(RUN, "runs/multi30k-cpu-0"))
    run = from_json(folder / "config.json")
    subwords = Subwords.load(folder / "subwords.json")
    model = model_from_config(run, len(subwords)).eval()
    val, runs = load_texts(run, "val"), []
    kept = sorted((folder / "epochs").glob("*.safetensors"))
    for number in (n for n in (1, 2, 5, 10) if n <= len(kept)):
        model.load_state_dict(average_weights(kept[-number:]), strict=False)
        said = beam_translate(model, subwords, val.source, width=1)
        score = corpus_bleu(said, val.target).bleu
        runs.append({"epochs": number, "validation_bleu": round(score, 2)})
        print(f"  {runs[-1]}", flush=True)
    return {"last_epoch": int(kept[-1].stem), "runs": runs}
