"""Chapter 4: the scale of scores, the fused kernel, the translator's own heads."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import partial
from itertools import pairwise
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
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import Texts, load_texts
from attnbook.translation.models import model_from_config
from attnbook.translation.trainer import encode_pairs
from attnbook.translation.translator import Translator
from experiments.registry import experiment, sweep

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

    def __init__(self, d: int, scale: float, start: float = 1.0):
        super().__init__()
        self.scale = scale
        self.W_Q, self.W_K = (nn.Linear(d, d, bias=False) for _ in range(2))
        for linear in (self.W_Q, self.W_K):  # queries and keys of variance 1 ⋅ start²
            nn.init.xavier_uniform_(linear.weight, gain=start)

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


def train_look_up(model: LookUp, seed: int, learning_rate: float = 1e-3) -> list[float]:
    """Train; return the accuracy on 2,000 examples at the steps ``TESTED``."""
    g = torch.Generator().manual_seed(seed)
    test = examples(2000, torch.Generator().manual_seed(99))
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    accuracy = []
    for step in range(1, TESTED[-1] + 1):
        *inputs, answer = examples(64, g)
        loss = F.cross_entropy(model(*inputs), answer)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
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


FORMS = {  # in the first and the last one the first scores are the same numbers
    "1/√d": lambda d: ScaledRead(d, d**-0.5),
    "no root": lambda d: ScaledRead(d, 1.0),
    "no root, small start": lambda d: ScaledRead(d, 1.0, start=d**-0.25),
}


@sweep(form=FORMS, learning_rate=(3e-4, 1e-3, 3e-3), seed=range(3), steps=[*TESTED])
def root_and_start(form: str, learning_rate: float, seed: int) -> dict:
    """Without the root: is it the learning rate that is wrong, or the start?"""
    model = LookUp(64, FORMS[form](64))
    return {"right": train_look_up(model, seed, learning_rate)}


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


# The shipped translator, on validation captions

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
