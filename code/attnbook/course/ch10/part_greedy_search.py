"""Greedy decoding, ``greedy(model, src, max_len)``."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import Part, Stage, Wrong, expect_shape
from attnbook.decoding.greedy_search import greedy

WORDS, STEPS = 9, 12


class Model:
    """A model whose next token depends on the last one and on the step.

    Row b generates ``EOS`` after as many tokens as its first source id says.
    """

    def __init__(self, special: float = -99.0):
        g = torch.Generator().manual_seed(0)
        self.logits = torch.randn(STEPS, WORDS, WORDS, generator=g)  # step, last, next
        self.logits[..., EOS] = -9.0
        self.logits[..., [PAD, BOS]] += special
        self.steps, self.with_gradients = 0, False

    def start(self, src: Tensor) -> Tensor:
        """Each sentence's step and its length, (B, 2)."""
        return torch.stack([torch.zeros_like(src[:, 0]), src[:, 0]], 1)

    def step(self, token: Tensor, state: Tensor) -> tuple[Tensor, Tensor]:
        """Logits of the next token, (B, V), and the new state."""
        self.steps += 1
        self.with_gradients |= torch.is_grad_enabled()
        if self.steps > 50 * STEPS:
            raise Wrong("the loop does not end: stop after max_len tokens.")
        logits = self.logits[state[:, 0].clamp(max=STEPS - 1), token].clone()
        logits[state[:, 0] >= state[:, 1], EOS] = 9.0
        return logits, state + torch.tensor([1, 0])


def sources(*lengths: int) -> Tensor:
    """Ids of sentences whose translations have so many tokens before ``EOS``."""
    return torch.tensor([[n, 5, 6] for n in lengths])


def decoded(model: Model, src: Tensor, max_len: int) -> Tensor:
    """Sentence by sentence, one token after another."""
    rows = []
    for row in src:
        token, state, out = torch.tensor([BOS]), model.start(row[None]), []
        while len(out) < max_len and out[-1:] != [EOS]:
            logits, state = model.step(token, state)
            token = logits[:, EOS:].argmax(-1) + EOS  # PAD and BOS come before EOS
            out.append(token.item())
        rows.append(out)
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def expect_tokens(got: Any, wanted: Tensor, what: str, rule: str) -> None:
    """Raise Wrong unless the tokens are the right ones."""
    expect_shape(got, tuple(wanted.shape), what, "(B, length of the longest)")
    if not torch.equal(got, wanted):
        raise Wrong(f"in {what} a token is wrong: {rule}.", got)


def shapes(decode: Callable) -> None:
    """One row for each sentence, at most max_len tokens."""
    for rows, max_len in ((2, 4), (3, 1)):
        got = decode(Model(), sources(*[8] * rows), max_len)
        what = f"the output for {rows} sentences and max_len={max_len}"
        expect_shape(got, (rows, max_len), what, "(B, max_len), if no sentence ends")
        if got.is_floating_point():
            raise Wrong("the output holds floating-point numbers, not token ids.")


def tokens(decode: Callable) -> None:
    """The most probable token, fed back, with the state of the step before."""
    model, src = Model(), sources(8, 8)
    rule = "each is the argmax of the step that got the one before it"
    expect_tokens(decode(model, src, 6), decoded(Model(), src, 6), "the output", rule)


def ends(decode: Callable) -> None:
    """Sentences of a batch end at different steps."""
    src = sources(5, 2, 3)
    what = "the output for sentences of different lengths"
    rule = "after EOS there is PAD only"
    expect_tokens(decode(Model(), src, 9), decoded(Model(), src, 9), what, rule)


def special_tokens(decode: Callable) -> None:
    """PAD and BOS are not generated, even if a model likes them best."""
    src = sources(5, 3)
    model = Model(special=5.0)
    what = "the output of a model that gives PAD and BOS the largest logits"
    rule = "neither of them may be generated"
    expect_tokens(
        decode(model, src, 9), decoded(Model(special=5.0), src, 9), what, rule
    )


def step_count(decode: Callable) -> None:
    """One step for each token of the longest sentence, without gradients."""
    model = Model()
    decode(model, sources(5, 2, 3), 9)
    if model.steps > 6:
        raise Wrong(f"{model.steps} steps were taken for 6 tokens of 3 sentences.")
    if model.with_gradients:
        raise Wrong("the steps are recorded for gradients, which are not needed.")


def _decoder(
    start: int = BOS,
    choose: Callable = lambda logits: logits.argmax(-1),
    feeds: bool = True,
    keeps: bool = True,
    pads: bool = True,
    stops: Callable | None = Tensor.all,
    forbid: tuple[int, ...] = (PAD, BOS),
    gradients: bool = False,
) -> tuple[Callable]:
    """A decoder in which one thing may be wrong."""

    def decode(model, src, max_len):
        with torch.set_grad_enabled(gradients):
            first = state = model.start(src)
            token = torch.full((len(src),), start)
            finished, out = torch.zeros(len(src), dtype=torch.bool), []
            while len(out) < max_len and not (stops and stops(finished)):
                last = token if feeds else torch.full_like(token, start)
                logits, state = model.step(last, state if keeps else first)
                logits[:, forbid] = -torch.inf
                token = choose(logits)
                token = token.masked_fill(finished, PAD) if pads else token
                finished = finished | (token == EOS)
                out.append(token)
            return torch.stack(out, 1)

    return (decode,)


def _without_eos(model: Model, src: Tensor, max_len: int) -> Tensor:
    found = greedy(model, src, max_len)
    return found[:, :-1] if (found == EOS).any() else found


def _one_by_one(model: Model, src: Tensor, max_len: int) -> Tensor:
    with torch.no_grad():
        return decoded(model, src, max_len)


SHAPES = Stage(
    "shapes",
    "(B, at most max_len), token ids",
    shapes,
    (
        "Each step gives one token for each sentence, (B,). How do you join the steps?",
        "Collect the tokens in a list until it is `max_len` long, and return "
        "`torch.stack(output, 1)`.",
    ),
    wrong(
        (lambda model, src, max_len: greedy(model, src, max_len).T,),
        "Yours is (steps, B): rows should be sentences.",
        (lambda model, src, max_len: greedy(model, src, max_len + 1),),
        "One column too many: BOS is no part of the output, and EOS counts as one of "
        "the max_len tokens.",
    ),
)
TOKENS = Stage(
    "tokens",
    "each is the most probable after the ones before it",
    tokens,
    (
        "Trace two steps: which token and which state does the second one get?",
        "Start with BOS and `model.start(src)`. In each step `logits, state = "
        "model.step(token, state)`, and the argmax is the next token.",
    ),
    wrong(
        _decoder(start=EOS),
        "The first input is not BOS.",
        _decoder(feeds=False),
        "You give every step BOS: feed the last token back.",
        _decoder(keeps=False),
        "You give every step the initial state: hand on the new one.",
        _decoder(choose=lambda logits: logits[:, EOS + 1 :].argmin(-1) + EOS + 1),
        "You take the least probable token.",
    ),
)
ENDS = Stage(
    "ends",
    "sentences end at different steps, and PAD follows EOS",
    ends,
    (
        "What does your function generate for a sentence that has ended, while others "
        "go on?",
        "Keep a boolean `finished`, (B,). In each step `token.masked_fill(finished, "
        "PAD)`, then `finished = finished | (token == EOS)`; stop when all are.",
    ),
    wrong(
        _decoder(stops=None),
        "You always take max_len steps: stop when every sentence has generated EOS.",
        _decoder(stops=Tensor.any),
        "You stop when the first sentence has generated EOS: wait for all of them.",
        (_without_eos,),
        "EOS belongs to the output.",
        _decoder(pads=False),
        "After EOS your sentences go on: put PAD there.",
    ),
)
SPECIAL_TOKENS = Stage(
    "special tokens",
    "PAD and BOS are never generated",
    special_tokens,
    (
        "Which tokens can never be part of a sentence, however large their logits?",
        "Set the logits of PAD and BOS to -inf before the argmax.",
    ),
    wrong(
        _decoder(forbid=()),
        "You generate PAD or BOS.",
        _decoder(forbid=(PAD,)),
        "You generate BOS.",
        _decoder(forbid=(BOS,)),
        "You generate PAD.",
    ),
)
STEP_COUNT = Stage(
    "operation count",
    "one step for each token of the longest sentence, without gradients",
    step_count,
    (
        "How often is `model.step` called for a batch of three sentences? And what "
        "does autograd record meanwhile?",
        "Decode all sentences of a batch together, and put `@torch.no_grad()` above "
        "the function.",
    ),
    wrong(
        (_one_by_one,),
        "You decode sentence by sentence: `model.step` takes the whole batch.",
        _decoder(gradients=True),
        "`@torch.no_grad()` above the function saves the memory of all steps.",
    ),
)

PART = Part(
    name="greedy",
    chapter=10,
    names=("greedy",),
    ours=(greedy,),
    stages=(SHAPES, TOKENS, ENDS, SPECIAL_TOKENS, STEP_COUNT),
)
