"""Translators that were trained, and are run, with and without a padding mask."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from torch import nn

from attnbook.core.vocabulary import EOS
from attnbook.course.ch06.translators import PaddingInSight, ZerosAsPadding, as_kind
from attnbook.course.kit.experiments import experiment
from attnbook.course.kit.toy_translation import CLAUSES, THREE_SEEDS
from attnbook.data.batching import pad
from attnbook.data.subwords import Subwords
from attnbook.decoding.greedy_search import greedy
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.data import held_out_pairs
from attnbook.toy.language import Pair
from attnbook.toy.metrics import greedy_translations
from attnbook.toy.models import SIZES
from attnbook.toy.training import train_toy_model
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import max_output_len
from attnbook.translation.translator import Translator

EACH = 24  # sentences of one, two, three and four clauses
CAPTIONS = 192
WAYS = {
    "encoder": frozenset({"encoder"}),
    "cross": frozenset({"cross"}),
}


@experiment
def padding_toy() -> dict:
    """Train the toy Transformer with and without padding mask, and run it both ways.

    Returns:
        "runs": for each seed, how the model was trained, and how it was run, the number
        of "right" translations of 96 sentences of one to four clauses in one batch, and
        of "alone" ones, each in a batch of its own, which has no padding.
    """
    pairs = [pair for n in CLAUSES for pair in held_out_pairs(n, EACH)]
    runs = []
    for seed in THREE_SEEDS:
        for trained, kind in KINDS.items():
            model, _ = train_toy_model(_maker(kind), seed)
            for ran, other in KINDS.items():
                tested = as_kind(model, other)
                right = _right(tested, pairs)
                alone = sum(_right(tested, [pair]) for pair in pairs)
                runs.append(
                    {
                        "seed": seed,
                        "trained_with_mask": trained,
                        "run_with_mask": ran,
                        "right": right,
                        "alone": alone,
                    }
                )
                print(f"  {runs[-1]}", flush=True)
    return {"sentences": len(pairs), "runs": runs}


KINDS = {True: Transformer, False: PaddingInSight}


def _maker(kind: type[Transformer]) -> Callable[[int, int], nn.Module]:
    def make(source: int, target: int) -> nn.Module:
        return kind(TransformerConfig(source, target, **SIZES, norm_first=True))

    return make


def _right(model: nn.Module, pairs: Sequence[Pair]) -> int:
    outputs = greedy_translations(model, pairs)
    return sum(out == pair.target for out, pair in zip(outputs, pairs, strict=True))


@experiment
def padding_captions() -> dict:
    """Translate captions without the padding mask, in batches of several kinds.

    Returns:
        "bleu": of the first validation captions, decoded greedily with the mask;
        "runs": for each way the BLEU, how many translations "changed", and
        "first_changed", the first pair of translations, of fewer than 12 words, that
        differ, with the caption.
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
        rows = greedy(model, src, max_output_len(src.shape[1])).tolist()
        for i, row in zip(group, rows, strict=True):
            found[i] = subwords.decode(row)
    return found
