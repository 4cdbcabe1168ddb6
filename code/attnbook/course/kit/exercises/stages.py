"""Stages: what a part must do, checked in order, for the package's and the reader's.

A stage calls the part on inputs of its own and compares what comes back. The functions
``expect_…`` raise :class:`Wrong` with a sentence that does not give the answer away.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, nn
from torch.utils._python_dispatch import TorchDispatchMode

from attnbook.course.kit.exercises.differences import describe, first_difference

TOLERANCE = 1e-5
"""Entries closer than this, relative to the largest, count as equal. Tests are in
float64, but a reader's constants may be float32."""


class Wrong(Exception):  # noqa: N818  (it is a finding, not an error of ours)
    """What a stage has found.

    Args:
        finding: A sentence without the answer.
        got: What was observed, by which a known mistake is recognised.
    """

    def __init__(self, finding: str, got: Any = None):
        super().__init__(finding)
        self.got = got


@dataclass(frozen=True)
class Stage:
    """One thing that a part must do.

    Attributes:
        name: One or two words, such as "shapes".
        checked: What a part that passes does, in a phrase.
        run: Takes the part's functions or classes, and raises :class:`Wrong`.
        hints: From a gentle one to a plain one.
        mistakes: Parts that are often written and fail here, each with a hint of its
            own. Like the reader's part each is a tuple, of one entry for each name.
    """

    name: str
    checked: str
    run: Callable[..., None]
    hints: tuple[str, ...]
    mistakes: Sequence[tuple[tuple, str]] = ()


@dataclass(frozen=True)
class Part:
    """Something that the reader writes.

    Attributes:
        name: As the page calls it.
        chapter: Number of the chapter in which it is written.
        names: Names of its functions or classes; they are judged together.
        ours: Those of the package, in the same order.
        stages: What all of them must do, in the order in which it is judged.
    """

    name: str
    chapter: int
    names: tuple[str, ...]
    ours: tuple[Callable, ...]
    stages: tuple[Stage, ...]


def first_failure(
    part: Part, answers: tuple[Callable, ...]
) -> tuple[Stage, Exception] | None:
    """Run the stages until one fails.

    The reader's random numbers and modes stay as they are.

    Args:
        part: The part.
        answers: Its functions or classes, the reader's or the package's.

    Returns:
        The stage and what it raised: :class:`Wrong`, or an error of the answer. None if
        all stages pass.
    """
    for stage in part.stages:
        error = failure(stage, answers)
        if error is not None:
            return stage, error
    return None


def failure(stage: Stage, answers: tuple[Callable, ...]) -> Exception | None:
    """Run one stage; return what it raised, None if it passes."""
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        try:
            stage.run(*answers)
        except Exception as error:  # whatever goes wrong in the reader's code
            return error
    return None


def hints_for(stage: Stage, error: Exception) -> list[str]:
    """The hint of the mistake that does the same, if there is one, then the stage's."""
    known = []
    if isinstance(error, Wrong):
        known = [hint for part, hint in stage.mistakes if _same(stage, part, error)]
    elif isinstance(error, TypeError) and "argument" in str(error):
        known = [
            "That call has an argument too few or too many. The skeleton's docstring "
            "lists what goes in and what comes out."
        ]
    elif "in-place operation" in str(error):  # of autograd
        known = [
            "That line changes a tensor that you were given; the caller may still need "
            "it. Make a new one: `x = x + y` instead of `x += y` or `x.add_(y)`, and "
            "`masked_fill` instead of `masked_fill_` or `x[…] = y`."
        ]
    return [*known[:1], *stage.hints]


def _same(stage: Stage, mistake: tuple, error: Wrong) -> bool:
    """Whether a mistake is found out by the same observation."""
    other = failure(stage, mistake)
    return (
        isinstance(other, Wrong)
        and str(other) == str(error)
        and not first_difference(error.got, other.got)
    )


def expect_tensor(got: Any, what: str) -> None:
    """Raise Wrong unless something is a tensor."""
    if got is None or got is ...:
        raise Wrong(f"{what} is {got}: is a `return` missing?")
    if not isinstance(got, Tensor):
        raise Wrong(f"{what} is {describe(got)}; it should be a tensor.")


def expect_shape(got: Any, shape: tuple[int, ...], what: str, letters: str) -> None:
    """Raise Wrong unless a tensor has a shape.

    Args:
        got: What the reader's code has returned.
        shape: The right shape; only its letters are told.
        what: What it is and of which inputs, such as "the output".
        letters: The shape in letters, such as "(B, T, D)".
    """
    expect_tensor(got, what)
    if got.shape != shape:
        found = tuple(got.shape)
        raise Wrong(f"{what} has the shape {found}; it should be {letters}.", found)


def expect_close(got: Any, wanted: Tensor, what: str, rule: str) -> None:
    """Raise Wrong unless two tensors are equal up to rounding.

    Args:
        got: What the reader's code has returned.
        wanted: The right tensor; it is not told.
        what: What it is, such as "the output".
        rule: What it should be equal to, in words or a formula.
    """
    expect_tensor(got, what)
    if got.shape != wanted.shape:
        raise Wrong(
            f"{what} has the shape {tuple(got.shape)}, which is not that of {rule}.",
            tuple(got.shape),
        )
    values = got.detach().double()
    if values.isnan().any() and not wanted.isnan().any():
        raise Wrong(f"{what} has entries that are NaN.", values)
    largest = max(1.0, wanted.abs().max().item()) if wanted.numel() else 1.0
    if not torch.allclose(values, wanted.double(), rtol=0, atol=TOLERANCE * largest):
        raise Wrong(f"{what} should equal {rule}, and doesn't.", values)


def expect_gradients(
    got: Tensor, wanted: Tensor, inputs: Mapping[str, Tensor], rule: str
) -> None:
    """Raise Wrong unless the gradients of two tensors agree for each input.

    They are those of one random weighted sum of the entries: a plain sum would miss
    errors in weights, whose sum is always 1.

    Args:
        got: What the reader's code has returned.
        wanted: The right tensor.
        inputs: Names and tensors, which require gradients.
        rule: Whose gradients they should be.
    """
    expect_tensor(got, "the result")
    if not got.requires_grad:
        raise Wrong("the result has no gradient: it is cut off from all inputs.")
    g = torch.Generator().manual_seed(1)
    factors = torch.randn(wanted.shape, generator=g, dtype=torch.float64)
    tensors = list(inputs.values())
    mine, right = (
        torch.autograd.grad(
            (x * factors).sum(), tensors, retain_graph=True, materialize_grads=True
        )
        for x in (got, wanted)
    )
    pairs = list(zip(inputs, mine, right, strict=True))
    cut = [name for name, found, formula in pairs if formula.any() and not found.any()]
    if cut:
        more = " and more" if cut[4:] else ""
        raise Wrong(f"no gradient reaches {', '.join(cut[:4])}{more}.", cut)
    for name, found, formula in pairs:
        expect_close(found, formula, f"the gradient with respect to {name}", rule)


def drawn(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Standard normal tensors in float64 that require gradients."""
    g = torch.Generator().manual_seed(seed)
    made = [torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes]
    return [tensor.requires_grad_() for tensor in made]


def filled(module: nn.Module, seed: int = 0) -> nn.Module:
    """Give a module random parameters, the same for equal names, and float64.

    Without dropout, unless it is put into training mode.
    """
    if not isinstance(module, nn.Module):
        raise Wrong(f"{describe(module)} is not an nn.Module.")
    g = torch.Generator().manual_seed(seed)
    module = module.double().eval()
    with torch.no_grad():
        for _, parameter in sorted(module.named_parameters()):
            parameter.normal_(std=0.5, generator=g)
    return module


def expect_parameters(module: nn.Module, shapes: Mapping[str, tuple]) -> None:
    """Raise Wrong unless a module has parameters of these names and shapes.

    Args:
        module: The reader's, under whose names the reference reads them.
        shapes: Their shapes by name.
    """
    found = {name: tuple(p.shape) for name, p in module.named_parameters()}
    for name, shape in shapes.items():
        if name not in found:
            raise Wrong(f"there is no parameter `{name}`.", name)
        if found[name] != shape:
            raise Wrong(f"`{name}` has the shape {found[name]}.", found[name])
    more = sorted({*found} - {*shapes})
    if more:
        raise Wrong(f"there is a parameter `{more[0]}` that is not needed.", more)


def operations(call: Callable[[], Any]) -> int:
    """Count PyTorch's operations in a call, views included."""
    with _Counter() as counter:
        call()
    return counter.count


class _Counter(TorchDispatchMode):
    """Counts each operation that PyTorch carries out."""

    def __init__(self):
        super().__init__()
        self.count = 0

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        self.count += 1
        return func(*args, **(kwargs or {}))


def expect_no_loop(few: int, many: int, over: str) -> None:
    """Raise Wrong if more operations are needed for a larger input.

    Args:
        few: The operations for a small one.
        many: Those for a large one.
        over: What there is more of, such as "queries".
    """
    if many > few:
        raise Wrong(f"more {over} need more operations: {few} became {many}.")
