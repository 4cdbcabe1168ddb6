"""Chapter 4: the scale of scores, the fused kernel, the translator's own heads."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import cache, partial
from itertools import pairwise, product
from statistics import fmean
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis.cost import median_seconds, peak_bytes
from attnbook.analysis.maps import attention_maps
from attnbook.analysis.word_maps import word_weights
from attnbook.core.divergence import check_finite
from attnbook.data.batching import IdPair, id_batch
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.scaled_dot_product import attention
from attnbook.nn.scores import AdditiveScore
from attnbook.toy.training import train_step
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.translator import OTHERS, SHIPPED, Translator
from experiments.registry import sweep

# The look-up task

N_KEYS, N_VALUES = 64, 16  # sizes of the two vocabularies
N_PAIRS = 16  # pairs of a key and a value in an example
TESTED = range(50, 401, 50)  # training steps


class Examples(NamedTuple):
    """B examples of 16 key-value pairs and a queried key."""

    query: Tensor  # (B,)  one of the keys
    keys: Tensor  # (B, S), all different
    values: Tensor  # (B, S)
    answer: Tensor  # (B,)  its value


def examples(b: int, generator: torch.Generator) -> Examples:
    """Sample B examples; the pairs are random, so they cannot be memorised."""
    keys = torch.rand(b, N_KEYS, generator=generator).argsort(-1)[:, :N_PAIRS]
    values = torch.randint(N_VALUES, (b, N_PAIRS), generator=generator)
    index = torch.randint(N_PAIRS, (b, 1), generator=generator)
    query, answer = (ids.gather(1, index).squeeze(1) for ids in (keys, values))
    return Examples(query, keys, values, answer)


class ScaledRead(nn.Module):
    """Scaled dot-product attention with learned projections."""

    def __init__(self, d: int, scale: float):
        super().__init__()
        self.scale = scale
        self.W_Q, self.W_K = (nn.Linear(d, d, bias=False) for _ in range(2))
        for linear in (self.W_Q, self.W_K):  # queries and keys of variance 1
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The weighted mean of the values, (B, 1, d)."""
        return attention(self.W_Q(q), self.W_K(k), v, scale=self.scale)


class AdditiveRead(nn.Module):
    """Attention with the additive score, which has its own projections."""

    def __init__(self, d: int, v_std: float | None = None):
        super().__init__()
        self.score = AdditiveScore(d, d, d_attention=d)
        if v_std is not None:
            nn.init.normal_(self.score.v.weight, std=v_std)

    def forward(self, q: Tensor, k: Tensor, v: Tensor) -> Tensor:
        """The weighted mean of the values, (B, 1, d)."""
        return self.score(q, self.score.prepare(k)).softmax(-1) @ v


class LookUp(nn.Module):
    """Looks a query up among keys by one attention, and predicts its value."""

    def __init__(self, d: int, read: nn.Module):
        super().__init__()
        self.read = read
        self.key, self.value = nn.Embedding(N_KEYS, d), nn.Embedding(N_VALUES, d)
        self.W_V = nn.Linear(d, d, bias=False)
        nn.init.xavier_uniform_(self.W_V.weight)
        self.out = nn.Linear(d, N_VALUES)

    def forward(self, query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
        """Compute logits, (B, 16), of queries, (B,), given pairs, (B, S)."""
        q, k = self.key(query)[:, None], self.key(keys)  # (B, 1, d), (B, S, d)
        return self.out(self.read(q, k, self.W_V(self.value(values))).squeeze(1))


def train_look_up(model: LookUp, seed: int) -> list[float]:
    """Train; return the accuracy on 2,000 examples at the steps ``TESTED``."""
    g = torch.Generator().manual_seed(seed)
    test = examples(2000, torch.Generator().manual_seed(99))
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    accuracy = []
    for step in range(1, TESTED[-1] + 1):
        train_step(model, optimizer, examples(64, g), F.cross_entropy, clip=math.inf)
        if step in TESTED:
            with torch.no_grad():
                predicted = model(*test[:-1]).argmax(-1)
            hits = predicted == test.answer
            accuracy.append(round(hits.float().mean().item(), 4))
    check_finite(model.parameters())
    return accuracy


READS = {
    "1": lambda d: ScaledRead(d, 1.0),
    "8/√d": lambda d: ScaledRead(d, 8 * d**-0.5),
    "2/√d": lambda d: ScaledRead(d, 2 * d**-0.5),
    "1/√d": lambda d: ScaledRead(d, d**-0.5),
    "0.5/√d": lambda d: ScaledRead(d, 0.5 * d**-0.5),
    "1/d": lambda d: ScaledRead(d, 1 / d),
    "additive": AdditiveRead,
    "additive, large v": lambda d: AdditiveRead(d, v_std=1.0),
}


@sweep(d_k=(16, 64, 256), score=READS, seed=range(5), steps=[*TESTED])
def look_up(d_k: int, score: str, seed: int) -> dict:
    """Accuracy ("right") with every scale and the additive score, at every width."""
    return {"right": train_look_up(LookUp(d_k, READS[score](d_k)), seed)}


# What the fused kernel saves

HEADS, WIDTH = 8, 64  # H, d_k


@sweep(
    n=(128, 256, 512, 1024, 2048, 4096),
    form=("readable", "fused"),
    heads=HEADS,
    d_k=WIDTH,
)
def fused_cost(n: int, form: str) -> dict:
    """Cost of one self-attention of n positions, without gradients.

    Peak memory in "bytes" beyond q, k and v, and the median processor time in
    "seconds".
    """
    q, k, v = torch.randn(3, 1, HEADS, n, WIDTH)
    call = partial(attention, q, k, v, need_weights=form == "readable")
    with torch.inference_mode():
        return {"bytes": peak_bytes(call), "seconds": median_seconds(call)}


# The shipped translators, on validation captions

TRANSLATORS = {"shipped": SHIPPED, **OTHERS}
N_CAPTIONS = 300
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


@cache
def loaded(name: str) -> tuple[Translator, Texts]:
    """A translator of the package, and the validation captions in its direction."""
    translator = Translator(TRANSLATORS[name])
    return translator, load_texts(replace(translator.config, data="multi30k"), "val")


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


CUTS: dict[str, Callable] = {
    "nothing": lambda model: silenced([]),
    "cross-attention": lambda model: silenced(
        [layer.cross_attention for layer in model.decoder]
    ),
    "decoder's self-attention": lambda model: silenced(
        [layer.self_attention for layer in model.decoder]
    ),
    "decoder's self-attention: equal weights": lambda model: equal_weights(
        [layer.self_attention for layer in model.decoder]
    ),
    "encoder's self-attention": lambda model: silenced(
        [layer.attention for layer in model.encoder]
    ),
    "the root": lambda model: without_root(model),
}


@sweep(translator=TRANSLATORS, cut=CUTS, captions=N_CAPTIONS)
def translator_cuts(translator: str, cut: str) -> dict:
    """Cut a part out of a shipped translator, and translate 300 captions greedily.

    Returns:
        The "bleu", and how many translations have two neighbouring words "twice".
    """
    model, texts = loaded(translator)
    texts = first(texts, N_CAPTIONS)
    with CUTS[cut](model.model):
        outputs = model(texts.source, width=1)
    bleu = round(corpus_bleu(outputs, texts.target).bleu, 2)
    return {"bleu": bleu, "twice": sum(map(repeats, outputs))}


def first(texts: Texts, n: int) -> Texts:
    """The first n pairs of a corpus."""
    return Texts(texts.source[:n], texts.target[:n])


# Where the adjectives look


DETERMINERS = "a an the"
READERS = ("shipped", "distilled")  # of English
Rule = Callable[[Sequence[str]], list[tuple[int, int]]]
"""From words in lower case, where a word stands and where it may look."""


@sweep(translator=READERS)
def adjective_heads(translator: str) -> dict:
    """Count where words put their largest weight, in each head of an encoder.

    Returns:
        "counted": for each of :data:`RULES` the number of cases in the validation
        captions; "random": the mean chance of the noun if a word is picked at random;
        "heads": for each layer and head in how many cases the largest weight is where
        the rule says. The rules "swapped" are counted in captions whose adjective and
        noun have changed places.
    """
    model, texts = loaded(translator)
    encoder = model.model.encoder
    n_layers, n_heads = len(encoder), encoder[0].attention.n_heads
    hits = {name: torch.zeros(n_layers, n_heads, dtype=torch.long) for name in RULES}
    counted, chances = Counter(), []
    for caption in texts.source:
        for text, rules in (caption, USUAL), (swapped(caption), SWAPPED):
            if text is None:
                continue
            maps, words = encoder_word_maps(model.model, model.subwords, text)
            winners = maps.argmax(-1)  # (L, H, S)
            lower = [word.lower() for word in words]
            for name, rule in rules.items():
                places = rule(lower)
                counted[name] += len(places)
                for i, j in places:
                    hits[name] += winners[..., i] == j
            if rules is USUAL:
                chances += [1 / len(words) for _ in adjective_noun_places(lower)]
    heads = [
        {"layer": n, "head": h} | {name: int(of[n, h]) for name, of in hits.items()}
        for n, h in product(range(n_layers), range(n_heads))
    ]
    return {"counted": counted, "random": round(fmean(chances), 4), "heads": heads}


def adjective_noun_places(words: Sequence[str]) -> list[int]:
    """Where an adjective stands right before a noun."""
    return [i for i, j in before(ADJECTIVES, NOUNS)(words)]


def before(first: str, second: str | None) -> Rule:
    """Where words of one list stand right before one of another, or of no list."""
    ones, others = set(first.split()), set((second or NOUNS + ADJECTIVES).split())

    def rule(words: Sequence[str]) -> list[tuple[int, int]]:
        pairs = enumerate(pairwise(words[:-1]))  # without the end
        return [
            (i, i + 1)
            for i, (a, b) in pairs
            if a in ones and (b in others) == (second is not None)
        ]

    return rule


def behind(distance: int) -> Rule:
    """Where an adjective stands right behind a noun, and a word at a distance."""
    rule = before(NOUNS, ADJECTIVES)
    return lambda words: [
        (j, j + distance) for _, j in rule(words) if j + distance < len(words) - 1
    ]


def swapped(caption: str) -> str | None:
    """A caption whose first adjective before a noun stands behind it; None: no such."""
    words = caption.split()
    places = adjective_noun_places([*(w.lower() for w in words), "<eos>"])
    if not places or not (i := places[0]):  # the first word has a capital letter
        return None
    return " ".join([*words[:i], words[i + 1], words[i], *words[i + 2 :]])


USUAL: dict[str, Rule] = {
    "noun": before(ADJECTIVES, NOUNS),
    "next": lambda words: [(i, i + 1) for i in range(len(words) - 2)],
    "determiner": before(DETERMINERS, NOUNS),
    "no noun": before(ADJECTIVES, None),
}
SWAPPED = {"swapped: noun": behind(-1), "swapped: next": behind(1)}
RULES = USUAL | SWAPPED
"""Adjective → its noun; any word → the next; article → its noun; adjective → a next
word that is on no list."""


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
