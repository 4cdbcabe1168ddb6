"""Appendix A2: the block of 2017 and that of today on toy text; what else helps it."""

from __future__ import annotations

from collections.abc import Callable
from functools import cache, partial
from itertools import count, islice, product

import torch
from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.course.a2.character_models import (
    HIDDEN,
    OF_2017,
    OF_TODAY,
    VARIANTS,
    WIDTH,
    CharacterModel,
    normed_heads,
    post_norm,
    pre_norm_model,
    rotary_heads,
)
from attnbook.course.a2.characters import (
    character_batches,
    character_texts,
    encode_characters,
    least_loss,
)
from attnbook.nn.layers import FeedForward
from attnbook.nn.mixture_of_experts import MixtureOfExperts
from attnbook.toy.training import fit
from experiments.registry import experiment, sweep

LEARNING_RATES = (1e-3, 3e-3, 1e-2, 3e-2)
SEEDS = (0, 1, 2)
STEPS = 300
LENGTH = 64  # characters of a row in training
BATCH_SIZE = 16
HELD_OUT = 256  # texts, twice as long

# Ten blocks at four learning rates


def block_variant(name: str) -> dict:
    """Train one variant of the block with each learning rate and seed.

    Returns:
        "runs": for each learning rate and seed the "excess" on both halves of the
        held-out texts, the mean training loss of every twenty steps, and for a mixture
        of experts the "busiest" shares; "parameters": the variant's.
    """
    ids, least = held_out(LENGTH, HELD_OUT)
    runs = []
    for learning_rate, seed in product(LEARNING_RATES, SEEDS):
        torch.manual_seed(seed)
        model = VARIANTS[name]()
        losses = train(model, seed, learning_rate)
        excess = (character_losses(model, ids) - least).unflatten(1, (2, -1))
        run = {
            **{"learning_rate": learning_rate, "seed": seed},
            **{"excess": rounded(excess.mean((0, 2))), "losses": losses},
        }
        if busiest := busiest_shares(model, ids):
            run["busiest"] = busiest
        runs.append(run)
        print(f"  {learning_rate:g}, {seed}: {run['excess']}", flush=True)
    size = sum(p.numel() for p in model.parameters())
    about = {"steps": STEPS, "length": LENGTH, "batch_size": BATCH_SIZE}
    return {**about, "held_out": HELD_OUT, "parameters": size, "runs": runs}


for variant in VARIANTS:
    experiment(partial(block_variant, variant), f"block_{variant}")


@cache
def held_out(length: int, number: int) -> tuple[Tensor, Tensor]:
    """Texts as ids, (N, 2 T + 1), and the least loss of each character, (N, 2 T)."""
    texts = [*islice(character_texts(seed=12345, length=2 * length), number)]
    return encode_characters(texts), torch.tensor([*map(least_loss, texts)])


def train(
    model: CharacterModel, seed: int, learning_rate: float, warm_up: int = 1
) -> list[float]:
    """Train a model; return the mean loss of every twenty steps."""
    batches = character_batches(seed, LENGTH, BATCH_SIZE)
    losses = fit(model, batches, STEPS, learning_rate, warm_up=warm_up)
    return rounded(torch.tensor(losses).unflatten(0, (-1, 20)).mean(1))


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


# What else lets the block of 2017 learn at the largest rate, and what doesn't

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


def start_as_linear(model: CharacterModel) -> CharacterModel:
    """All linear maps begin with PyTorch's own weights, and with its biases if any."""
    for module in model.modules():
        if isinstance(module, nn.Linear):
            module.reset_parameters()
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


NEAR_THE_BOUND: dict[str, Callable[[], nn.Module]] = {
    **{name: VARIANTS[name] for name in ("swiglu", "rotary", "qk_norm")},
    "linear_start": lambda: start_as_linear(VARIANTS["pre_norm"]()),
    "linear_start, no_biases": lambda: start_as_linear(VARIANTS["no_biases"]()),
}
"""Variants of the baseline some of whose seeds end near a tenth of counting letters."""
ABOUT = {
    "steps": STEPS,
    "length": LENGTH,
    "batch_size": BATCH_SIZE,
    "learning_rate": max(LEARNING_RATES),
    "held_out": HELD_OUT,
}
"""What is stored with the runs at the largest learning rate."""


@sweep(control=CONTROLS, seed=SEEDS, warm_up=WARM_UP, **ABOUT)
def block_controls(control: str, seed: int) -> dict:
    """Train each control at the largest learning rate.

    Returns:
        The "excess" on the first half of the held-out texts, and the mean training loss
        of every twenty steps.
    """
    warm_up = WARM_UP if control.endswith("warm-up") else 1
    return at_largest(CONTROLS[control](), seed, warm_up)


@sweep(variant=NEAR_THE_BOUND, seed=range(9), **ABOUT)
def block_nine_seeds(variant: str, seed: int) -> dict:
    """Train with nine seeds what needs them; see :func:`block_controls`."""
    return at_largest(NEAR_THE_BOUND[variant](), seed)


@sweep(seed=range(9), **ABOUT)
def qk_norm_with_biases(seed: int) -> dict:
    """QK-norm in an attention that keeps its biases; see :func:`block_controls`."""
    with_biases = partial(normed_heads, bias=True)
    model = pre_norm_model(OF_2017._replace(attention=with_biases))
    return at_largest(model, seed)


def at_largest(model: CharacterModel, seed: int, warm_up: int = 1) -> dict:
    """Train a model at the largest learning rate; see :func:`block_controls`."""
    ids, least = held_out(LENGTH, HELD_OUT)
    ids, least = ids[:, : LENGTH + 1], least[:, :LENGTH]
    losses = train(model, seed, max(LEARNING_RATES), warm_up)
    excess = (character_losses(model, ids) - least).mean().item()
    return {"excess": round(excess, 4), "losses": losses}


ADVISED: dict[str, Callable[[], nn.Module]] = {
    **{name: VARIANTS[name] for name in ("pre_norm", "rotary", "today")},
    "rotary, swiglu": lambda: pre_norm_model(
        OF_TODAY._replace(attention=rotary_heads, norm=OF_2017.norm)
    ),
}
"""What an answer to which parts to choose may advise."""


@sweep(
    variant=ADVISED,
    learning_rate=LEARNING_RATES[-2:],
    warm_up=(1, WARM_UP),
    seed=SEEDS,
    steps=STEPS,
)
def block_advice(variant: str, learning_rate: float, warm_up: int, seed: int) -> dict:
    """Train with and without a warm-up; "excess" on both halves of held-out texts."""
    ids, least = held_out(LENGTH, HELD_OUT)
    model = ADVISED[variant]()
    train(model, seed, learning_rate, warm_up)
    excess = (character_losses(model, ids) - least).unflatten(1, (2, -1))
    return {"excess": rounded(excess.mean((0, 2)))}


# Does the softmax saturate, and what do sharp heads look at?

WATCHED_AT = (20, 50, STEPS - 1)  # updates before the look
FULL_ROWS = LENGTH // 2  # queries from here on have at least so many keys


def rotary_first() -> CharacterModel:
    """RoPE in the first layer alone, and no other positions."""
    model = without_sinusoids(pre_norm_model(OF_2017))
    model.blocks[0].attention = rotary_heads()
    return model


WATCHED: dict[str, Callable[[], nn.Module]] = {
    "baseline": VARIANTS["pre_norm"],
    "baseline, warm-up": VARIANTS["pre_norm"],
    "QK-norm": VARIANTS["qk_norm"],
    "RoPE": VARIANTS["rotary"],
    "RoPE, first layer": rotary_first,
}
"""Whose attention is watched in training, by the run's name."""


@sweep(model=WATCHED, seed=SEEDS, warm_up=WARM_UP, at=WATCHED_AT, **ABOUT)
def sharp_heads(model: str, seed: int) -> dict:
    """Watch the attention of a model while it trains at the largest learning rate.

    Returns:
        The "excess" of :func:`block_controls`, and at each of the steps, as means over
        the heads of a layer: the "largest" weight of a query, and the share of queries
        whose largest weight is at the head's most frequent "distance".
    """
    ids, _ = held_out(LENGTH, HELD_OUT)
    ids, steps, looks = ids[:BATCH_SIZE, :LENGTH], count(), []

    def watch(trained: CharacterModel, _: object) -> None:
        if trained.training and next(steps) in WATCHED_AT:
            looks.append(look(trained.eval(), ids))
            trained.train()

    trained = WATCHED[model]()
    trained.register_forward_pre_hook(watch)
    found = at_largest(trained, seed, WARM_UP if model.endswith("warm-up") else 1)
    about = {key: [seen[key] for seen in looks] for key in looks[0]}
    return {"excess": found["excess"], **about}


@torch.no_grad()
def look(model: CharacterModel, ids: Tensor) -> dict[str, list[float]]:
    """For each layer the mean "largest" weight and the share of one "distance"."""
    maps = torch.stack([*attention_maps(model, ids).values()])  # (N, B, H, T, T)
    largest, keys = maps[..., FULL_ROWS:, :].max(-1)  # (N, B, H, T')
    distances = torch.arange(FULL_ROWS, ids.shape[1]) - keys
    shares = [
        [head.flatten().bincount().max() / head.numel() for head in layer.unbind(1)]
        for layer in distances
    ]  # N lists of H
    return {
        "largest": rounded(largest.mean((1, 2, 3))),
        "distance": rounded(torch.tensor(shares).mean(1)),
    }
