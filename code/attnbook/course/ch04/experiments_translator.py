"""The shipped translator, on validation captions: what is cut, counted and measured."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from statistics import fmean

import torch
from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.analysis.word_maps import word_weights
from attnbook.course.kit.experiments import experiment
from attnbook.data.batching import IdPair, id_batch
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.models import model_from_config
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator

N_CAPTIONS = 300
SEEDS = (0, 1, 2)
ADJECTIVES = """
old young little small big large tall short black white red blue green yellow orange
brown gray grey pink purple blond dark bright empty busy crowded wooden happy wet dirty
colorful elderly asian african male female beautiful older younger
"""
NOUNS = """
man woman boy girl child dog cat horse person people men women boys girls children dogs
shirt jacket dress hat coat pants shorts jeans suit uniform helmet hair car truck bus
bike bicycle boat ball street building house wall fence field grass table bench chair
room window door sign tree trees water pool beach sand snow rock hill mountain road
sidewalk bridge stage crowd group couple lady guy baby toddler animal bird shoes skirt
shirts sweater tie bag umbrella
"""


# What goes wrong without a part


@contextmanager
def silenced(modules: Sequence[nn.Module]) -> Iterator[None]:
    """Let modules return zeros until the ``with`` block ends."""
    handles = [
        m.register_forward_hook(lambda m, i, output: 0 * output) for m in modules
    ]
    try:
        yield
    finally:
        for handle in handles:
            handle.remove()


@contextmanager
def without_root(model: nn.Module) -> Iterator[None]:
    """Leave scores undivided in all attentions until the ``with`` block ends."""
    modules = [m for m in model.modules() if isinstance(m, MultiHeadAttention)]
    for module in modules:
        module.scale = 1.0
    try:
        yield
    finally:
        for module in modules:
            module.scale = None


@contextmanager
def equal_weights(modules: Sequence[MultiHeadAttention]) -> Iterator[None]:
    """Let attentions give all positions equal weights until the ``with`` block ends.

    Their queries are zeros, so all scores are 0; a mask still hides what it hides.
    """
    with silenced([module.W_Q for module in modules]):
        yield


def repeats(text: str) -> bool:
    """Whether two neighbouring words stand in a translation twice."""
    pairs = [*pairwise(text.split())]
    return len({*pairs}) < len(pairs)


@experiment
def translator_cuts() -> dict:
    """Cut a part out of the shipped translator, and translate 300 captions greedily.

    Returns:
        "captions": their number; "runs": for each "cut" its "bleu", and how many
        translations have two neighbouring words "twice".
    """
    translator = Translator()
    model = translator.model
    texts = first(load_texts(translator.config, "val"), N_CAPTIONS)
    cuts: dict[str, Callable] = {
        "nothing": lambda: silenced([]),
        "decoder's self-attention": lambda: silenced(
            [layer.self_attention for layer in model.decoder]
        ),
        "decoder's self-attention: equal weights": lambda: equal_weights(
            [layer.self_attention for layer in model.decoder]
        ),
        "encoder's self-attention": lambda: silenced(
            [layer.attention for layer in model.encoder]
        ),
        "the root": lambda: without_root(model),
    }
    runs = []
    for name, cut in cuts.items():
        with cut():
            outputs = translator(texts.source, width=1)
        bleu = round(corpus_bleu(outputs, texts.target).bleu, 2)
        runs.append({"cut": name, "bleu": bleu, "twice": sum(map(repeats, outputs))})
        print(f"  {runs[-1]}", flush=True)
    return {"captions": N_CAPTIONS, "runs": runs}


def first(texts: Texts, n: int) -> Texts:
    """The first n pairs of a corpus."""
    return Texts(texts.source[:n], texts.target[:n])


# Where the adjectives look


@experiment
def adjective_heads() -> dict:
    """Count where adjectives attend in each head of the shipped encoder.

    An adjective and a noun of two lists stand side by side in a validation caption.
    Does the adjective give its largest weight to the noun? And where two adjectives
    precede the noun, does the first prefer the second one, or the noun?

    Returns:
        "pairs" and "triples": how many there are; "words": how many words have a next
        one; "random": the mean chance of the noun if a word is picked at random;
        "heads": for each layer and head the numbers of "noun" and "next" (any word's
        largest weight is on the next word), and for triples "second" and
        "noun_of_three".
    """
    translator = Translator()
    model, subwords = translator.model, translator.subwords
    n_layers, n_heads = len(model.encoder), model.encoder[0].attention.n_heads
    counts = torch.zeros(n_layers, n_heads, 4, dtype=torch.long)
    pairs = triples = n_words = 0
    chances = []
    texts = load_texts(translator.config, "val").source
    for caption in texts:
        maps, words = encoder_word_maps(model, subwords, caption)  # (L, H, S, S)
        winners = maps.argmax(-1)  # (L, H, S)
        counts[..., 1] += (winners[..., :-2] == torch.arange(1, len(words) - 1)).sum(-1)
        n_words += len(words) - 2  # neither the last word nor the end looks ahead
        lower = [word.lower() for word in words]
        for i in adjective_noun_places(lower):
            pairs += 1
            chances.append(1 / len(words))
            counts[..., 0] += winners[..., i] == i + 1
        for i in two_adjective_places(lower):
            triples += 1
            counts[..., 2] += winners[..., i] == i + 1
            counts[..., 3] += winners[..., i] == i + 2
    names = ("noun", "next", "second", "noun_of_three")
    heads = [
        {"layer": layer, "head": head, **dict(zip(names, row, strict=True))}
        for layer, rows in enumerate(counts.tolist())
        for head, row in enumerate(rows)
    ]
    facts = {"captions": len(texts), "pairs": pairs, "triples": triples}
    return facts | {
        "words": n_words,
        "random": round(fmean(chances), 4),
        "heads": heads,
    }


def adjective_noun_places(words: Sequence[str]) -> list[int]:
    """Where an adjective stands right before a noun."""
    adjectives, nouns = set(ADJECTIVES.split()), set(NOUNS.split())
    found = enumerate(pairwise(words))
    return [i for i, (a, b) in found if a in adjectives and b in nouns]


def two_adjective_places(words: Sequence[str]) -> list[int]:
    """Where the first of two adjectives stands, right before a noun."""
    adjectives = set(ADJECTIVES.split())
    places = adjective_noun_places(words)
    return [i - 1 for i in places if i and words[i - 1] in adjectives]


@torch.no_grad()
def encoder_word_maps(model, subwords, caption: str) -> tuple[Tensor, list[str]]:
    """The encoder's weights between words, (L, H, S, S), and the words."""
    pieces = [*subwords.pieces(caption), "<eos>"]
    batch = id_batch([IdPair(subwords.encode(caption), [])])
    maps = attention_maps(model, batch.src, batch.tgt_in)
    found = [w[0] for name, w in maps.items() if name.startswith("encoder")]
    merged = [[word_weights(head, pieces, pieces) for head in layer] for layer in found]
    words = merged[0][0][1]
    return torch.stack([torch.stack([m[0] for m in row]) for row in merged]), words


# How far scores spread


@experiment
def score_spreads() -> dict:
    """The standard deviation of scaled scores, per head of the encoder.

    Returns:
        "runs": for the shipped model ("trained") and for three untrained ones of its
        configuration the standard deviation over all scores of 300 captions, in
        "spreads", (L, H).
    """
    translator = Translator()
    texts = first(load_texts(translator.config, "val"), N_CAPTIONS)
    pairs = encode_pairs(translator.subwords, texts)
    runs = [
        {"model": "trained", "seed": None, "spreads": spreads(translator.model, pairs)}
    ]
    for seed in SEEDS:
        torch.manual_seed(seed)
        fresh = model_from_config(translator.config, len(translator.subwords)).eval()
        runs.append(
            {"model": "untrained", "seed": seed, "spreads": spreads(fresh, pairs)}
        )
    return {"captions": N_CAPTIONS, "runs": runs}


@torch.no_grad()
def spreads(model: nn.Module, pairs: Sequence[IdPair]) -> list[list[float]]:
    """Standard deviation of the encoder's scaled scores: a row a layer, heads in it.

    A row's weights give its scores but for a constant, so each row is centred first.
    """
    squares: list[list[Tensor]] = [[] for _ in model.encoder]
    for pair in pairs:
        batch = id_batch([pair])  # one caption, so no padding
        maps = attention_maps(model, batch.src, batch.tgt_in)
        for layer, found in enumerate(squares):
            scores = maps[f"encoder.{layer}.attention"][0].log()  # (H, S, S)
            scores = scores - scores.mean(-1, keepdim=True)
            found.append(
                scores.square().sum((1, 2)) / (scores[0].numel() - len(scores[0]))
            )
    return [
        [round(x, 3) for x in torch.stack(found).mean(0).sqrt().tolist()]
        for found in squares
    ]
