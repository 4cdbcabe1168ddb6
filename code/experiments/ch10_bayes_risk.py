"""Which sample is most like the others, and is it better than the most probable one?"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from sacrebleu.metrics import CHRF

from attnbook.core.vocabulary import EOS
from attnbook.data.batching import pad
from attnbook.decoding.sampling import sample
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate, max_output_len
from attnbook.translation.translator import Translator
from experiments.registry import experiment

CAPTIONS, WIDTH, MOST = 300, 5, 16
NUMBERS = (4, 16)
KINDS = {"temperature 1": {}, "top-p 0.9": {"top_p": 0.9}}


@experiment
def bayes_risk() -> dict:
    """Score minimum-Bayes-risk decoding on validation captions.

    Of a number of samples it takes the one with the greatest mean chrF against all, as
    if each of them were the reference.

    Returns:
        "scores": by way of decoding BLEU and chrF, cased.
    """
    translator, metric = Translator(), CHRF()
    both = load_texts(translator.config, "val")
    source, references = both.source[:CAPTIONS], both.target[:CAPTIONS]
    search = translator.model, translator.subwords, source
    alpha = translator.facts["alpha"]
    outputs = {
        "greedy": beam_translate(*search, 1, alpha),
        f"beam of {WIDTH}": beam_translate(*search, WIDTH, alpha),
    }
    for kind, options in KINDS.items():
        drawn = [draw(translator, text, options) for text in source]
        outputs[f"{kind}: one sample"] = [texts[0] for texts in drawn]
        for number in NUMBERS:
            name = f"{kind}: the most similar of {number}"
            outputs[name] = [most_similar(t[:number], metric) for t in drawn]
    scores = {}
    for name, texts in outputs.items():
        found = corpus_scores(texts, references)
        scores[name] = {"bleu": round(found.bleu, 2), "chrf": round(found.chrf, 2)}
        print(f"  {name}: {scores[name]}", flush=True)
    return {"captions": CAPTIONS, "scores": scores}


def draw(translator: Translator, text: str, options: dict) -> list[str]:
    """Sample translations of a caption, the same in every call."""
    src = pad([[*translator.subwords.encode(text), EOS]]).repeat(MOST, 1)
    generator = torch.Generator().manual_seed(0)
    longest = max_output_len(src.shape[1])
    ids = sample(translator.model, src, longest, generator, **options)
    return [translator.subwords.decode(row) for row in ids.tolist()]


def most_similar(texts: Sequence[str], metric: CHRF) -> str:
    """The text with the greatest mean chrF against all; the first of several."""
    counts = [
        sum(metric.sentence_score(text, [other]).score for other in texts)
        for text in texts
    ]
    return texts[counts.index(max(counts))]
