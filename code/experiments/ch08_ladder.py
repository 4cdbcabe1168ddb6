"""What lets a deep stack learn: skips, norms, networks, warm-up, small weights?"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from itertools import pairwise, product

import torch
from torch import Tensor, nn

from attnbook.nn.layers import FeedForward, ScaledEmbedding
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.toy.deep_stacks import token_diversity
from attnbook.toy.taggers import Tagger
from attnbook.toy.tasks import TASK_VOCAB_SIZE, random_symbols
from experiments.ch08_layer_runs import (
    LENGTH,
    SEEDS,
    train_with_warmup,
)
from experiments.registry import experiment

STEPS, WIDTH, HEADS, LAYERS = 100, 64, 4, 8
RATE = 3e-3
WARM_UP = 30
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
    n_layers: int = LAYERS,
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
    "skip, small weights": {"connection": "skip", "scale": small_scale(LAYERS)},
    "skip, network, small weights": {
        **{"connection": "skip", "network": True},
        "scale": small_scale(2 * LAYERS),
    },
    "post-norm, small weights": {
        **{"connection": "post-norm", "network": True, "scale": 0.1}
    },
}
"""The rows, by what is in the stack; eight layers if not said."""


@experiment
def ladder() -> dict:
    """Stacks of attention learn to sort twelve symbols, at one learning rate.

    Returns:
        "guess", "without_reading" and "bag": what a model loses that guesses, that
        knows the position alone, and that knows the symbols but not the position;
        "runs": for each row and seed the "loss" of the last ten steps and "diversity",
        how much the positions' vectors differ after the last layer, before training.
    """
    runs = []
    for (name, row), seed in product(LADDER.items(), SEEDS):
        found = train_row(row, seed, RATE)
        runs.append({"row": name, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": RATE, "length": LENGTH, **floors(), "runs": runs}


@experiment
def ladder_rates() -> dict:
    """The same task over learning rates, with and without a warm-up of 30 steps.

    Returns:
        "runs": for each row, rate, warm-up and seed the "loss" of the last ten steps;
        None if it is no longer finite.
    """
    names = ("post-norm", "pre-norm", "skip, network, small weights")
    names += ("post-norm, small weights",)
    runs = runs_over_rates(names, RATES, (False, True))
    return {"steps": STEPS, "warm_up": WARM_UP, "length": LENGTH, "runs": runs}


WEIGHTS_AND_NORM = {
    name: LADDER[name]
    for name in ("skip, network", "skip, network, small weights", "pre-norm")
} | {
    "pre-norm, small weights": {**LADDER["pre-norm"], "scale": small_scale(2 * LAYERS)}
}
"""With and without small initial weights, with and without norms."""


@experiment
def weights_and_norm() -> dict:
    """What lets a stack learn, at low and high rates: small weights or a norm?

    Returns:
        "runs": as of :func:`ladder_rates`, for four stacks, at five rates, without a
        warm-up.
    """
    runs = runs_over_rates(WEIGHTS_AND_NORM, (*RATES, 3e-2), (False,))
    return {"steps": STEPS, "length": LENGTH, "runs": runs}


CONTROLS: dict[str, tuple[dict, float]] = {
    "skip, network, last norm": (
        {**LADDER["skip, network"], "last_norm": True},
        RATE,
    ),
    "pre-norm, no network": ({"connection": "pre-norm"}, RATE),
    "skip, small weights": (LADDER["skip, small weights"], 1e-3),
    "skip, network, nn.Linear's weights": (
        {**LADDER["skip, network"], "linear_default": True},
        RATE,
    ),
    "post-norm, nn.Linear's weights": (
        {**LADDER["post-norm"], "linear_default": True},
        RATE,
    ),
}
"""Stacks that differ in one thing from one of the others, and the learning rate."""


@experiment
def ladder_controls() -> dict:
    """Does one last norm do? Are networks needed? What of PyTorch's own weights?

    Returns:
        "runs": for each row and seed the "rate", the "first" loss, before any step, and
        the "loss" of the last ten steps.
    """
    runs = []
    for (name, (row, rate)), seed in product(CONTROLS.items(), SEEDS):
        losses, _ = losses_and_diversity(row, seed, rate)
        ends = {"first": round(losses[0], 3), "loss": loss_at_the_end(losses)}
        runs.append({"row": name, "rate": rate, "seed": seed, **ends})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "length": LENGTH, "runs": runs}


def runs_over_rates(
    names: Iterable[str], rates: Iterable[float], warm_ups: Iterable[bool]
) -> list[dict]:
    """Train rows at each learning rate, with each of the seeds."""
    runs = []
    for name, rate, warm, seed in product(names, rates, warm_ups, SEEDS):
        row = (LADDER | WEIGHTS_AND_NORM)[name]
        loss = train_row({**row, "warm_up": warm}, seed, rate)["loss"]
        about = {"row": name, "rate": rate, "warm_up": warm, "seed": seed}
        runs.append({**about, "loss": loss if math.isfinite(loss) else None})
        print(f"  {runs[-1]}", flush=True)
    return runs


def train_row(row: dict, seed: int, rate: float) -> dict:
    """Train one row of the ladder: its loss, and its diversity before training."""
    losses, diversity = losses_and_diversity(row, seed, rate)
    return {"loss": loss_at_the_end(losses), "diversity": round(diversity, 4)}


def losses_and_diversity(
    row: dict, seed: int, rate: float
) -> tuple[list[float], float]:
    """The loss of each step, and the diversity before the first."""
    torch.manual_seed(seed)
    model = stack(**{key: value for key, value in row.items() if key != "warm_up"})
    ids = random_symbols(64, LENGTH, torch.Generator().manual_seed(seed))
    diversity = diversity_after(model, ids)
    warm_up = WARM_UP if row.get("warm_up") else 0
    return train_with_warmup(model, seed, STEPS, rate, warm_up), diversity


def loss_at_the_end(losses: list[float]) -> float:
    """The mean of the last ten steps."""
    return round(sum(losses[-10:]) / 10, 3)


@torch.no_grad()
def diversity_after(model: Tagger, ids: Tensor) -> float:
    """:func:`~attnbook.toy.deep_stacks.token_diversity` after the last layer."""
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
