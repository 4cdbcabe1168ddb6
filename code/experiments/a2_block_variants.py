"""The block of 2017 and that of today on toy text, at four learning rates."""

from __future__ import annotations

from functools import partial
from itertools import islice, product

import torch
from torch import Tensor, nn

from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.toy.character_models import VARIANTS
from attnbook.toy.characters import (
    character_batches,
    character_texts,
    encode_characters,
    least_loss,
)
from attnbook.toy.training import fit
from experiments.registry import experiment

LEARNING_RATES = (1e-3, 3e-3, 1e-2, 3e-2)
SEEDS = (0, 1, 2)
STEPS = 300
LENGTH = 64  # characters of a row in training
BATCH_SIZE = 16
HELD_OUT = 256  # texts, twice as long


def block_variant(name: str) -> dict:
    """Train one variant of the block with each learning rate and seed."""
    ids, least = held_out()
    runs = []
    for learning_rate, seed in product(LEARNING_RATES, SEEDS):
        torch.manual_seed(seed)
        model = VARIANTS[name]()
        batches = character_batches(seed, LENGTH, BATCH_SIZE)
        losses = torch.tensor(fit(model, batches, STEPS, learning_rate))
        excess = (character_losses(model, ids) - least).unflatten(1, (2, -1))
        run = {
            **{"learning_rate": learning_rate, "seed": seed},
            "excess": rounded(excess.mean((0, 2))),
            "losses": rounded(losses.unflatten(0, (-1, 20)).mean(1)),
        }
        if busiest := busiest_shares(model, ids):
            run["busiest"] = busiest
        runs.append(run)
        print(f"  {learning_rate:g}, {seed}: {run['excess']}", flush=True)
    size = sum(p.numel() for p in model.parameters())
    about = {"steps": STEPS, "length": LENGTH, "batch_size": BATCH_SIZE}
    return {**about, "held_out": HELD_OUT, "parameters": size, "runs": runs}


def held_out() -> tuple[Tensor, Tensor]:
    """Texts as ids, (N, 2 T + 1), and the least loss of each character, (N, 2 T)."""
    texts = [*islice(character_texts(seed=12345, length=2 * LENGTH), HELD_OUT)]
    return encode_characters(texts), torch.tensor([*map(least_loss, texts)])


@torch.no_grad()
def character_losses(model: nn.Module, ids: Tensor) -> Tensor:
    """Loss of each character after the first: (N, T + 1) to (N, T), in nats."""
    log_p = model(ids[:, :-1]).log_softmax(-1)  # (N, T, V)
    return -log_p.gather(-1, ids[:, 1:, None]).squeeze(-1)


@torch.no_grad()
def busiest_shares(model: nn.Module, ids: Tensor) -> list[float]:
    """For each mixture the share of all positions that use its most used expert."""
    mixtures = [m for m in model.modules() if isinstance(m, MixtureOfExperts)]
    found: list[Tensor] = []

    def count(mixture: MixtureOfExperts, inputs: tuple[Tensor]) -> None:
        _, chosen = mixture.route(inputs[0])  # (N, T, k)
        uses = chosen.flatten().bincount(minlength=len(mixture.experts))
        found.append(uses.max() / chosen[..., 0].numel())

    hooks = [mixture.register_forward_pre_hook(count) for mixture in mixtures]
    if mixtures:
        model(ids[:, :-1])
    for hook in hooks:
        hook.remove()
    return rounded(torch.stack(found)) if found else []


def rounded(numbers: Tensor) -> list[float]:
    """Four decimals of a vector."""
    return [round(number, 4) for number in numbers.tolist()]


for variant in VARIANTS:
    experiment(partial(block_variant, variant), f"block_{variant}")
