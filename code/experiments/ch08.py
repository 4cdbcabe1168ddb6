"""Chapter 8: what lets a deep stack learn, and what the parts of a layer are for."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice, pairwise, product

import torch
from torch import Tensor, nn

from attnbook.course.ch08.deep_stacks import token_diversity
from attnbook.course.ch08.lab import INITIALISATIONS
from attnbook.course.ch08.taggers import LAYERS, deep_tagger, tagger
from attnbook.nn.layers import (
    EncoderLayer,
    FeedForward,
    ScaledEmbedding,
    TransformerConfig,
)
from attnbook.nn.losses import token_loss
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import sinusoids
from attnbook.toy.task_models import Tagger
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    random_symbols,
    reversed_symbols,
    sorted_symbols,
    sum_with_previous,
    task_accuracy,
    task_batches,
)
from attnbook.toy.training import fit
from experiments.registry import experiment, sweep

LENGTH = 12
SEEDS = (0, 1, 2)

# Warm-up

STEPS = 100  # of this experiment and of all ladders
WARM_UP = 30


@sweep(
    rate=(1e-3, 3e-3, 1e-2),
    norm_first=(False, True),
    warm_up=(0, WARM_UP),
    seed=SEEDS,
    steps=STEPS,
    length=LENGTH,
)
def warm_up(rate: float, norm_first: bool, warm_up: int, seed: int) -> dict:
    """Eight layers learn to sort: post-norm and pre-norm, with and without warm-up."""
    model = deep_tagger(8, norm_first)
    losses = train_with_warmup(model, seed, STEPS, rate, warm_up)
    return {"loss": [round(x, 4) for x in losses]}


def train_with_warmup(
    model: Tagger, seed: int, steps: int, learning_rate: float, n_warmup: int
) -> list[float]:
    """Train on sorting with Adam and linear warm-up, then a constant learning rate.

    :func:`~attnbook.toy.training.fit` would let it decay and clip the gradients, which
    would weaken the effect that is measured here.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=learning_rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / max(n_warmup, 1))
    )
    losses: list[Tensor] = []
    for ids, targets in islice(task_batches(sorted_symbols, LENGTH, seed), steps):
        loss = token_loss(model(ids), targets)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        losses.append(loss.detach())
    return torch.stack(losses).tolist()


# What lets a deep stack learn: skips, norms, networks, warm-up, small weights?

WIDTH, HEADS, DEPTH = 64, 4, 8
RATE = 3e-3
RATES = (3e-4, 1e-3, 3e-3, 1e-2)
CONNECTIONS = ("plain", "skip", "post-norm", "pre-norm")


class Rung(nn.Module):
    """Attention and, if wanted, a network, each with one kind of connection."""

    def __init__(self, connection: str, network: bool):
        super().__init__()
        self.connection = connection
        parts = [MultiHeadAttention(WIDTH, HEADS)]
        if network:
            parts.append(FeedForward(WIDTH, 4 * WIDTH))
        self.parts = nn.ModuleList(parts)
        self.norms = nn.ModuleList(
            nn.LayerNorm(WIDTH) if "norm" in connection else nn.Identity()
            for _ in parts
        )

    def forward(self, x: Tensor) -> Tensor:
        """Map (B, L, D) to (B, L, D)."""
        for part, norm in zip(self.parts, self.norms, strict=True):
            y = norm(x) if self.connection == "pre-norm" else x
            y = part(y) if isinstance(part, FeedForward) else part(y, y, y)
            x = y if self.connection == "plain" else x + y
            x = norm(x) if self.connection == "post-norm" else x
        return x


def stack(
    connection: str,
    n_layers: int = DEPTH,
    network: bool = False,
    scale: float = 1.0,
    last_norm: bool = False,
    linear_default: bool = False,
) -> Tagger:
    """A model of rungs.

    ``scale`` multiplies what each sub-layer adds at initialisation. ``last_norm`` adds
    the norm at the end that a pre-norm stack always has. ``linear_default`` draws the
    layers' weights as :class:`torch.nn.Linear` does.
    """
    rungs = [Rung(connection, network) for _ in range(n_layers)]
    if linear_default:
        for rung in rungs:
            rung.apply(reset_if_linear)
    with torch.no_grad():
        for matrix in output_matrices(rungs):
            matrix.mul_(scale)
    normed = last_norm or connection == "pre-norm"
    norm = nn.LayerNorm(WIDTH) if normed else None
    return Tagger(ScaledEmbedding(TASK_VOCAB_SIZE, WIDTH), rungs, norm)


def reset_if_linear(module: nn.Module) -> None:
    """Draw weights and biases anew, if it is a linear map."""
    if isinstance(module, nn.Linear):
        module.reset_parameters()


def output_matrices(rungs: list[Rung]) -> Iterator[Tensor]:
    """The last matrix of each sub-layer."""
    for part in (part for rung in rungs for part in rung.parts):
        yield (part.W_2 if isinstance(part, FeedForward) else part.W_O).weight


def small_scale(n_sublayers: int) -> float:
    """GPT-2's factor for N additions to the residual stream: 1/√N."""
    return 1 / math.sqrt(n_sublayers)


LADDER: dict[str, dict] = {
    **{f"{n} plain": {"connection": "plain", "n_layers": n} for n in (1, 2, 4, 8)},
    "skip": {"connection": "skip"},
    "skip, network": {"connection": "skip", "network": True},
    "post-norm": {"connection": "post-norm", "network": True},
    "post-norm, warm-up": {"connection": "post-norm", "network": True, "warm_up": True},
    "pre-norm": {"connection": "pre-norm", "network": True},
    "skip, small weights": {"connection": "skip", "scale": small_scale(DEPTH)},
    "skip, network, small weights": {
        **{"connection": "skip", "network": True},
        "scale": small_scale(2 * DEPTH),
    },
    "post-norm, small weights": {
        **{"connection": "post-norm", "network": True, "scale": 0.1}
    },
}
"""The rows, by what is in the stack; eight layers if not said."""


@torch.no_grad()
def diversity_after(model: Tagger, ids: Tensor) -> float:
    """How much the positions' vectors differ after the last layer."""
    x = model.positions(model.embedding(ids))
    for layer in model.layers:
        x = layer(x)
    return token_diversity(x)


def floors(n_symbols: int = 16) -> dict[str, float]:
    """Losses of answers that use nothing, the position alone, or the bag alone."""
    cumulative = [
        [_at_most(k / n_symbols, LENGTH, place) for k in range(n_symbols + 1)]
        for place in range(LENGTH)
    ]
    entropies = []
    for row in cumulative:
        shares = [b - a for a, b in pairwise(row)]
        entropies.append(-sum(p * math.log(p) for p in shares if p > 0))
    ids = random_symbols(20_000, LENGTH, torch.Generator().manual_seed(0))
    counts = torch.stack([(ids == k).sum(1) for k in range(1, n_symbols + 1)], 1)
    shares = counts / LENGTH
    bag = -(shares * shares.clamp_min(1e-9).log()).sum(1).mean().item()
    return {
        "guess": round(math.log(n_symbols), 3),
        "without_reading": round(sum(entropies) / LENGTH, 3),
        "bag": round(bag, 3),
    }


def _at_most(share: float, n: int, place: int) -> float:
    """Probability that the value at a place (from 0) of n sorted ones is at most that.

    Each one is at most that with probability ``share``, independently.
    """
    return sum(
        math.comb(n, k) * share**k * (1 - share) ** (n - k)
        for k in range(place + 1, n + 1)
    )


@sweep(row=LADDER, seed=SEEDS, steps=STEPS, rate=RATE, length=LENGTH, **floors())
def ladder(row: str, seed: int) -> dict:
    """Stacks of attention learn to sort twelve symbols, at one learning rate.

    Beside the runs stands what a model loses that guesses ("guess"), that knows the
    position alone ("without_reading"), and that knows the symbols but not the position
    ("bag").

    Returns:
        The "loss" of the last ten steps, and "diversity", how much the positions'
        vectors differ after the last layer, before training.
    """
    losses, diversity = losses_and_diversity(LADDER[row], RATE, seed)
    return {"loss": loss_at_the_end(losses), "diversity": round(diversity, 4)}


def losses_and_diversity(
    row: dict, rate: float, seed: int
) -> tuple[list[float], float]:
    """The loss of each step, and the diversity before the first."""
    model = stack(**{key: value for key, value in row.items() if key != "warm_up"})
    ids = random_symbols(64, LENGTH, torch.Generator().manual_seed(seed))
    diversity = diversity_after(model, ids)
    n_warmup = WARM_UP if row.get("warm_up") else 0
    return train_with_warmup(model, seed, STEPS, rate, n_warmup), diversity


@sweep(
    n_layers=(1, 2, 4, 8),
    rate=(RATE / 4, RATE, 4 * RATE),
    seed=SEEDS,
    steps=10 * STEPS,
    length=LENGTH,
)
def plain_for_longer(n_layers: int, rate: float, seed: int) -> dict:
    """Do stacks of attention alone learn in ten times the steps?"""
    model = stack("plain", n_layers)
    losses = train_with_warmup(model, seed, 10 * STEPS, rate, 0)
    return {"loss": loss_at_the_end(losses)}


def loss_at_the_end(losses: list[float]) -> float | None:
    """The mean of the last ten steps; None if it is no longer finite."""
    mean = sum(losses[-10:]) / 10
    return round(mean, 3) if math.isfinite(mean) else None


STACKS = LADDER | {
    "pre-norm, small weights": {**LADDER["pre-norm"], "scale": small_scale(2 * DEPTH)}
}


@sweep(
    row=(
        "skip, network",
        "skip, network, small weights",
        "pre-norm",
        "pre-norm, small weights",
    ),
    rate=(*RATES, 3e-2),
    warm_up=(False,),
    seed=SEEDS,
    steps=STEPS,
    length=LENGTH,
)
def weights_and_norm(row: str, rate: float, warm_up: bool, seed: int) -> dict:
    """What lets a stack learn, at low and high rates: small weights or a norm?"""
    losses, _ = losses_and_diversity({**STACKS[row], "warm_up": warm_up}, rate, seed)
    return {"loss": loss_at_the_end(losses)}


@sweep(
    row=("skip, network", "post-norm", "pre-norm"),
    rate=(*RATES, 3e-2),
    seed=range(5),
    steps=STEPS,
    length=LENGTH,
)
def linear_weights(row: str, rate: float, seed: int) -> dict:
    """The same with the weights and biases that ``nn.Linear`` draws by default."""
    losses, _ = losses_and_diversity(
        {**LADDER[row], "linear_default": True}, rate, seed
    )
    return {"loss": loss_at_the_end(losses)}


CONTROLS: dict[str, dict] = {
    "skip, network, last norm": {**LADDER["skip, network"], "last_norm": True},
    "pre-norm, no network": {"connection": "pre-norm"},
}
"""Stacks that differ in one thing from one of the others."""


@sweep(row=CONTROLS, seed=SEEDS, steps=STEPS, rate=RATE, length=LENGTH)
def ladder_controls(row: str, seed: int) -> dict:
    """Does one last norm do? Are networks needed?

    Returns:
        What :func:`ladder` does, and the "first" loss, before any step.
    """
    losses, diversity = losses_and_diversity(CONTROLS[row], RATE, seed)
    return {
        "first": round(losses[0], 3),
        "loss": loss_at_the_end(losses),
        "diversity": round(diversity, 4),
    }


# Is the feed-forward network needed?

TASKS = {"add_previous": sum_with_previous, "backwards": reversed_symbols}


@experiment
def feed_forward_needed() -> dict:
    """Two layers with and without a feed-forward network, on two tasks.

    Without it, four layers are tested too, which have as many sub-layers.
    """
    steps, rate, runs = 400, 4e-3, []
    models = [*((kind, 2) for kind in LAYERS), ("without", 4)]
    for task, (kind, n_layers), seed in product(TASKS, models, SEEDS):
        torch.manual_seed(seed)
        model = tagger(kind, n_layers)
        losses = fit(model, task_batches(TASKS[task], LENGTH, seed), steps, rate)
        about = {"task": task, "layers": kind, "n_layers": n_layers, "seed": seed}
        found = {"right": mean_accuracy(model, task), "loss": mean_of_20(losses)}
        runs.append({**about, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": rate, "runs": runs}


def mean_of_20(losses: list[float]) -> list[float]:
    """Average a loss curve over every 20 steps."""
    means = torch.tensor(losses).view(-1, 20).mean(1)
    return [round(loss, 4) for loss in means.tolist()]


def mean_accuracy(model: Tagger, task: str) -> float:
    """Accuracy on 1,000 sequences, over the positions that count."""
    ids = random_symbols(1000, LENGTH, torch.Generator().manual_seed(99))
    accuracy = task_accuracy(model, TASKS[task](ids))  # (L, 1)
    return round(accuracy.nanmean().item(), 4)


# Words and positions: how large?

REVERSAL_STEPS, REVERSAL_RATE = 500, 1e-3
REVERSAL = {"steps": REVERSAL_STEPS, "length": LENGTH, "rate": REVERSAL_RATE}


@sweep(draw=INITIALISATIONS, scaled=(True, False), seed=SEEDS, **REVERSAL)
def embedding_scale(draw: str, scaled: bool, seed: int) -> dict:
    """Two layers reverse a sequence, by initialisation and scale of the embeddings."""
    return {"loss": mean_of_20(train_reversal(draw, scaled, 1.0, seed))}


@sweep(draw=("N(0, 1)",), scaled=(True, False), seed=SEEDS, **REVERSAL)
def embedding_proportion(draw: str, scaled: bool, seed: int) -> dict:
    """What harms: the size of the embeddings, or that relative to the positions?

    Large embeddings with equally large positions, and embeddings of variance 1 with
    positions as small, in proportion, as with the largest embeddings of
    :func:`embedding_scale`. The factor on the positions is called "codes".
    """
    codes = 8 * 2**0.5 if scaled else 1 / 8  # sinusoids have a root mean square of √½
    losses = train_reversal(draw, scaled, codes, seed)
    return {"codes": codes, "loss": mean_of_20(losses)}


class ScaledSinusoids(nn.Module):
    """Adds sinusoids multiplied by a factor."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Add to (B, L, D)."""
        return x + self.factor * sinusoids(*x.shape[1:], dtype=x.dtype)


def train_reversal(
    initialisation: str, scaled: bool, factor: float, seed: int
) -> list[float]:
    """Train two post-norm layers to reverse a sequence; return all losses."""
    config = TransformerConfig(d_model=64, n_heads=4, d_ff=256, dropout=0.0)
    layers = [EncoderLayer(config) for _ in range(2)]
    model = Tagger(make_embedding(initialisation, scaled), layers)
    model.positions = ScaledSinusoids(factor)
    batches = task_batches(reversed_symbols, LENGTH, seed)
    return fit(model, batches, REVERSAL_STEPS, REVERSAL_RATE)


def make_embedding(initialisation: str, scaled: bool) -> nn.Embedding:
    """Create an embedding of width 64."""
    table = (ScaledEmbedding if scaled else nn.Embedding)(TASK_VOCAB_SIZE, 64)
    nn.init.normal_(table.weight, std=INITIALISATIONS[initialisation])
    return table
