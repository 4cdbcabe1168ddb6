"""Parts of a layer: the feed-forward network, the embedding scale, warm-up."""

from __future__ import annotations

from itertools import islice, product

import torch
from torch import Tensor, nn

from attnbook.nn.layers import EncoderLayer, ScaledEmbedding, TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.nn.positions import sinusoids
from attnbook.toy.bit_pairs import NETWORKS, PairReader, train_on_pairs
from attnbook.toy.taggers import LAYERS, Tagger, deep_tagger, tagger
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
from experiments.registry import experiment

LENGTH = 12
SEEDS = (0, 1, 2)
LEARNING_RATE = 4e-3
WARM_UP_RATES = (1e-3, 3e-3, 1e-2)
TASKS = {"add_previous": sum_with_previous, "backwards": reversed_symbols}
INITIALISATIONS = {"N(0, 1)": 1.0, "N(0, 1/D)": 64**-0.5}  # std at D = 64


@experiment
def feed_forward_needed() -> dict:
    """Two layers with and without a feed-forward network, on two tasks.

    Without it, four layers are tested too, which have as many sub-layers.
    """
    steps, runs = 400, []
    models = [*((kind, 2) for kind in LAYERS), ("without", 4)]
    for task, (kind, n_layers), seed in product(TASKS, models, SEEDS):
        torch.manual_seed(seed)
        model = tagger(kind, n_layers)
        losses = fit(
            model, task_batches(TASKS[task], LENGTH, seed), steps, LEARNING_RATE
        )
        about = {"task": task, "layers": kind, "n_layers": n_layers, "seed": seed}
        found = {"right": mean_accuracy(model, task), "loss": mean_of_20(losses)}
        runs.append({**about, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": LEARNING_RATE, "runs": runs}


def mean_of_20(losses: list[float]) -> list[float]:
    """Average a loss curve over every 20 steps."""
    means = torch.tensor(losses).view(-1, 20).mean(1)
    return [round(loss, 4) for loss in means.tolist()]


def mean_accuracy(model: Tagger, task: str) -> float:
    """Accuracy on 1,000 sequences, over the positions that count."""
    ids = random_symbols(1000, LENGTH, torch.Generator().manual_seed(99))
    accuracy = task_accuracy(model, TASKS[task](ids))  # (L, 1)
    return round(accuracy.nanmean().item(), 4)


@experiment
def xor_of_two_bits() -> dict:
    """One attention layer and the XOR of two bits, with and without a network.

    0 heads stands for one with equal weights.
    """
    steps, runs = 300, []
    for n_heads, network, seed in product((0, 1, 2, 4), NETWORKS, range(5)):
        torch.manual_seed(seed)
        model = PairReader(NETWORKS[network](), n_heads or 1, equal_weights=not n_heads)
        loss, right = train_on_pairs(model, steps, 1e-2)
        about = {"heads": n_heads, "network": network, "seed": seed}
        runs.append({**about, "loss": round(loss, 3), "right": right})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "rate": 1e-2, "runs": runs}


@experiment
def embedding_scale() -> dict:
    """Two layers reverse a sequence, by initialisation and scale of the embeddings."""
    steps, runs = 500, []
    for draw, scaled, seed in product(INITIALISATIONS, (True, False), SEEDS):
        losses = train_reversal(draw, scaled, 1.0, seed, steps)
        about = {"draw": draw, "scaled": scaled, "seed": seed}
        runs.append({**about, "loss": mean_of_20(losses)})
        print(f"  {about}: {runs[-1]['loss'][::5]}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": 1e-3, "runs": runs}


@experiment
def embedding_proportion() -> dict:
    """What harms: the size of the embeddings, or that relative to the positions?

    Large embeddings with equally large positions, and embeddings of variance 1 with
    positions as small, in proportion, as with the largest embeddings of
    :func:`embedding_scale`. The factor on the positions is called "codes".
    """
    steps, runs = 500, []
    # The root mean square of sinusoids is √½.
    for (scaled, codes), seed in product(((True, 8 * 2**0.5), (False, 1 / 8)), SEEDS):
        losses = train_reversal("N(0, 1)", scaled, codes, seed, steps)
        about = {"draw": "N(0, 1)", "scaled": scaled, "codes": codes, "seed": seed}
        runs.append({**about, "loss": mean_of_20(losses)})
        print(f"  {about}: {runs[-1]['loss'][::5]}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": 1e-3, "runs": runs}


class ScaledSinusoids(nn.Module):
    """Adds sinusoids multiplied by a factor."""

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Add to (B, L, D)."""
        return x + self.factor * sinusoids(*x.shape[1:], dtype=x.dtype)


def train_reversal(
    initialisation: str, scaled: bool, factor: float, seed: int, steps: int
) -> list[float]:
    """Train two post-norm layers to reverse a sequence; return all losses."""
    torch.manual_seed(seed)
    config = TransformerConfig(d_model=64, n_heads=4, d_ff=256, dropout=0.0)
    layers = [EncoderLayer(config) for _ in range(2)]
    model = Tagger(make_embedding(initialisation, scaled), layers)
    model.positions = ScaledSinusoids(factor)
    return fit(model, task_batches(reversed_symbols, LENGTH, seed), steps, 1e-3)


def make_embedding(initialisation: str, scaled: bool) -> nn.Embedding:
    """Create an embedding of width 64."""
    table = (ScaledEmbedding if scaled else nn.Embedding)(TASK_VOCAB_SIZE, 64)
    nn.init.normal_(table.weight, std=INITIALISATIONS[initialisation])
    return table


@experiment
def warm_up() -> dict:
    """Eight layers learn to sort: post-norm and pre-norm, with and without warm-up."""
    steps, runs = 100, []
    settings = product(WARM_UP_RATES, (False, True), (0, 30), SEEDS)
    for learning_rate, norm_first, n_warmup, seed in settings:
        torch.manual_seed(seed)
        model = deep_tagger(8, norm_first)
        losses = train_with_warmup(model, seed, steps, learning_rate, n_warmup)
        about = {"rate": learning_rate, "norm_first": norm_first}
        about |= {"warm_up": n_warmup, "seed": seed}
        runs.append({**about, "loss": [round(x, 4) for x in losses]})
        print(f"  {about}: {sum(losses[-10:]) / 10:.3f}", flush=True)
    return {"steps": steps, "length": LENGTH, "runs": runs}


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
