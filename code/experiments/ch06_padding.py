"""Translators that were trained with a padding mask, run with it and without it."""

from __future__ import annotations

from collections.abc import Sequence

from torch import nn

from attnbook.core.vocabulary import EOS
from attnbook.course.ch06.translators import PaddingInSight, ZerosAsPadding, as_kind
from attnbook.data.batching import pad
from attnbook.data.subwords import Subwords
from attnbook.decoding.greedy_search import greedy
from attnbook.models.transformer import Transformer
from attnbook.toy.data import CLAUSES, held_out_pairs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import load_toy_model
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import max_output_len
from attnbook.translation.translator import Translator
from experiments.registry import experiment

EACH = 24  # sentences of one, two, three and four clauses
CAPTIONS = 192
WAYS = {
    "encoder": frozenset({"encoder"}),
    "cross": frozenset({"cross"}),
}


@experiment
def padding_toy() -> dict:
    """Run the toy translator, which was trained with the padding mask, both ways.

    Returns:
        "runs": with the mask and without it, the number of "right" translations of 96
        sentences of one to four clauses in one batch, and of "alone" ones, each in a
        batch of its own, which has no padding.
    """
    pairs = [pair for n in CLAUSES for pair in held_out_pairs(n, EACH)]
    runs = []
    for with_mask, kind in KINDS.items():
        model = as_kind(load_toy_model("transformer"), kind)
        alone = sum(_right(model, [pair]) for pair in pairs)
        right = _right(model, pairs)
        runs.append({"with_mask": with_mask, "right": right, "alone": alone})
        print(f"  {runs[-1]}", flush=True)
    return {"sentences": len(pairs), "runs": runs}


KINDS = {True: Transformer, False: PaddingInSight}


def _right(model: nn.Module, pairs: Sequence[Pair]) -> int:
    outputs = greedy_translations(model, pairs)
    return sum(out == pair.target for out, pair in zip(outputs, pairs, strict=True))


@experiment
def padding_captions() -> dict:
    """Translate captions without the padding mask, in batches of several kinds.

    Returns:
        "bleu": of the first validation captions, decoded greedily with the mask;
        "runs": for each way the BLEU, and how many translations "changed".
    """
    translator = Translator()
    val = load_texts(translator.config, "val")
    english, german = val.source[:CAPTIONS], val.target[:CAPTIONS]
    bare = as_kind(translator.model)
    ways = {
        "with the mask, 32 in file order": (translator.model, 32, False),
        "32 in file order": (bare, 32, False),
        "32 sorted by length": (bare, 32, True),
        "8 in file order": (bare, 8, False),
        "2 in file order": (bare, 2, False),
        "1": (bare, 1, False),
        **{
            f"only {name}, 32 in file order": (as_kind(bare, sees=sees), 32, False)
            for name, sees in WAYS.items()
        },
        "zeros, 32 in file order": (as_kind(bare, ZerosAsPadding), 32, False),
    }
    alone = translate(translator.model, translator.subwords, english, 1)
    runs = []
    for name, (model, size, in_order) in ways.items():
        outputs = translate(model, translator.subwords, english, size, in_order)
        changed = [i for i in range(len(alone)) if alone[i] != outputs[i]]
        runs.append(
            {
                "batches": name,
                "changed": len(changed),
                "bleu": round(corpus_bleu(outputs, german).bleu, 2),
            }
        )
        print(f"  {runs[-1]}", flush=True)
    bleu = round(corpus_bleu(alone, german).bleu, 2)
    return {"captions": CAPTIONS, "bleu": bleu, "runs": runs}


def translate(
    model: nn.Module,
    subwords: Subwords,
    sentences: Sequence[str],
    size: int,
    by_length: bool = False,
) -> list[str]:
    """Translate greedily in batches of a size, in the order given or by length."""
    ids = [[*subwords.encode(sentence), EOS] for sentence in sentences]
    order = [*range(len(ids))]
    if by_length:
        order.sort(key=lambda i: len(ids[i]))
    found = [""] * len(ids)
    for start in range(0, len(ids), size):
        group = order[start : start + size]
        src = pad([ids[i] for i in group])
        limits = [max_output_len(len(ids[i])) for i in group]
        rows = greedy(model, src, limits).tolist()
        for i, row in zip(group, rows, strict=True):
            found[i] = subwords.decode(row)
    return found
