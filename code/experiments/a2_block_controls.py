"""What else lets the block of 2017 learn at the largest rate, and what doesn't."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import product

import torch
from torch import Tensor, nn

from attnbook.nn.layers import FeedForward
from attnbook.toy.character_models import (
    HIDDEN,
    OF_2017,
    OF_TODAY,
    WIDTH,
    CharacterModel,
    normed_heads,
    post_norm,
    pre_norm_model,
    rotary_heads,
)
from attnbook.toy.characters import character_batches
from attnbook.toy.training import fit
from experiments.a2_block_variants import (
    BATCH_SIZE,
    HELD_OUT,
    LEARNING_RATES,
    LENGTH,
    SEEDS,
    STEPS,
    character_losses,
    held_out,
    rounded,
)
from experiments.registry import experiment

WARM_UP = 30  # steps, as in chapter 8


class SmoothFeedForward(FeedForward):
    """The network of 2017 with SiLU, SwiGLU's function, but without a gate."""

    def forward(self, x: Tensor) -> Tensor:
        """Map (..., D) to (..., D)."""
        return self.W_2(nn.functional.silu(self.W_1(x)))


def post_norm_with(**parts: Callable[[], nn.Module]) -> CharacterModel:
    """The post-norm model with one part of each layer replaced, by its name."""
    model = post_norm()
    for layer, (name, part) in product(model.blocks, parts.items()):
        setattr(layer, name, part())
    return model


def without_sinusoids(model: CharacterModel) -> CharacterModel:
    """Nothing is added to the embeddings any more."""
    model.positions = nn.Identity()
    return model


def small_start() -> CharacterModel:
    """The baseline with chapter 8's small weights: 1/√N for N sublayers."""
    model = pre_norm_model(OF_2017)
    with torch.no_grad():
        for block in model.blocks:
            for matrix in (block.attention.W_O.weight, block.feed_forward.W_2.weight):
                matrix *= (2 * len(model.blocks)) ** -0.5
    return model


smooth = partial(SmoothFeedForward, WIDTH, HIDDEN)
WITH_WARM_UP: dict[str, Callable[[], nn.Module]] = {
    "post-norm": post_norm,
    "post-norm, SwiGLU": partial(post_norm_with, feed_forward=OF_TODAY.feed_forward),
    "post-norm, RoPE": lambda: without_sinusoids(
        post_norm_with(attention=rotary_heads)
    ),
    "post-norm, QK-norm": partial(post_norm_with, attention=normed_heads),
    "post-norm, all parts": lambda: without_sinusoids(
        post_norm_with(
            feed_forward=OF_TODAY.feed_forward,
            attention=OF_TODAY.attention,
            norm_1=OF_TODAY.norm,
            norm_2=OF_TODAY.norm,
        )
    ),
    "pre-norm": partial(pre_norm_model, OF_2017),
}
"""What is trained with a warm-up; "all parts" replaces all but the norm's position."""
CONTROLS: dict[str, Callable[[], nn.Module]] = {
    **{f"{name}, warm-up": make_model for name, make_model in WITH_WARM_UP.items()},
    **{name: WITH_WARM_UP[name] for name in WITH_WARM_UP if ", " in name},
    "pre-norm, small weights": small_start,
    "pre-norm, no positions": lambda: without_sinusoids(pre_norm_model(OF_2017)),
    "pre-norm, SiLU without gate": partial(
        pre_norm_model, OF_2017._replace(feed_forward=smooth)
    ),
}
"""What is changed in the model of 2017 or in the baseline, by the run's name."""


@experiment
def block_controls() -> dict:
    """Train each control at the largest learning rate, with each seed.

    Returns:
        "runs": for each control and seed the "excess" on the first half of the
        held-out texts, and the mean training loss of every twenty steps.
    """
    ids, least = held_out()
    ids, least = ids[:, : LENGTH + 1], least[:, :LENGTH]
    runs = []
    for (name, make_model), seed in product(CONTROLS.items(), SEEDS):
        warm_up = WARM_UP if name.endswith("warm-up") else 1
        torch.manual_seed(seed)
        model = make_model()
        batches = character_batches(seed, LENGTH, BATCH_SIZE)
        losses = fit(model, batches, STEPS, max(LEARNING_RATES), warm_up=warm_up)
        excess = (character_losses(model, ids) - least).mean().item()
        run = {
            **{"control": name, "seed": seed, "excess": round(excess, 4)},
            "losses": rounded(torch.tensor(losses).unflatten(0, (-1, 20)).mean(1)),
        }
        runs.append(run)
        print(f"  {name}, {seed}: {excess:.4f}", flush=True)
    about = {"steps": STEPS, "length": LENGTH, "batch_size": BATCH_SIZE}
    about |= {"learning_rate": max(LEARNING_RATES), "warm_up": WARM_UP}
    return {**about, "held_out": HELD_OUT, "runs": runs}
