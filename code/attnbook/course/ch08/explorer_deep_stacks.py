"""Chapter 8: a deep stack of attentions, its connections and its initial weights."""

from __future__ import annotations

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure

from attnbook.course.ch08.lab import inputs, stack
from attnbook.course.kit.colours import INK
from attnbook.course.kit.explorers.controls import Menu, Slider
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View
from attnbook.toy.deep_stacks import gradient_norms, token_diversity

CONNECTIONS = {
    "plain": "none",
    "residual": "residual",
    "post-norm": "post-norm",
    "pre-norm": "pre-norm",
}
"""What the reader chooses, and its name in :class:`~attnbook.toy.Stack`."""

CONTROLS = {
    "connection": Menu("stack", tuple(CONNECTIONS), "pre-norm"),
    "variance": Slider("variance of the weights, times 3D", 1, 6, 3),
    "n_blocks": Slider("blocks", 2, 48, 24),
}
LOW, HIGH = 1e-12, 1e12
CAPTION = (
    "**At PyTorch's initialisation, skip connections alone keep the gradient stable; "
    "larger weights need norms, too.** Random vectors of width 64 at twelve positions "
    "pass through untrained blocks of self-attention. Above: token diversity after "
    "each block. Below: norm of the gradient of each block's input, if a gradient of "
    "norm 1 is sent back from the end; values outside 10⁻¹² to 10¹² lie on the edge."
)


def explore_deep_stacks() -> object:
    """Let the reader choose a stack; see :func:`~.explorer.explore`."""
    return explore(deep_stack_view, CONTROLS, caption=CAPTION)


def deep_stack_view(connection: str, variance: int, n_blocks: int) -> View:
    """Token diversity and gradients of one stack."""
    diversity, norms = measure(connection, variance, n_blocks)
    gradient = _rounded(norms[0])
    said = (
        f"After {n_blocks} blocks the token diversity is {diversity[-1]:.2f}; the "
        f"gradient that arrives at the first block has norm {gradient}."
    )
    alt = (
        f"Two lines over {n_blocks} blocks. Token diversity goes from "
        f"{diversity[0]:.2f} to {diversity[-1]:.2f}. The norm of the gradient is "
        f"{gradient} before the first block and 1 after the last."
    )
    return View(said, _figure(diversity, norms), alt)


def measure(
    connection: str, variance: int, n_blocks: int
) -> tuple[list[float], list[float]]:
    """Token diversity and gradient norms of a stack, n_blocks + 1 numbers each."""
    x, direction = inputs()
    made = stack(CONNECTIONS[connection], (variance / 3) ** 0.5, n_blocks)
    with torch.no_grad():
        diversity = [token_diversity(state) for state in made(x)]
    return diversity, gradient_norms(made, x, direction)


def _rounded(norm: float) -> str:
    """A number of moderate size, or that it is outside."""
    if norm < 1e-4:
        return "below 0.0001"
    if norm > 1e6:
        return "above a million"
    return f"{norm:.2f}" if norm < 10 else f"{norm:,.0f}"


def _figure(diversity: list[float], norms: list[float]) -> Figure:
    """Both lines, one above the other."""
    fig, (above, below) = plt.subplots(2, sharex=True, figsize=(5.5, 4.2))
    above.plot(diversity, color=INK)
    # Rounded, so that the last digits of a machine change no pixel.
    norms = [float(f"{min(max(norm, LOW), HIGH):.1e}") for norm in norms]
    below.plot(norms, color=INK)
    above.set(ylabel="token diversity", ylim=(-0.03, 1))
    below.set(xlabel="after block", ylabel="gradient", yscale="log")
    below.set(ylim=(LOW / 4, HIGH * 4), yticks=[1e-12, 1e-6, 1, 1e6, 1e12])
    below.set(xlim=(0, len(norms) - 1))
    below.xaxis.get_major_locator().set_params(integer=True)
    below.minorticks_off()
    return fig
