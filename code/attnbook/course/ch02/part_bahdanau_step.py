"""One step with attention before the recurrence: ``attend`` and ``step``."""

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
from attnbook.models.bahdanau import Bahdanau, BahdanauState, EncodedSource

WORDS, TARGETS, E, H, A = 12, 9, 3, 4, 5
SOURCE = torch.tensor([[5, 7, 4, 6, 11, 9], [8, 9, 4, PAD, PAD, PAD]])
TOKEN = torch.tensor([4, 6])


def made(model: type) -> nn.Module:
    """The reader's model with random parameters."""
    return filled(model(WORDS, TARGETS, E, H, A))


def encoded(model: nn.Module, src: Tensor = SOURCE) -> BahdanauState:
    """The state before the first step."""
    return Bahdanau.start(model, src)


def attended(model: nn.Module, s: Tensor, source: EncodedSource) -> list[Tensor]:
    """Context and weights from equations 5 and 6 and appendix A.1.2."""
    score = model.score
    hidden = torch.tanh(score.W(s)[:, None] + score.U(source.states))  # (B, S, A)
    scores = score.v(hidden).squeeze(-1)  # (B, S)
    weights = scores.masked_fill(~source.mask, -torch.inf).softmax(-1)
    return [torch.einsum("bs,bsk->bk", weights, source.states), weights]


def stepped(model: nn.Module, state: BahdanauState) -> list[Tensor]:
    """Logits and the new state."""
    y, (c, _) = model.embedding(TOKEN), attended(model, state.s, state.source)
    s = model.cell(torch.cat([y, c], -1), state.s)
    return [model.readout(s, y, c), s]


def pair(found: object, name: str, parts: str) -> tuple:
    """What a method returns, if it is two things."""
    if not (isinstance(found, tuple | list) and len(found) == 2):
        raise Wrong(f"`{name}` should return two things: {parts}.")
    return found


def attend(model: nn.Module, state: BahdanauState) -> tuple[Tensor, Tensor]:
    """What the reader's method returns."""
    return pair(model.attend(state.s, state.source), "attend", "context and weights")


def step(model: nn.Module, state: BahdanauState) -> tuple[Tensor, BahdanauState]:
    """What the reader's method returns."""
    logits, new = pair(model.step(TOKEN, state), "step", "logits and the new state")
    if not isinstance(new, BahdanauState):
        raise Wrong("the new state should be a BahdanauState(s, source, weights).")
    return logits, new


def shapes(model: type) -> None:
    """Context, weights, logits and the new state."""
    reader = made(model)
    state = encoded(reader)
    context, weights = attend(reader, state)
    expect_shape(weights, (2, 6), "the weights", "(B, S)")
    expect_shape(context, (2, 2 * H), "the context", "(B, width of the states)")
    logits, new = step(reader, state)
    expect_shape(logits, (2, TARGETS), "the logits", "(B, V)")
    expect_shape(new.s, (2, H), "the new state's `s`", "(B, H)")
    expect_shape(new.weights, (2, 6), "the new state's `weights`", "(B, S)")


def weights(model: type) -> None:
    """The additive score and the softmax over the source positions."""
    reader = made(model)
    state = encoded(reader, SOURCE[:1])
    context, found = attend(reader, state)
    right_context, right = attended(reader, state.s, state.source)
    expect_close(found, right, "the weights", "softmax of vᵀ tanh(W s + U h_j) over j")
    mean = "the weighted mean of the encoder states"
    expect_close(context, right_context, "the context", mean)


def masks(model: type) -> None:
    """Padding gets no weight."""
    reader = made(model)
    state = encoded(reader)
    context, found = attend(reader, state)
    right_context, right = attended(reader, state.s, state.source)
    what = "in a padded batch the weights"
    expect_close(found, right, what, "those over the real tokens alone")
    what = "in a padded batch the context"
    expect_close(context, right_context, what, "the mean over the real tokens alone")


def order(model: type) -> None:
    """Attention with the old state, then the GRU, then the readout."""
    reader = made(model)
    state = encoded(reader)
    for number in range(2):
        logits, new = step(reader, state)
        right_logits, right_s = stepped(reader, state)
        where = f"in step {number + 1} "
        rule = "the GRU's, which reads [y; c] from s_{t-1}"
        expect_close(new.s, right_s, f"{where}the new state", rule)
        rule = "the readout of s_t, y and c_t"
        expect_close(logits, right_logits, f"{where}the logits", rule)
        right = attended(reader, state.s, state.source)[1]
        what = f"{where}the state's `weights`"
        expect_close(new.weights, right, what, "those of this step")
        state = new


def gradients(model: type) -> None:
    """Through the weights too."""
    reader = made(model)
    state = encoded(reader)
    named = {f"`{name}`": p for name, p in reader.named_parameters()}
    right = stepped(reader, state)[0]
    expect_gradients(step(reader, state)[0], right, named, "that of the formula")


def operation_count(model: type) -> None:
    """All source positions at once."""
    reader = made(model)

    def count(positions):
        s, states = drawn(0, (2, H), (2, positions, 2 * H))
        mask = torch.ones(2, positions, dtype=torch.bool)
        source = EncodedSource(states, reader.score.U(states), mask)
        return operations(lambda: reader.attend(s, source))

    expect_no_loop(count(3), count(30), "source positions")


class _MeanOfKeys(Bahdanau):
    def attend(self, s, source):
        weights = super().attend(s, source)[1]
        return (weights[:, None] @ source.keys)[:, 0], weights


class _Unsummed(Bahdanau):
    def attend(self, s, source):
        weights = super().attend(s, source)[1]
        return weights[..., None] * source.states, weights


def _with_weights(weigh) -> tuple[type]:
    """A model that makes its weights in another way, from scores and mask."""

    class Other(Bahdanau):
        def scores(self, s, source):
            return self.score(s[:, None], source.keys)[:, 0]

        def attend(self, s, source):
            weights = weigh(self, s, source)  # (B, S)
            return (weights[:, None] @ source.states)[:, 0], weights

    return (Other,)


def _no_tanh(self, s, source):
    return self.score.v(self.score.W(s)[:, None] + source.keys)[..., 0].softmax(-1)


class _Unweighted(Bahdanau):
    def attend(self, s, source):
        return source.states.mean(1), super().attend(s, source)[1]


class _OldReadout(Bahdanau):
    def step(self, token, state):
        _, new = super().step(token, state)
        c, _ = self.attend(state.s, state.source)
        return self.readout(state.s, self.embedding(token), c), new


class _NewContext(Bahdanau):
    def step(self, token, state):
        _, new = super().step(token, state)
        c, _ = self.attend(new.s, state.source)
        return self.readout(new.s, self.embedding(token), c), new


class _SameState(Bahdanau):
    def step(self, token, state):
        logits, new = super().step(token, state)
        return logits, new._replace(s=state.s)


class _SameWeights(Bahdanau):
    def step(self, token, state):
        logits, new = super().step(token, state)
        return logits, new._replace(weights=state.weights)


class _Reversed(Bahdanau):
    def step(self, token, state):
        y = self.embedding(token)
        c, weights = self.attend(state.s, state.source)
        s = self.cell(torch.cat([c, y], -1), state.s)
        return self.readout(s, y, c), BahdanauState(s, state.source, weights)


class _FixedWeights(Bahdanau):
    def attend(self, s, source):
        weights = super().attend(s, source)[1].detach()
        return (weights[:, None] @ source.states)[:, 0], weights


class _Looped(Bahdanau):
    def attend(self, s, source):
        keys = source.keys.unbind(1)
        rows = [self.score(s[:, None], key[:, None])[:, 0, 0] for key in keys]
        scores = torch.stack(rows, -1).masked_fill(~source.mask, -torch.inf)
        weights = scores.softmax(-1)
        return (weights[:, None] @ source.states)[:, 0], weights


SHAPES = Stage(
    "shapes",
    "context (B, width), weights (B, S), logits (B, V), new state (B, H)",
    shapes,
    (
        "`s` is (B, H) and `source.keys` is (B, S, A). Where does `W s` need another "
        "axis, so that it is added to every key?",
        "`self.score.W(s)[:, None]` is (B, 1, A); `self.score.v` maps (B, S, A) to "
        "(B, S, 1); the context is `(weights[:, None] @ source.states)[:, 0]`.",
    ),
    wrong(
        (_MeanOfKeys,),
        "You average the keys U h_j. They are made for comparing; the context is a "
        "mean of the states h_j themselves.",
        (_Unsummed,),
        "You multiply each state by its weight, but do not sum over the positions.",
    ),
)
WEIGHTS = Stage(
    "weights",
    "softmax of vᵀ tanh(W s + U h_j); the context is the weighted mean of the states",
    weights,
    (
        "Do the weights of one sentence sum to 1? Is the score of each position the "
        "number that you compute by hand?",
        "`source.keys` already holds U h_j. Add W s, take the tanh, multiply by v, and "
        "take the softmax over the source positions.",
    ),
    wrong(
        _with_weights(_no_tanh),
        "The tanh is missing. Without it W s adds the same number to all scores, and "
        "the softmax does not notice.",
        _with_weights(lambda self, s, source: self.scores(s, source).softmax(0)),
        "Your softmax runs over the sentences of the batch, not over the positions.",
        _with_weights(lambda self, s, source: self.scores(s, source)),
        "Scores are not weights: the softmax is missing.",
        (_Unweighted,),
        "Your context is the plain mean of the states: use the weights.",
    ),
)
MASKS = Stage(
    "masks",
    "padding gets no weight and does not change the context",
    masks,
    (
        "Which weights do the padded positions of a short sentence get?",
        "Before the softmax, give the scores where `source.mask` is False a number so "
        "low that its exponential is 0.",
    ),
    wrong(
        _with_weights(lambda self, s, source: self.scores(s, source).softmax(-1)),
        "The mask is not used yet: padding gets a part of the weight.",
        _with_weights(
            lambda self, s, source: self.scores(s, source).softmax(-1) * source.mask
        ),
        "You mask after the softmax, so that the weights left no longer sum to 1.",
        _with_weights(
            lambda self, s, source: (
                self.scores(s, source).masked_fill(~source.mask, 0).softmax(-1)
            )
        ),
        "A score of 0 is not a weight of 0: exp(0) = 1.",
    ),
)
ORDER = Stage(
    "order of the step",
    "s_{t-1} → weights → c_t → s_t → logits",
    order,
    (
        "Which state is the query, the old or the new one? And which of them does the "
        "readout get?",
        "`c` from `attend(state.s, …)`; then `self.cell(torch.cat([y, c], -1), "
        "state.s)` makes the new state; then `self.readout(s, y, c)`.",
    ),
    wrong(
        (_Reversed,),
        "The cell reads the embedding first, then the context: [y; c].",
        (_SameState,),
        "You return the state that the step was given, not the new one.",
        (_OldReadout,),
        "The readout should get the new state s_t.",
        (_NewContext,),
        "The context comes from the old state s_{t-1}; attending with the new one is "
        "what Luong does.",
        (_SameWeights,),
        "The new state should carry the weights of this step.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the loss reaches every parameter, through the weights too",
    gradients,
    (
        "Which parameters make the scores? Does the loss reach them?",
        "Between the scores and the logits there should be no `.detach()`, no `.data` "
        "and no `argmax`.",
    ),
    wrong(
        (_FixedWeights,),
        "The weights are cut off from the scores, so that the model cannot learn "
        "where to look.",
    ),
)
OPERATION_COUNT = Stage(
    "operation count",
    "more source positions need no more operations",
    operation_count,
    (
        "A Python loop over positions runs one small product after another. Can all "
        "positions be scored at once?",
        "Broadcasting adds (B, 1, A) to (B, S, A): all positions in one operation.",
    ),
    wrong(
        (_Looped,),
        "You loop over the source positions: score all of them at once.",
    ),
)

PART = Part(
    name="bahdanau_step",
    chapter=2,
    names=("MyBahdanau",),
    ours=(Bahdanau,),
    stages=(SHAPES, WEIGHTS, MASKS, ORDER, GRADIENTS, OPERATION_COUNT),
)
