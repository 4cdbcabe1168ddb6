"""One head or two: colours and symbols, one and two positions back."""

from __future__ import annotations

import math
from collections.abc import Iterator
from contextlib import contextmanager

import torch
from torch import Tensor, nn

from attnbook.core.divergence import check_finite
from attnbook.course.kit.toy_translation import SEEDS, THREE_SEEDS
from attnbook.nn.multi_head import MultiHeadAttention
from attnbook.nn.positions import LearnedPositions
from attnbook.toy.single_attention import one_layer
from attnbook.toy.tasks import previous_symbols, task_accuracy, task_batches
from attnbook.toy.training import fit, train_step
from experiments.registry import experiment

# Colours: three independent numbers at each position

LENGTH, WIDTH, BATCH = 8, 64, 64
COLOUR_STEPS, COLOUR_RATE = 2000, 4e-3
VARIANTS = {
    "one head": {},
    "one head, twice the steps": {"steps": 2 * COLOUR_STEPS},
    "one head, four times as wide": {"width": 4 * WIDTH},
    "two heads": {"n_heads": 2},
}


class Colours(nn.Module):
    """Colours and positions, one attention, and a linear output of two colours.

    Nothing but the softmax isn't linear in the colours.
    """

    def __init__(self, n_heads: int, width: int = WIDTH):
        super().__init__()
        self.embedding = nn.Linear(3, width)
        self.positions = LearnedPositions(LENGTH, width)
        self.attention = MultiHeadAttention(width, n_heads)
        self.out = nn.Linear(width, 6)

    def forward(self, colours: Tensor) -> Tensor:
        """Map colours, (B, L, 3), to the colours one and two back, (B, L, 2, 3)."""
        x = self.positions(self.embedding(colours))
        return self.out(self.attention(x, x, x)).unflatten(-1, (2, 3))


def colour_batches(seed: int, size: int = BATCH) -> Iterator[tuple[Tensor, Tensor]]:
    """Endless batches of Gaussian colours, (B, L, 3), and answers, (B, L, 2, 3)."""
    g = torch.Generator().manual_seed(seed)
    while True:
        colours = torch.randn(size, LENGTH, 3, generator=g)
        yield colours, torch.stack([colours.roll(1, 1), colours.roll(2, 1)], 2)


def missing(outputs: Tensor, answers: Tensor) -> Tensor:
    """The share of each answer's variance that is missing, (2,), where both exist."""
    wrong = (outputs - answers)[:, 2:].square().mean((0, 1, 3))
    return wrong / answers[:, 2:].square().mean((0, 1, 3))


def train_colours(
    seed: int, n_heads: int = 1, width: int = WIDTH, steps: int = COLOUR_STEPS
) -> Colours:
    """Train a model by Adam; the learning rate falls along half a cosine."""
    torch.manual_seed(seed)
    model, batches = Colours(n_heads, width), colour_batches(seed)
    optimizer = torch.optim.Adam(model.parameters(), lr=COLOUR_RATE)
    for step in range(steps):
        optimizer.param_groups[0]["lr"] = (
            COLOUR_RATE * (1 + math.cos(math.pi * step / steps)) / 2
        )
        train_step(model, optimizer, next(batches), lambda *b: missing(*b).sum())
    check_finite(model.parameters())
    return model.eval()


@contextmanager
def mean_ablated(attention: MultiHeadAttention, head: int) -> Iterator[None]:
    """Let a head return its mean over the batch until the ``with`` block ends.

    Set to zero, it would lose its constant part, too, and move the other answer.
    """

    def average(module: nn.Module, args: tuple[Tensor]) -> tuple[Tensor]:
        heads = [*args[0].chunk(attention.n_heads, dim=-1)]
        heads[head] = heads[head].mean(0, keepdim=True).expand_as(heads[head])
        return (torch.cat(heads, -1),)

    handle = attention.W_O.register_forward_pre_hook(average)
    try:
        yield
    finally:
        handle.remove()


@experiment
def two_colours() -> dict:
    """Which share of two colours' variance is missing with one head, and with two?

    Returns:
        "runs": for each variant and seed "missing", of the colours one and two back,
        and with two heads "without": the same with each head held at its mean.
    """
    test = next(colour_batches(seed=1000, size=4000))
    runs = []
    for name, changes in VARIANTS.items():
        for seed in SEEDS:
            model = train_colours(seed, **changes)
            run = {"model": name, "seed": seed, "missing": measured(model, test)}
            if changes.get("n_heads", 1) > 1:
                run["without"] = []
                for head in range(changes["n_heads"]):
                    with mean_ablated(model.attention, head):
                        run["without"].append(measured(model, test))
            runs.append(run)
            print(f"  {run}", flush=True)
    return {"steps": COLOUR_STEPS, "learning_rate": COLOUR_RATE, "runs": runs}


@torch.no_grad()
def measured(model: Colours, batch: tuple[Tensor, Tensor]) -> list[float]:
    """The missing shares on a batch."""
    return [round(x, 4) for x in missing(model(batch[0]), batch[1]).tolist()]


# Symbols: one of sixteen at each position

SYMBOLS, SYMBOL_RATE = 12, 4e-3
SYMBOL_STEPS = (400, 6000)


@experiment
def two_symbols() -> dict:
    """With symbols, one head gets both answers, if it is trained longer.

    Returns:
        "runs": for each number of heads, steps and seed the "accuracy" of the symbols
        one and two back; "frozen": the same with the attention's weights held at their
        mean over the test sequences.
    """
    test = next(task_batches(previous_symbols, SYMBOLS, seed=1000, batch_size=512))
    runs = []
    for n_heads in (1, 2):
        for steps in SYMBOL_STEPS if n_heads == 1 else SYMBOL_STEPS[:1]:
            for seed in THREE_SEEDS:
                torch.manual_seed(seed)
                model = one_layer("learned", SYMBOLS, n_heads=n_heads)
                batches = task_batches(previous_symbols, SYMBOLS, seed)
                fit(model, batches, steps, SYMBOL_RATE)
                run = {"heads": n_heads, "steps": steps, "seed": seed}
                run["accuracy"] = both_answers(model, test)
                run["frozen"] = both_answers(lambda ids, m=model: frozen(m, ids), test)
                runs.append(run)
                print(f"  {run}", flush=True)
    return {"length": SYMBOLS, "learning_rate": SYMBOL_RATE, "runs": runs}


def both_answers(model, batch) -> list[float]:
    """Accuracy of each answer, at the positions that have both."""
    return [round(x, 4) for x in task_accuracy(model, batch)[2:].mean(0).tolist()]


@torch.no_grad()
def frozen(model: nn.Module, ids: Tensor) -> Tensor:
    """The model's logits with the weights of each head held at their mean."""
    _, weights = model(ids, need_weights=True)  # (B, H, L, L)
    attention = model.attention
    values = attention.W_V(model.positions(model.embedding(ids)))
    values = values.unflatten(-1, (attention.n_heads, -1)).transpose(1, 2)
    mixed = (weights.mean(0, keepdim=True) @ values).transpose(1, 2).flatten(2)
    return model.answers(attention.W_O(mixed))
