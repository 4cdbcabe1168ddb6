"""What a layer needs: a network for each place, the size of its words, a warm-up."""

from __future__ import annotations

from itertools import islice, product

import torch
from torch import Tensor, nn

from attnbook.nn.layers import EncoderLayer, ScaledEmbedding, TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.nn.positions import sinusoids
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

LENGTH = 12
SEEDS = (0, 1, 2)
RATE = 4e-3
TASKS = {"add_previous": sum_with_previous, "backwards": reversed_symbols}
DRAWS = {"N(0, 1)": 1.0, "N(0, 1/D)": 64**-0.5}  # standard deviation at D = 64


def feed_forward_needed() -> dict:
    """Two layers with and without a feed-forward network, on two tasks.

    Without it, four layers are tried too: as many sub-layers.

    Returns:
        "runs": for each task, kind of layers, their number and seed the share of
        "right" answers, over the places that count, and the loss, averaged over every
        20 steps.
    """
    steps, runs = 400, []
    models = [*((kind, 2) for kind in LAYERS), ("without", 4)]
    for task, (kind, n_layers), seed in product(TASKS, models, SEEDS):
        torch.manual_seed(seed)
        model = tagger(kind, n_layers)
        losses = fit(model, task_batches(TASKS[task], LENGTH, seed), steps, RATE)
        about = {"task": task, "layers": kind, "n_layers": n_layers, "seed": seed}
        found = {"right": share_right(model, task), "loss": by_twenty(losses)}
        runs.append({**about, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": RATE, "runs": runs}


def by_twenty(losses: list[float]) -> list[float]:
    """Average over every 20 steps."""
    means = torch.tensor(losses).view(-1, 20).mean(1)
    return [round(loss, 4) for loss in means.tolist()]


def share_right(model: Tagger, task: str) -> float:
    """Share of right answers to 1,000 sequences, over the places that count."""
    ids = random_symbols(1000, LENGTH, torch.Generator().manual_seed(99))
    right = task_accuracy(model, TASKS[task](ids))  # (L, 1)
    return round(right.nanmean().item(), 4)


def embedding_scale() -> dict:
    """Two layers say a sequence backwards: how words are drawn and scaled.

    Returns:
        "runs": for each draw, with √D and without, and seed, the loss, averaged over
        every 20 steps.
    """
    steps, runs = 500, []
    for draw, scaled, seed in product(DRAWS, (True, False), SEEDS):
        losses = reverse_with(draw, scaled, 1.0, seed, steps)
        about = {"draw": draw, "scaled": scaled, "seed": seed}
        runs.append({**about, "loss": by_twenty(losses)})
        print(f"  {about}: {runs[-1]['loss'][::5]}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": 1e-3, "runs": runs}


def embedding_proportion() -> dict:
    """Is it the size of the words, or their size beside the positions, that harms?

    Large words with positions as large, and words of 1 with positions as much smaller
    as :func:`embedding_scale` has them beside its largest words.

    Returns:
        "runs": for each size of words, what the positions are multiplied by ("codes"),
        and seed, the loss, averaged over every 20 steps.
    """
    steps, runs = 500, []
    # The root mean square of sinusoids is √½.
    for (scaled, codes), seed in product(((True, 8 * 2**0.5), (False, 1 / 8)), SEEDS):
        losses = reverse_with("N(0, 1)", scaled, codes, seed, steps)
        about = {"draw": "N(0, 1)", "scaled": scaled, "codes": codes, "seed": seed}
        runs.append({**about, "loss": by_twenty(losses)})
        print(f"  {about}: {runs[-1]['loss'][::5]}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": 1e-3, "runs": runs}


class Codes(nn.Module):
    """Adds sinusoids multiplied by a number.

    Args:
        factor: The number.
    """

    def __init__(self, factor: float):
        super().__init__()
        self.factor = factor

    def forward(self, x: Tensor) -> Tensor:
        """Add to (B, L, D)."""
        return x + self.factor * sinusoids(*x.shape[1:], dtype=x.dtype)


def reverse_with(
    draw: str, scaled: bool, codes: float, seed: int, steps: int
) -> list[float]:
    """Train two post-norm layers on *backwards*: the loss of each step.

    Args:
        draw: One of ``DRAWS``.
        scaled: Whether word vectors are multiplied by √D.
        codes: What positions are multiplied by.
        seed: Of weights and sequences.
        steps: Number of updates.
    """
    torch.manual_seed(seed)
    config = TransformerConfig(d_model=64, n_heads=4, d_ff=256, dropout=0.0)
    layers = [EncoderLayer(config) for _ in range(2)]
    model = Tagger(embedding(draw, scaled), layers)
    model.positions = Codes(codes)
    return fit(model, task_batches(reversed_symbols, LENGTH, seed), steps, 1e-3)


def embedding(draw: str, scaled: bool) -> nn.Embedding:
    """Make a table of word vectors of width 64.

    Args:
        draw: One of ``DRAWS``.
        scaled: Whether vectors are multiplied by √D.
    """
    table = (ScaledEmbedding if scaled else nn.Embedding)(TASK_VOCAB_SIZE, 64)
    nn.init.normal_(table.weight, std=DRAWS[draw])
    return table


def warm_up() -> dict:
    """Eight layers learn to sort: post-norm and pre-norm, with and without warm-up.

    Returns:
        "runs": for each place of the norm, number of warm-up steps and seed, the loss
        of each step.
    """
    steps, runs = 60, []
    for norm_first, n_warm, seed in product((False, True), (0, 30), SEEDS):
        torch.manual_seed(seed)
        model = deep_tagger(8, norm_first)
        losses = descend(model, seed, steps, 1e-2, n_warm)
        about = {"norm_first": norm_first, "warm_up": n_warm, "seed": seed}
        runs.append({**about, "loss": [round(x, 4) for x in losses]})
        print(f"  {about}: {sum(losses[-10:]) / 10:.3f}", flush=True)
    return {"steps": steps, "length": LENGTH, "rate": 1e-2, "runs": runs}


def descend(
    model: Tagger, seed: int, steps: int, rate: float, n_warm: int
) -> list[float]:
    """Train on sorting with Adam, whose rate rises to ``rate`` in ``n_warm`` steps.

    After them it stays. :func:`~attnbook.toy.training.fit` would let it fall, and clip
    the gradients: both would soften what is to be seen here.

    Returns:
        The loss of each step, before its update.
    """
    optimizer = torch.optim.Adam(model.parameters(), lr=rate)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / max(n_warm, 1))
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
