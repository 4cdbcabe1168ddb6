"""What the shipped model's layers know, and which of its heads align."""

from __future__ import annotations

import random
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.analysis.ibm_model1 import TranslationTable, align_words, train_ibm_model1
from attnbook.analysis.maps import attention_maps
from attnbook.analysis.probes import fit_probe, layer_states, probe_accuracy
from attnbook.data.batching import IdPair, id_batch
from attnbook.models.transformer import Transformer
from attnbook.translation.corpora import load_texts
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator

SPLITS = (0, 1, 2)  # seeds of what is fitted on and what is tested on
LEAST = 10  # times a label occurs, or it is left out
HEAD_SENTENCES = 300


class Places(NamedTuple):
    """Places of the validation sentences, with what a probe is to say of them."""

    states: list[Tensor]  # of each layer (n, D)
    sentence: Tensor  # (n,) which sentence a place is of
    labels: dict[str, Tensor]  # (n,) ids; -1 where there is none


def multi30k_probes() -> dict:
    """Fit linear probes to every layer of the encoder, and score every cross head.

    Which target word renders which source word Model 1 says, learned from the training
    split; it knows nothing of the model.

    Returns:
        "probes": for each label and split the shares right "by_layer", the share
        of the label that is most frequent for the subword ("by_subword") and for all
        ("chance"), and the number of "places" tested; "heads":
        by layer and head the share of target subwords whose largest weight lies where
        Model 1 puts it, "mean", that of all heads' average, and "diagonal", that of
        who always looks as far along the source.
    """
    translator = Translator()
    train, val = (
        encode_pairs(translator.subwords, load_texts(translator.config, split))
        for split in ("train", "val")
    )
    table = train_ibm_model1(train)
    places = collect(translator.model, val, table)
    probes = [
        {"label": name, "split": seed, **probe(places, name, seed)}
        for name in places.labels
        for seed in SPLITS
    ]
    for found in probes:
        print(f"  {found}", flush=True)
    return {
        "least": LEAST,
        "probes": probes,
        "head_sentences": HEAD_SENTENCES,
        **heads(translator.model, val[:HEAD_SENTENCES], table),
    }


def collect(
    model: Transformer, pairs: Sequence[IdPair], table: TranslationTable
) -> Places:
    """Run the encoder over sentences, one at a time, so that there are no pads."""
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
    return Places(states, torch.tensor(sentence), named)


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
"""What a probe is to say of a source subword."""


def probe(places: Places, label: str, seed: int) -> dict:
    """Fit probes on four fifths of the sentences, and test them on the others."""
    labels = places.labels[label]
    counts = torch.bincount(labels.clamp(min=0), minlength=1)
    real = (labels >= 0) & (counts[labels.clamp(min=0)] >= LEAST)
    number = int(places.sentence.max()) + 1
    tested = set(random.Random(seed).sample(range(number), number // 5))
    test = torch.tensor([s in tested for s in places.sentence.tolist()])
    fitted, test = real & ~test, real & test
    by_layer = [
        probe_accuracy(fit_probe(x[fitted], labels[fitted]), x[test], labels[test])
        for x in places.states
    ]
    most = labels[fitted].mode().values
    return {
        "by_layer": [round(share, 4) for share in by_layer],
        "by_subword": round(without_context(places, labels, fitted, test), 4),
        "chance": round((labels[test] == most).double().mean().item(), 4),
        "places": int(test.sum()),
    }


def without_context(
    places: Places, labels: Tensor, fitted: Tensor, test: Tensor
) -> float:
    """Share right if a subword alone decides: its most frequent label is said."""
    seen: dict[int, Counter] = defaultdict(Counter)
    own = places.labels["itself"]
    for subword, label in zip(
        own[fitted].tolist(), labels[fitted].tolist(), strict=True
    ):
        seen[subword][label] += 1
    usual = {subword: c.most_common(1)[0][0] for subword, c in seen.items()}
    pairs = zip(own[test].tolist(), labels[test].tolist(), strict=True)
    return fmean(usual.get(subword) == label for subword, label in pairs)


def heads(model: Transformer, pairs: Sequence[IdPair], table: TranslationTable) -> dict:
    """Score each cross head: is its largest weight where Model 1 aligns?"""
    hits: list[Tensor] = []
    averaged: list[Tensor] = []
    ruled: list[Tensor] = []
    for pair in pairs:
        batch = id_batch([pair])
        maps = attention_maps(model, batch.src, batch.tgt_in)
        cross = torch.cat([w for n, w in maps.items() if n.endswith("cross_attention")])
        places = align_words(pair, table)
        rows = [i for i, j in enumerate(places) if j is not None]
        right = torch.tensor([places[i] for i in rows])
        hits.append(cross[:, :, rows].argmax(-1) == right)  # (L, H, n)
        averaged.append(cross.mean((0, 1))[rows].argmax(-1) == right)  # (n,)
        ruled.append(torch.tensor(diagonal(pair))[rows] == right)
    by_head = torch.cat(hits, dim=-1).double().mean(-1)  # (L, H)
    return {
        "heads": [[round(x, 4) for x in row] for row in by_head.tolist()],
        "mean": round(torch.cat(averaged).double().mean().item(), 4),
        "diagonal": round(torch.cat(ruled).double().mean().item(), 4),
    }


def diagonal(pair: IdPair) -> list[int]:
    """For each target place the source place that is as far along its sentence."""
    last, end = len(pair.source) - 1, max(len(pair.target) - 1, 1)
    return [round(i * last / end) for i in range(len(pair.target))]
