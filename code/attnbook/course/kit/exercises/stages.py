"""Stages: what a part must do, checked in order, for the package's and the reader's.

A stage calls the part on inputs of its own and compares what comes back, by ``expect``.
"""

import io
import re
from collections.abc import Callable
from contextlib import redirect_stdout
from dataclasses import dataclass, field
from importlib import import_module
from typing import Any, TextIO

import torch
from torch import Tensor, nn

from attnbook.course.kit.exercises.differences import describe
from attnbook.course.kit.exercises.hints import (
    Mistake,
    known_hint,
    make_mistake,
    read_hints,
)

MODULES = {
    "seq2seq": "ch01.part_seq2seq",
    "bahdanau_step": "ch02.part_bahdanau_step",
    "luong_step": "ch03.part_luong_step",
    "attention": "ch04.part_attention",
    "MultiHeadAttention": "ch05.part_multi_head",
    "masks": "ch06.part_masks",
    "positions": "ch07.part_positions",
    "FeedForward": "ch08.part_feed_forward",
    "EncoderLayer": "ch08.part_encoder_layer",
    "DecoderLayer": "ch08.part_decoder_layer",
    "Transformer": "ch09.part_transformer",
    "greedy": "ch10.part_greedy_search",
    "training": "ch12.part_training",
}
"""Parts and their modules, in the order in which the course writes them."""
CHANGED = "a tensor that was given is another one afterwards."
# What goes wrong in any stage, as a regular expression, and the hint for it.
COMMON = [
    (
        "TypeError: .*argument",
        "That call has an argument too few or too many. The skeleton's docstring lists "
        "what goes in and what comes out.",
    ),
    (
        f"in-place operation|{CHANGED}",
        "Your code changes a tensor that it was given; the caller may still need it. "
        "Make a new one: `x = x + y` instead of `x += y` or `x.add_(y)`, and "
        "`masked_fill` instead of `masked_fill_` or `x[…] = y`.",
    ),
    (
        "is a `return` missing",
        "A function without `return`, or with `return` in one branch only, gives None.",
    ),
    ("should return two things", "`return a, b` returns both, as a tuple."),
    (
        "in training was another than in eval mode",
        "What draws random numbers in training? `nn.Dropout` does, and so does a "
        "module that was given a probability of dropout.",
    ),
    (
        "on the CPU",
        "Which tensors do you make yourself, and where do they lie? If none of your "
        "lines makes one, look at the parts that you use.",
    ),
    (
        "on the CPU",
        "`torch.zeros_like(x)`, `x.new_zeros(…)` and their kin make a tensor where x "
        "lies; `torch.arange` and others take `device=x.device`; `mask.to(x.device)` "
        "moves what is there. A table kept as a buffer moves together with its module.",
    ),
    (
        "share parameters",
        "One module under two names has one set of parameters. Where do both get it?",
    ),
]


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
        hints: From a gentle one to a plain one, each behind the words of the findings
            that it is for; none means all others.
        mistakes: What is often written and fails here, each with a hint of its own.
    """

    name: str
    checked: str
    run: Callable[..., None]
    hints: list[tuple[str, str]]
    mistakes: list[Mistake]


@dataclass(frozen=True)
class Part:
    """Something that the reader writes: one or more functions or classes.

    Attributes:
        name: As the page calls it.
        chapter: Number of the chapter in which it is written.
        ours: The package's functions or classes.
        solution: What the reader could have written, under the page's names and in the
            same order; mistakes are edits of its source.
        stages: What all of them must do, in the order in which it is judged.
    """

    name: str
    chapter: int
    ours: tuple[Callable, ...]
    solution: tuple[Callable, ...]
    stages: list[Stage] = field(default_factory=list)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of its functions or classes; they are judged together."""
        return tuple(answer.__name__ for answer in self.solution)

    def stage(self, checked: str, name: str = "") -> Callable:
        """Decorate the check of the next stage; its docstring tells the hints.

        Args:
            checked: What a part that passes does, in a phrase.
            name: Of the stage, if it isn't that of the function.
        """

        def add(run: Callable[..., None]) -> Callable[..., None]:
            label = name or run.__name__.replace("_", " ")
            told = read_hints(run.__doc__ or "")
            self.stages.append(Stage(label, checked, run, *told))
            return run

        return add


def find_part(name: str) -> Part:
    """Look a part up by its name, such as "attention"; its module is loaded now.

    Raises:
        ValueError: If there is no part of that name.
    """
    if name not in MODULES:
        raise ValueError(f"there is no part {name!r}; choose among {[*MODULES]}")
    return import_module(f"attnbook.course.{MODULES[name]}").PART


def first_failure(
    part: Part, answers: tuple[Callable, ...], printed: TextIO | None = None
) -> tuple[Stage, Exception] | None:
    """Run the stages until one fails; return it and what it raised, or None.

    The reader's random numbers and modes stay as they are, and what the reader's code
    prints goes to ``printed``, or nowhere.
    """
    with redirect_stdout(printed or io.StringIO()):
        for stage in part.stages:
            error = failure(stage, answers)
            if error is not None:
                return stage, error
    return None


def failure(stage: Stage, answers: tuple[Callable, ...]) -> Exception | None:
    """Run one stage; return what it raised, None if it passes."""
    constants = stage.run.__globals__
    given = {k: x.clone() for k, x in constants.items() if isinstance(x, Tensor)}
    found = None
    with torch.random.fork_rng(devices=[]), torch.enable_grad():
        torch.manual_seed(0)
        try:
            stage.run(*answers)
        except Exception as error:  # whatever goes wrong in the reader's code
            found = error
    for name, before in given.items():
        if not torch.equal(constants[name], before):
            constants[name].copy_(before)  # the next try gets what it should
            found = Wrong(CHANGED)
    return found


def hints_for(part: Part, stage: Stage, error: Exception) -> list[str]:
    """The hint of the mistake that does the same, if there is one, then those that fit.

    A hint that names what was found replaces the stage's general ones.
    """
    known, finding = [], str(error)
    if isinstance(error, Wrong):
        others = (
            (failure(stage, make_mistake(part.solution, x)), x.hint)
            for x in stage.mistakes
        )
        known = known_hint(
            _observed(error), ((_observed(x), hint) for x, hint in others)
        )
    else:
        finding = f"{type(error).__name__}: {error}"
    told = [*stage.hints, *COMMON]
    own = [hint for words, hint in told if words and re.search(words, finding)]
    return [*known, *(own or [hint for words, hint in stage.hints if not words])]


def _observed(error: Exception | None) -> tuple | None:
    """What a stage has found, if the code runs and the stage finds something."""
    return (str(error), error.got) if isinstance(error, Wrong) else None


def draw_leaves(seed: int, *shapes: tuple[int, ...]) -> list[Tensor]:
    """Draw standard normal tensors in float64 that require gradients."""
    g = torch.Generator().manual_seed(seed)
    made = [torch.randn(shape, generator=g, dtype=torch.float64) for shape in shapes]
    return [tensor.requires_grad_() for tensor in made]


def fill(module: nn.Module, seed: int = 0) -> nn.Module:
    """Give a module random parameters, the same for equal names, and float64.

    Frozen ones stay: a table of positions, say. Without dropout, unless it is put into
    training mode.
    """
    if not isinstance(module, nn.Module):
        raise Wrong(f"{describe(module)} is not an nn.Module.")
    g = torch.Generator().manual_seed(seed)
    module = module.double().eval()
    with torch.no_grad():
        for _, parameter in sorted(module.named_parameters()):
            if parameter.requires_grad:
                parameter.normal_(std=0.5, generator=g)
    return module
