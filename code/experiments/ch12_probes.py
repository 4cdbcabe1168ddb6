"""Linear probes of the shipped model's encoder, and the alignment of its heads."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.analysis.ibm_model1 import (
    TranslationTable,
    align_words,
    head_agreement,
    train_ibm_model1,
)
from attnbook.analysis.probes import fit_probe, layer_states, probe_accuracy
from attnbook.data.batching import IdPair, id_batch
from attnbook.models.transformer import Transformer
from attnbook.translation.corpora import load_texts
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.registry import experiment

SPLIT_SEEDS = (0, 1, 2)  # of the split into fitted and tested sentences
MIN_COUNT = 10  # occurrences of a label; rarer ones are left out
HEAD_SENTENCES = 300


class ProbeData(NamedTuple):
    """States at n positions of the validation sentences, with labels for probes."""

    states: list[Tensor]  # of each layer (n, D)
    sentence: Tensor  # (n,) index of the sentence
    labels: dict[str, Tensor]  # (n,) ids; -1 where there is none


@experiment
def multi30k_probes() -> dict:
    """Fit linear probes to every layer of the encoder, and score every cross head.

    Word alignments are those of IBM Model 1, learned from the training split and
    independent of the translation model.

    Returns:
        "probes": see :func:`probe_layers`; "heads", "mean" and "diagonal": see
        :func:`~attnbook.analysis.ibm_model1.head_agreement`.
    """
    translator = Translator()
    train, val = (
        encode_pairs(translator.subwords, load_texts(translator.config, split))
        for split in ("train", "val")
    )
    table = train_ibm_model1(train)
    data = collect_states(translator.model, val, table)
    probes = [
        {"label": name, "split": seed, **probe_layers(data, name, seed)}
        for name in data.labels
        for seed in SPLIT_SEEDS
    ]
    for found in probes:
        print(f"  {found}", flush=True)
    heads = head_agreement(translator.model, val[:HEAD_SENTENCES], table)
    return {
        "least": MIN_COUNT,
        "probes": probes,
        "head_sentences": HEAD_SENTENCES,
        "heads": [[round(x, 4) for x in row] for row in heads.heads],
        "mean": round(heads.mean, 4),
        "diagonal": round(heads.diagonal, 4),
    }


def collect_states(
    model: Transformer, pairs: Sequence[IdPair], table: TranslationTable
) -> ProbeData:
    """Run the encoder on one sentence at a time, so that there is no padding."""
    rows: list[list[Tensor]] = []
    sentence: list[int] = []
    labels: dict[str, list[int]] = {name: [] for name in LABELS}
    for number, pair in enumerate(pairs):
        layers = layer_states(model, id_batch([pair]).src)
        rows.append([x[0, :-1] for x in layers])  # without EOS
        sentence += [number] * len(pair.source)
        for name, make in LABELS.items():
            labels[name] += make(pair, table)
    states = [torch.cat(layer) for layer in zip(*rows, strict=True)]
    named = {name: torch.tensor(ids) for name, ids in labels.items()}
    return ProbeData(states, torch.tensor(sentence), named)


def rendered_by(pair: IdPair, table: TranslationTable) -> list[int]:
    """For each source subword the first target subword that renders it, or -1."""
    found = [-1] * len(pair.source)
    for target, j in zip(pair.target, align_words(pair, table), strict=True):
        if j is not None and found[j] == -1:
            found[j] = target
    return found


LABELS: dict[str, Callable[[IdPair, TranslationTable], list[int]]] = {
    "itself": lambda pair, _: list(pair.source),
    "the one before": lambda pair, _: [-1, *pair.source[:-1]],
    "the one after": lambda pair, _: [*pair.source[1:], -1],
    "its translation": rendered_by,
}
"""The labels of a source subword that probes predict."""


def probe_layers(data: ProbeData, label: str, seed: int) -> dict:
    """Fit probes on four fifths of the sentences, and test them on the others.

    Returns the accuracy "by_layer", that of the most frequent label for the subword
    ("by_subword") and overall ("chance"), and the number of positions ("places").
    """
    labels = data.labels[label]
    counts = torch.bincount(labels.clamp(min=0), minlength=1)
    real = (labels >= 0) & (counts[labels.clamp(min=0)] >= MIN_COUNT)
    number = int(data.sentence.max()) + 1
    tested = set(random.Random(seed).sample(range(number), number // 5))
    test = torch.tensor([s in tested for s in data.sentence.tolist()])
    fitted, test = real & ~test, real & test
    by_layer = [
        probe_accuracy(fit_probe(x[fitted], labels[fitted]), x[test], labels[test])
        for x in data.states
    ]
    most = labels[fitted].mode().values
    return {
        "by_layer": [round(share, 4) for share in by_layer],
        "by_subword": round(context_free_accuracy(data, labels, fitted, test), 4),
        "chance": round((labels[test] == most).double().mean().item(), 4),
        "places": int(test.sum()),
    }


def context_free_accuracy(
    data: ProbeData, labels: Tensor, fitted: Tensor, test: Tensor
) -> float:
    """Accuracy of predicting the most frequent label of each subword."""
    seen: dict[int, Counter] = defaultdict(Counter)
    own = data.labels["itself"]
    for subword, label in zip(
        own[fitted].tolist(), labels[fitted].tolist(), strict=True
    ):
        seen[subword][label] += 1
    usual = {subword: c.most_common(1)[0][0] for subword, c in seen.items()}
    pairs = zip(own[test].tolist(), labels[test].tolist(), strict=True)
    return fmean(usual.get(subword) == label for subword, label in pairs)
