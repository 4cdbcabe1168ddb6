"""One step with attention after the recurrence, and input feeding: ``step``."""

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import expect
from attnbook.course.kit.exercises.stages import Part, Wrong, draw_leaves, fill
from attnbook.models.bahdanau import EncodedSource
from attnbook.models.luong import Luong, LuongState

WORDS, TARGETS, E, H = 12, 9, 3, 4
SOURCE = torch.tensor([[5, 7, 4, 6, 11, 9], [8, 9, 4, PAD, PAD, PAD]])
TOKENS = torch.tensor([[4, 6], [7, 5], [3, 8]])  # (steps, B)


class MyLuong(Luong):
    def step(self, token, state):
        x = torch.cat([self.embedding(token), state.h_tilde], -1)
        _, s = self.gru(x[:, None], state.s[None])
        s, source = s[0], state.source
        scores = (s[:, None] @ source.keys.mT)[:, 0]
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~source.mask, lowest).softmax(-1)
        c = (weights[:, None] @ source.states)[:, 0]
        h_tilde = torch.tanh(self.combine(torch.cat([c, s], -1)))
        return self.out(h_tilde), LuongState(s, h_tilde, state.t + 1, source, weights)


PART = Part("luong_step", 3, (Luong,), (MyLuong,))


def start(model: type, src: Tensor = SOURCE) -> tuple[nn.Module, LuongState]:
    """The reader's model with random parameters, and its state before a step."""
    reader = fill(model(WORDS, TARGETS, E, H))
    return reader, Luong.start(reader, src)


def step(model: nn.Module, token: Tensor, state: LuongState) -> tuple:
    """What the reader's method returns: logits and the new state."""
    found = model.step(token, state)
    logits, new = expect.pair(found, "step", "logits and the new state")
    if not isinstance(new, LuongState):
        raise Wrong(
            "the new state should be a LuongState(s, h_tilde, t, source, weights)."
        )
    return logits, new


def step_by_formula(model: nn.Module, token: Tensor, state: LuongState) -> tuple:
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
    right_logits, right = step_by_formula(reader, token, state)
    rules = {
        "s": (f"{where}s_t", "the GRU's state after [y; h̃_{t-1}]"),
        "weights": (f"{where}the weights", "the softmax of the scores of s_t"),
        "h_tilde": (f"{where}h̃_t", "tanh(W_c [c_t; s_t])"),
    }
    for field, (what, rule) in rules.items():
        expect.close(getattr(new, field), getattr(right, field), what, rule)
    expect.close(logits, right_logits, f"{where}the logits", "W_o h̃_t")


@PART.stage("logits (B, V); the new state's s and h̃ (B, H), its weights (B, S)")
def shapes(model: type) -> None:
    """nn.GRU with `batch_first=True` reads (B, 1, E + H) and a state (1, B, H). What
    does it return?

    `_, s = self.gru(x[:, None], state.s[None])` gives s with an axis in front: `s[0]`
    is (B, H).

    On "LuongState": It has five fields, in this order: s, h_tilde, t, source, weights.

    On "`weights`": There is a weight for each position of the source; which axis of the
    scores is left over?

    self.out(h_tilde), => self.out(h_tilde)[:, None],
        An axis of steps is left over: one step has the logits of one token each.
    """
    reader, state = start(model)
    logits, new = step(reader, TOKENS[0], state)
    expect.shape(logits, (2, TARGETS), "the logits", "(B, V)")
    expect.shape(new.s, (2, H), "the new state's `s`", "(B, H)")
    expect.shape(new.h_tilde, (2, H), "the new state's `h_tilde`", "(B, H)")
    expect.shape(new.weights, (2, 6), "the new state's `weights`", "(B, S)")


@PART.stage("s_t, the weights, h̃_t and the logits of the first step")
def values(model: type) -> None:
    """Which comes first in Luong's step, the recurrence or the attention? And what is
    the query?

    In order: the GRU reads [y; h̃_{t-1}]; the scores are `s · source.keys`; c is the
    mean of `source.states`; h̃ = tanh(W_c [c; s]); the logits are `self.out(h̃)`.

    state.h_tilde], -1) => state.s], -1)
        You feed s_{t-1}. Input feeding hands on the attentional state h̃.
    (s[:, None] @ => (state.s[:, None] @
        You attend with the old state, as Bahdanau does. Here the query is s_t, which
        has read the token.
    torch.tanh( => (
        The tanh is missing.
    [c, s] => [s, c]
        W_c takes the context first: [c; s].
    self.out(h_tilde) => self.out(s)
        The logits come from h̃, which has seen the context, not from s.
    LuongState(s, h_tilde, => LuongState(s, state.h_tilde,
        The new state holds the old h̃: hand on the one that you have just computed.
    """
    reader, state = start(model, SOURCE[:1])
    compare(reader, TOKENS[0, :1], state, "in the first step ")


@PART.stage("each step reads the h̃ of the step before it")
def input_feeding(model: type) -> None:
    """The first step is right, since its h̃ is zero. What does the second one need of
    the first?

    Concatenate `state.h_tilde` to the embedding, and return the new s, h̃ and t + 1 in
    the LuongState.

    On "`t` should": What is `state.t` before the step, and what after it?

    state.h_tilde], -1) => torch.zeros_like(state.h_tilde)], -1)
        You feed zeros at every step.
    state.t + 1 => state.t
        Count the step: t + 1.
    """
    reader, state = start(model, SOURCE[:1])
    for number, token in enumerate(TOKENS):
        compare(reader, token[:1], state, f"in step {number + 1} ")
        state = step(reader, token[:1], state)[1]
        if state.t != number + 1:
            raise Wrong("the new state's `t` should count the steps taken.")


@PART.stage("padding gets no weight")
def masks(model: type) -> None:
    """Which weights do the padded positions of a short sentence get?

    Before the softmax, give the scores where `source.mask` is False a number so low
    that its exponential is 0.

    .masked_fill(~source.mask, lowest) =>
        The mask is not used yet: padding gets a part of the weight.
    .masked_fill(~source.mask, lowest).softmax(-1) => .softmax(-1) * source.mask
        You mask after the softmax, so that the weights left no longer sum to 1.
    """
    reader, state = start(model)
    compare(reader, TOKENS[0], state, "in a padded batch ")


@PART.stage("the loss at a step reaches what the steps before it computed")
def gradients(model: type) -> None:
    """A mistake at step 2 should change what step 1 computes. Which links are there
    between the two?

    Neither the weights nor the h̃ that is fed should be detached.

    state.h_tilde], -1) => state.h_tilde.detach()], -1)
        What you feed is detached: h̃ then cannot learn what the next step needs.
    .softmax(-1) => .softmax(-1).detach()
        The weights are cut off from the scores.
    """
    reader, state = start(model)
    mine, right = state, state
    for token in TOKENS[:2]:
        logits, mine = step(reader, token, mine)
        right_logits, right = step_by_formula(reader, token, right)
    rule = "that of two steps of the formula"
    expect.gradients(logits, right_logits, rule, reader)


@PART.stage("a longer source needs no more calls to PyTorch")
def operation_count(model: type) -> None:
    """A Python loop over positions runs one small product after another. Can all
    positions be scored at once?

    `s[:, None] @ source.keys.mT` is (B, 1, S): all scores in one product.

    source.keys.mT => torch.cat([key.mT for key in source.keys.split(1, 1)], -1)
        You loop over the source positions: score all of them at once.
    """
    reader, state = start(model)

    def attend(positions):
        (states,) = draw_leaves(0, (2, positions, H))
        mask = torch.ones(2, positions, dtype=torch.bool)
        source = EncodedSource(states, reader.score.W(states), mask)
        reader.step(TOKENS[0], state._replace(source=source))

    expect.no_loop(attend, 3, 30, "source positions")
