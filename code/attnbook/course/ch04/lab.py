"""Figures and tables of laboratory page 4."""

import re
from collections.abc import Callable, Sequence

import torch
from torch import Tensor, nn

from attnbook.course.kit.html_tables import Column, Table, table
from attnbook.course.kit.tables import TRANSLATORS, Value, pivot, stored_runs
from attnbook.nn.scores import AdditiveScore, make_score

# Attention between random queries and keys: what a scale does before training


def random_pairs(d_k: int, n_keys: int = 32) -> tuple[Tensor, Tensor]:
    """Draw 500 random queries, each with keys of its own.

    All components are independent, with mean 0 and variance 1. They are the same in
    each call, and PyTorch's own generator isn't used.

    Returns:
        Queries, (500, 1, d_k), and keys, (500, n_keys, d_k).
    """
    g = torch.Generator().manual_seed(0)
    q = torch.randn(500, 1, d_k, generator=g)
    return q, torch.randn(500, n_keys, d_k, generator=g)


def random_scores(d_k: int, n_keys: int = 32) -> Tensor:
    """Dot products of these pairs, (500, n_keys), unscaled: their variance is d_k."""
    q, k = random_pairs(d_k, n_keys)
    return (q @ k.mT).squeeze(1)


def query_gradients(d_k: int, scale: float) -> Tensor:
    """How large the derivative of the attention weights by their query is, (500,).

    The derivative of weight i is c α_i Σ_j (δ_ij − α_j) k_j, with the scale c of the
    scores, such as 1/√d_k; its size is the root of the sum of all squared entries, over
    weights and components.
    """
    q, k = random_pairs(d_k)
    weights = (scale * q @ k.mT).softmax(-1)  # (500, 1, S)
    # Σ_j α_i (δ_ij - α_j) k_j is α_i times what k_i has more than the mean of the keys.
    jacobian = scale * weights.mT * (k - weights @ k)  # (500, S, d_k)
    return jacobian.square().sum((-2, -1)).sqrt()


# What does the scale change at the start?

SCALES = {
    "no scale": lambda d: 1.0,
    "1/√d": lambda d: d**-0.5,
    "1/d": lambda d: 1 / d,
}


def start_table(widths: Sequence[int] = (4, 64, 256, 1024)) -> Table:
    """Show what three scales make of random scores, width by width."""
    columns = [
        "d_k",
        Column("largest weight", "mean", digits=2),
        Column("largest weight > 0.99", "% of queries"),
        Column("mean", group="size of ∂α/∂q", digits=3),
        Column("median", group="size of ∂α/∂q", digits=3),
        Column("larger than with 1/√d_k", "% of queries", "size of ∂α/∂q"),
    ]
    return table(
        columns,
        {
            name: [_start(width, scale(width)) for width in widths]
            for name, scale in SCALES.items()
        },
    )


def _start(d_k: int, scale: float) -> tuple[float | None, ...]:
    largest = (random_scores(d_k) * scale).softmax(-1).amax(-1)  # (draws,)
    size = query_gradients(d_k, scale)  # (draws,)
    saturated = 100 * (largest > 0.99).float().mean().item()
    measured = (largest.mean(), saturated, size.mean(), size.median())
    larger = None
    if scale != (usual := d_k**-0.5):
        larger = 100 * (size > query_gradients(d_k, usual)).float().mean().item()
    return d_k, *map(float, measured), larger


# Which factor learns best?


FACTORS = ("1", "8/√d", "2/√d", "1/√d", "0.5/√d", "1/d")
CURVE = {"right": "steps"}
CORRECT = Value("right", "% correct", 100)


def look_up_table(scores: Sequence[str] = FACTORS) -> Table:
    """Show correct answers after some steps: mean and range over seeds."""
    runs = stored_runs("look_up", CURVE, score=(*scores,), steps=(100, 400))
    named = {score: re.sub(r"\bd\b", "d_k", score) for score in scores}
    named["1"] = "1 (no scale)"
    names = {"score": named, "d_k": "d_k = {}", "steps": "after {} steps"}
    runs.sort(key=lambda run: run["steps"])
    return pivot(runs, "score", "d_k", CORRECT, groups="steps", names=names)


# Does the additive score need a scale?


@torch.no_grad()
def untrained_scores(
    make: Callable[[], nn.Module], d: int, n_keys: int = 64, draws: int = 20
) -> Tensor:
    """Scores of untrained score functions for random queries and keys."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(0)
        scores = []
        for _ in range(draws):
            score = make()
            query, keys = torch.randn(1, 50, d), torch.randn(1, n_keys, d)
            scores.append(score(query, score.prepare(keys))[0])
    return torch.cat(scores)


def additive_start(d: int, v_std: float | None = None, **sizes: int) -> Tensor:
    """Scores of the untrained additive score."""

    def make() -> nn.Module:
        score = AdditiveScore(d, d, d_attention=d)
        if v_std is not None:
            nn.init.normal_(score.v.weight, std=v_std)
        return score

    return untrained_scores(make, d, **sizes)


def additive_table(widths: Sequence[int] = (4, 64, 256, 1024)) -> Table:
    """Show the untrained scores of 64 keys: their spread, and the largest weight."""
    scores = {
        "dot": lambda d: random_scores(d, n_keys=64),
        "dot/√d": lambda d: random_scores(d, n_keys=64) / d**0.5,
        "general": lambda d: untrained_scores(lambda: make_score("general", d, d), d),
        "additive": additive_start,
        "additive, large v": lambda d: additive_start(d, 1.0),
    }
    deviation, largest = "standard deviation of scores by d", "mean largest weight by d"
    rows = []
    for name, sample in scores.items():
        drawn = [sample(d) for d in widths]  # (500 or 1000, 64) each
        shares = (e.softmax(-1).amax(-1).mean().item() for e in drawn)
        rows.append((name, *(e.std().item() for e in drawn), *shares))
    heads = [Column(f"{d:,}", "", deviation, 1) for d in widths]
    heads += [Column(f"{d:,}", "", largest, 2) for d in widths]
    return table(["score", *heads], rows)


# What does the fused kernel save?


def fused_table() -> Table:
    """Show memory and time of both forms by length."""
    memory = Value("bytes", "MB", 1e-6, 1, "peak memory")
    time = Value("seconds", "ms", 1000, 1, "processor time")
    return pivot(stored_runs("fused_cost"), "n", "form", memory, time)


# The translator's heads


def head_habits_table() -> Table:
    """For each head of the encoder: adjectives and next words."""
    [found] = stored_runs("adjective_heads", translator="shipped")
    names = {"layer": lambda n: f"layer {n + 1}", "head": lambda n: n + 1}
    values = [
        Value(word, f"% of {of}", 100 / found["counted"][word], 0, name)
        for word, of, name in (
            ("noun", "pairs", "adjective → its noun"),
            ("next", "words", "any word → the next"),
        )
    ]
    return pivot(found["heads"], "head", None, *values, groups="layer", names=names)


LOOKS = {
    "noun": ("adjective", "its noun, which comes next"),
    "no noun": ("adjective", "the next word, on neither list"),
    "determiner": ("article", "its noun, which comes next"),
    "next": ("any word", "the next word"),
    "swapped: noun": ("adjective, put behind its noun", "its noun"),
    "swapped: next": ("adjective, put behind its noun", "the next word"),
}


def looks_table() -> Table:
    """Where the head of each translator that finds most nouns looks, by word."""
    runs = stored_runs("adjective_heads")
    best = [max(run["heads"], key=lambda of: of["noun"]) for run in runs]
    pairs = [*zip(runs, best, strict=True)]
    rows = [
        (
            *words,
            runs[0]["counted"][name],
            *(100 * head[name] / run["counted"][name] for run, head in pairs),
        )
        for name, words in LOOKS.items()
    ]
    heads = [
        Column(
            f"{TRANSLATORS[run['translator']]}, {of['layer'] + 1}.{of['head'] + 1}",
            "%",
            "largest weight on it: layer and head",
        )
        for run, of in pairs
    ]
    return table(["from", "to", "cases", *heads], rows)


def cuts_table() -> Table:
    """BLEU and repetitions of the translators without some of their parts."""
    bleu = Value("bleu", digits=1, name="BLEU")
    twice = Value("twice", name="a word pair twice, of 300 captions")
    names = {"translator": TRANSLATORS}
    runs = stored_runs("translator_cuts")
    return pivot(runs, "cut", "translator", bleu, twice, names=names)
