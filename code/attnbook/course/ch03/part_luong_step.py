"""One step with attention after the recurrence, and input feeding: ``step``."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    drawn,
    expect_close,
    expect_gradients,
    expect_no_loop,
    expect_shape,
    filled,
    operations,
)
from attnbook.models.bahdanau import EncodedSource
from attnbook.models.luong import Luong, LuongState

WORDS, TARGETS, E, H = 12, 9, 3, 4
SOURCE = torch.tensor([[5, 7, 4, 6, 11, 9], [8, 9, 4, PAD, PAD, PAD]])
TOKENS = torch.tensor([[4, 6], [7, 5], [3, 8]])  # (steps, B)


def started(model: type, src: Tensor = SOURCE) -> tuple[nn.Module, LuongState]:
    """The reader's model with random parameters, and its state before a step."""
    reader = filled(model(WORDS, TARGETS, E, H))
    return reader, Luong.start(reader, src)


def step(model: nn.Module, token: Tensor, state: LuongState) -> tuple:
    """What the reader's method returns: logits and the new state."""
    found = model.step(token, state)
    if not (isinstance(found, tuple | list) and len(found) == 2):
        raise Wrong("`step` should return two things: logits and the new state.")
    if not isinstance(found[1], LuongState):
        raise Wrong(
            "the new state should be a LuongState(s, h_tilde, t, source, weights)."
        )
    return tuple(found)


def formula(model: nn.Module, token: Tensor, state: LuongState) -> tuple:
    """Equations 5 to 8 with the general score; logits and the new state."""
    x = torch.cat([model.embedding(token), state.h_tilde], -1)  # (B, E + H)
    s = model.gru(x[:, None], state.s[None])[1][0]  # (B, H)
    states, mask = state.source.states, state.source.mask
    scores = torch.einsum("bq,bsq->bs", s, model.score.W(states))  # (B, S)
    weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
    c = torch.einsum("bs,bsk->bk", weights, states)
    h_tilde = torch.tanh(model.combine(torch.cat([c, s], -1)))
    new = LuongState(s, h_tilde, state.t + 1, state.source, weights)
    return model.out(h_tilde), new


def compare(reader: nn.Module, token: Tensor, state: LuongState, where: str) -> None:
    """Compare each quantity of one step, in the order in which they are computed."""
    logits, new = step(reader, token, state)
    right_logits, right = formula(reader, token, state)
    rules = {
        "s": (f"{where}s_t", "the GRU's state after [y; h̃_{t-1}]"),
        "weights": (f"{where}the weights", "the softmax of the scores of s_t"),
        "h_tilde": (f"{where}h̃_t", "tanh(W_c [c_t; s_t])"),
    }
    for field, (what, rule) in rules.items():
        expect_close(getattr(new, field), getattr(right, field), what, rule)
    expect_close(logits, right_logits, f"{where}the logits", "W_o h̃_t")


def shapes(model: type) -> None:
    """Logits and the new state's tensors."""
    logits, new = step(*_arguments(model))
    expect_shape(logits, (2, TARGETS), "the logits", "(B, V)")
    expect_shape(new.s, (2, H), "the new state's `s`", "(B, H)")
    expect_shape(new.h_tilde, (2, H), "the new state's `h_tilde`", "(B, H)")
    expect_shape(new.weights, (2, 6), "the new state's `weights`", "(B, S)")


def _arguments(model: type) -> tuple:
    reader, state = started(model)
    return reader, TOKENS[0], state


def values(model: type) -> None:
    """The first step of one sentence."""
    reader, state = started(model, SOURCE[:1])
    compare(reader, TOKENS[0, :1], state, "in the first step ")


def feeding(model: type) -> None:
    """Later steps: they depend on what the state carries."""
    reader, state = started(model, SOURCE[:1])
    for number, token in enumerate(TOKENS):
        compare(reader, token[:1], state, f"in step {number + 1} ")
        state = step(reader, token[:1], state)[1]
        if state.t != number + 1:
            raise Wrong("the new state's `t` should count the steps taken.")


def masks(model: type) -> None:
    """Padding gets no weight."""
    compare(*_arguments(model), "in a padded batch ")


def gradients(model: type) -> None:
    """Through two steps, h̃ among what links them."""
    reader, state = started(model)
    named = {f"`{name}`": p for name, p in reader.named_parameters()}
    mine, right = state, state
    for token in TOKENS[:2]:
        logits, mine = step(reader, token, mine)
        right_logits, right = formula(reader, token, right)
    expect_gradients(logits, right_logits, named, "that of two steps of the formula")


def operation_count(model: type) -> None:
    """All source positions at once."""
    reader, state = started(model)

    def count(positions):
        (states,) = drawn(0, (2, positions, H))
        mask = torch.ones(2, positions, dtype=torch.bool)
        source = EncodedSource(states, reader.score.W(states), mask)
        longer = state._replace(source=source)
        return operations(lambda: reader.step(TOKENS[0], longer))

    expect_no_loop(count(3), count(30), "source positions")


class _Other(Luong):
    """The right step, in pieces that a mistake can replace."""

    def fed(self, state):
        return state.h_tilde

    def asks(self, s, state):
        return s

    def weigh(self, scores, mask):
        return scores.masked_fill(~mask, -torch.inf).softmax(-1)

    def combined(self, c, s):
        return torch.tanh(self.combine(torch.cat([c, s], -1)))

    def logits(self, h_tilde, s):
        return self.out(h_tilde)

    def step(self, token, state):
        x = torch.cat([self.embedding(token), self.fed(state)], -1)
        s = self.gru(x[:, None], state.s[None])[1][0]
        query = self.asks(s, state)[:, None]
        scores = (query @ state.source.keys.mT)[:, 0]
        weights = self.weigh(scores, state.source.mask)
        c = (weights[:, None] @ state.source.states)[:, 0]
        h_tilde = self.combined(c, s)
        new = LuongState(s, h_tilde, state.t + 1, state.source, weights)
        return self.logits(h_tilde, s), new


def _with(**methods) -> tuple[type]:
    """The step with some of its pieces replaced."""
    return (type("Other", (_Other,), methods),)


class _Uncounted(_Other):
    def step(self, token, state):
        logits, new = super().step(token, state)
        return logits, new._replace(t=state.t)


class _Unsqueezed(_Other):
    def step(self, token, state):
        logits, new = super().step(token, state)
        return logits[:, None], new


class _Looped(_Other):
    def step(self, token, state):
        for key in state.source.keys.unbind(1):
            key.square().sum()  # each position by itself
        return super().step(token, state)


SHAPES = Stage(
    "shapes",
    "logits (B, V); the new state's s and h̃ (B, H), its weights (B, S)",
    shapes,
    (
        "nn.GRU with `batch_first=True` reads (B, 1, E + H) and a state (1, B, H). "
        "What does it return?",
        "`_, s = self.gru(x[:, None], state.s[None])` gives s with an axis in front: "
        "`s[0]` is (B, H).",
    ),
    wrong(
        (_Unsqueezed,),
        "An axis of steps is left over: one step has the logits of one token each.",
    ),
)
VALUES = Stage(
    "values",
    "s_t, the weights, h̃_t and the logits of the first step",
    values,
    (
        "Which comes first in Luong's step, the recurrence or the attention? And what "
        "is the query?",
        "In order: the GRU reads [y; h̃_{t-1}]; the scores are `s · source.keys`; c is "
        "the mean of `source.states`; h̃ = tanh(W_c [c; s]); the logits are "
        "`self.out(h̃)`.",
    ),
    wrong(
        _with(fed=lambda self, state: state.s),
        "You feed s_{t-1}. Input feeding hands on the attentional state h̃.",
        _with(asks=lambda self, s, state: state.s),
        "You attend with the old state, as Bahdanau does. Here the query is s_t, which "
        "has read the token.",
        _with(combined=lambda self, c, s: self.combine(torch.cat([c, s], -1))),
        "The tanh is missing.",
        _with(
            combined=lambda self, c, s: torch.tanh(self.combine(torch.cat([s, c], -1)))
        ),
        "W_c takes the context first: [c; s].",
        _with(logits=lambda self, h_tilde, s: self.out(s)),
        "The logits come from h̃, which has seen the context, not from s.",
    ),
)
FEEDING = Stage(
    "input feeding",
    "each step reads the h̃ of the step before it",
    feeding,
    (
        "The first step is right, since its h̃ is zero. What does the second one need "
        "of the first?",
        "Concatenate `state.h_tilde` to the embedding, and return the new s, h̃ and "
        "t + 1 in the LuongState.",
    ),
    wrong(
        _with(fed=lambda self, state: torch.zeros_like(state.h_tilde)),
        "You feed zeros at every step.",
        (_Uncounted,),
        "Count the step: t + 1.",
    ),
)
MASKS = Stage(
    "masks",
    "padding gets no weight",
    masks,
    (
        "Which weights do the padded positions of a short sentence get?",
        "Before the softmax, give the scores where `source.mask` is False a number so "
        "low that its exponential is 0.",
    ),
    wrong(
        _with(weigh=lambda self, scores, mask: scores.softmax(-1)),
        "The mask is not used yet: padding gets a part of the weight.",
        _with(weigh=lambda self, scores, mask: scores.softmax(-1) * mask),
        "You mask after the softmax, so that the weights left no longer sum to 1.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the loss at a step reaches what the steps before it computed",
    gradients,
    (
        "A mistake at step 2 should change what step 1 computes. Which links are "
        "there between the two?",
        "Neither the weights nor the h̃ that is fed should be detached.",
    ),
    wrong(
        _with(fed=lambda self, state: state.h_tilde.detach()),
        "What you feed is detached: h̃ then cannot learn what the next step needs.",
        _with(
            weigh=lambda self, scores, mask: (
                scores.masked_fill(~mask, -torch.inf).softmax(-1).detach()
            )
        ),
        "The weights are cut off from the scores.",
    ),
)
OPERATION_COUNT = Stage(
    "operation count",
    "more source positions need no more operations",
    operation_count,
    (
        "A Python loop over positions runs one small product after another. Can all "
        "positions be scored at once?",
        "`s[:, None] @ source.keys.mT` is (B, 1, S): all scores in one product.",
    ),
    wrong(
        (_Looped,),
        "You loop over the source positions: score all of them at once.",
    ),
)

PART = Part(
    name="luong_step",
    chapter=3,
    names=("MyLuong",),
    ours=(Luong,),
    stages=(SHAPES, VALUES, FEEDING, MASKS, GRADIENTS, OPERATION_COUNT),
)
