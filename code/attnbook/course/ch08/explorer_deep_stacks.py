"""Chapter 8: a deep stack of attentions, its connections and its initial weights."""

from functools import lru_cache

import torch
from torch import Tensor

from attnbook.course.ch08.deep_stacks import CONNECTIONS, Stack, token_diversity
from attnbook.course.kit.explorers.charts import Axis, Line, Lines, numbers
from attnbook.course.kit.explorers.controls import Menu, Slider
from attnbook.course.kit.explorers.explorer import Explorer
from attnbook.course.kit.explorers.views import View

DEEPEST = 24
CONTROLS = {
    "connection": Menu("stack", ("plain", *CONNECTIONS[1:]), "pre-norm"),
    "variance": Slider("variance of the weights (1: nn.Linear, 3: ours)", 1, 6, 3),
    "n_blocks": Slider("layers", 4, DEEPEST, 24, step=4),
}
LOW, HIGH = 1e-12, 1e12
POWERS = {LOW: "10⁻¹²", 1e-6: "10⁻⁶", 1: "1", 1e6: "10⁶", HIGH: "10¹²"}


def deep_stack_view(connection: str, variance: int, n_blocks: int) -> View:
    """Token diversity and gradients of one stack."""
    diversity, norms = measure(connection, variance, n_blocks)
    gradient = _rounded(norms[0])
    said = (
        f"After {n_blocks} layers the token diversity is {diversity[-1]:.2f}; the "
        f"gradient that arrives at the first layer has length {gradient}."
    )
    alt = (
        f"Two lines over {n_blocks} layers. Token diversity goes from "
        f"{diversity[0]:.2f} to {diversity[-1]:.2f}. The length of the gradient is "
        f"{gradient} before the first layer and 1 after the last."
    )
    return View(said, _charts(diversity, norms), alt)


explore_deep_stacks = Explorer(deep_stack_view, CONTROLS)


def measure(
    connection: str, variance: int, n_blocks: int
) -> tuple[list[float], list[float]]:
    """Token diversity and gradient norms of a stack, n_blocks + 1 numbers each."""
    states, direction = _deepest(connection, variance)
    states = states[: n_blocks + 1]
    found = torch.autograd.grad(states[-1], states, direction, retain_graph=True)
    diversity = [token_diversity(state.detach()) for state in states]
    return diversity, [gradient.norm().item() for gradient in found]


@lru_cache(maxsize=1)
def _deepest(connection: str, variance: int) -> tuple[list[Tensor], Tensor]:
    """States of the deepest stack, which begins with every other one."""
    g = torch.Generator().manual_seed(0)
    x, direction = torch.randn(2, 8, 12, 64, generator=g, dtype=torch.float64)
    connection = "none" if connection == "plain" else connection
    with torch.random.fork_rng(devices=[]):  # the reader's stays as it is
        torch.manual_seed(0)
        size = (variance / 3) ** 0.5
        stack = Stack(connection, DEEPEST, weight_scale=size).double()
    return stack(x.requires_grad_()), direction / direction.norm()


def _rounded(norm: float) -> str:
    """A number of moderate size, or that it is outside."""
    if norm < 1e-4:
        return "below 0.0001"
    if norm > 1e6:
        return "above a million"
    return f"{norm:.2f}" if norm < 10 else f"{norm:,.0f}"


def _charts(diversity: list[float], norms: list[float]) -> tuple[Lines, Lines]:
    """Both lines, one above the other."""
    last = len(norms) - 1
    ticks = tuple(range(0, last + 1, 4))
    above = Lines(
        Axis("", 0, last, ticks),
        Axis("token diversity", -0.03, 1, (0, 0.5, 1)),
        (Line(numbers(diversity)),),
        height=190,
    )
    powers = Axis("gradient", LOW / 4, HIGH * 4, (*POWERS,), (*POWERS.values(),), True)
    norms = numbers(min(max(norm, LOW), HIGH) for norm in norms)
    layers = Axis("after layer", 0, last, ticks)
    return above, Lines(layers, powers, (Line(norms),), height=230)
