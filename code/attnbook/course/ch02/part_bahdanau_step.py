"""One step as in Bahdanau et al.'s appendix: ``attend`` and ``step``."""

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import expect
from attnbook.course.kit.exercises.stages import Part, Wrong, draw_leaves, fill
from attnbook.models.bahdanau import Bahdanau, BahdanauState, EncodedSource

WORDS, TARGETS, E, H, A = 12, 9, 3, 4, 5
SOURCE = torch.tensor([[5, 7, 4, 6, 11, 9], [8, 9, 4, PAD, PAD, PAD]])
TOKEN = torch.tensor([4, 6])


class MyBahdanau(Bahdanau):
    def attend(self, s, source):
        query = self.score.W(s)[:, None]
        scores = self.score.v(torch.tanh(query + source.keys)).squeeze(-1)
        lowest = torch.finfo(scores.dtype).min
        weights = scores.masked_fill(~source.mask, lowest).softmax(-1)
        context = (weights[:, None] @ source.states)[:, 0]
        return context, weights

    def step(self, token, state):
        y = self.embedding(token)
        c, weights = self.attend(state.s, state.source)
        s = self.cell(torch.cat([y, c], -1), state.s)
        return self.readout(state.s, y, c), BahdanauState(s, state.source, weights)


SCORE_OF_SEVERAL_STEPS = (
    "`self.score` is the package's, and scores several steps at once: its query is "
    "(B, T, H), and its result (B, T, S). For one step, give it `s[:, None]` and take "
    "`[:, 0]` of what comes back."
)

PART = Part("bahdanau_step", 2, (MyBahdanau,), (MyBahdanau,))


def make(model: type) -> nn.Module:
    """The reader's model with random parameters."""
    return fill(model(WORDS, TARGETS, E, H, A))


def start(model: nn.Module, src: Tensor = SOURCE) -> BahdanauState:
    """The state before the first step."""
    return Bahdanau.start(model, src)


def attend_by_formula(
    model: nn.Module, s: Tensor, source: EncodedSource
) -> list[Tensor]:
    """Context and weights from equations 5 and 6 and appendix A.1.2."""
    score = model.score
    hidden = torch.tanh(score.W(s)[:, None] + score.U(source.states))  # (B, S, A)
    scores = score.v(hidden).squeeze(-1)  # (B, S)
    weights = scores.masked_fill(~source.mask, -torch.inf).softmax(-1)
    return [torch.einsum("bs,bsk->bk", weights, source.states), weights]


def step_by_formula(model: nn.Module, state: BahdanauState) -> list[Tensor]:
    """Logits and the new state."""
    y, (c, _) = model.embedding(TOKEN), attend_by_formula(model, state.s, state.source)
    s = model.cell(torch.cat([y, c], -1), state.s)
    return [model.readout(state.s, y, c), s]


def attend(model: nn.Module, state: BahdanauState) -> tuple[Tensor, Tensor]:
    """What the reader's method returns."""
    try:
        found = model.attend(state.s, state.source)
    except ValueError as error:
        if "must be (B, T," not in str(error):
            raise
        raise Wrong(SCORE_OF_SEVERAL_STEPS) from error
    return expect.pair(found, "attend", "context and weights")


def step(model: nn.Module, state: BahdanauState) -> tuple[Tensor, BahdanauState]:
    """What the reader's method returns."""
    found = model.step(TOKEN, state)
    logits, new = expect.pair(found, "step", "logits and the new state")
    if not isinstance(new, BahdanauState):
        raise Wrong("the new state should be a BahdanauState(s, source, weights).")
    return logits, new


@PART.stage("context (B, width), weights (B, S), logits (B, V), new state (B, H)")
def shapes(model: type) -> None:
    """`s` is (B, H) and `source.keys` is (B, S, A). Where does `W s` need another axis,
    so that it is added to every key?

    `self.score.W(s)[:, None]` is (B, 1, A); `self.score.v` maps (B, S, A) to (B, S, 1);
    the context is `(weights[:, None] @ source.states)[:, 0]`.

    On "BahdanauState": It has three fields, in this order: the new s, the source as it
    was, and the weights of this step.

    On "several steps at once": `self.score.W` and `self.score.v` are linear layers:
    with them you can write the score of one step in a line.

    @ source.states => @ source.keys
        You average the keys U h_j. They are made for comparing; the context is a mean
        of the states h_j themselves.
    (weights[:, None] @ source.states)[:, 0] => weights[..., None] * source.states
        You multiply each state by its weight, but do not sum over the positions.
    """
    reader = make(model)
    state = start(reader)
    context, weights = attend(reader, state)
    expect.shape(weights, (2, 6), "the weights", "(B, S)")
    expect.shape(context, (2, 2 * H), "the context", "(B, width of the states)")
    logits, new = step(reader, state)
    expect.shape(logits, (2, TARGETS), "the logits", "(B, V)")
    expect.shape(new.s, (2, H), "the new state's `s`", "(B, H)")
    expect.shape(new.weights, (2, 6), "the new state's `weights`", "(B, S)")


@PART.stage(
    "softmax of vᵀ tanh(W s + U h_j); the context is the weighted mean of the states"
)
def weights(model: type) -> None:
    """Do the weights of one sentence sum to 1? Is the score of each position the number
    that you compute by hand?

    `source.keys` already holds U h_j. Add W s, take the tanh, multiply by v, and take
    the softmax over the source positions.

    On "the context": The weights are right. Which vectors do they belong to, and over
    which axis is their sum?

    On "NaN": Where are all scores of a sentence -∞?

    torch.tanh( => (
        The tanh is missing. Without it W s adds the same number to all scores, and the
        softmax does not notice.
    .softmax(-1) => .softmax(0)
        Your softmax runs over the sentences of the batch, not over the positions.
    .softmax(-1) =>
        Scores are not weights: the softmax is missing.
    (weights[:, None] @ source.states)[:, 0] => source.states.mean(1)
        Your context is the plain mean of the states: use the weights.
    ~source.mask => source.mask
        The `~` is missing, so you hide the real tokens: `source.mask` is True where a
        token may be attended to, and `masked_fill` fills where it gets True.
    ~source.mask, lowest => source.mask, -torch.inf
        The `~` is missing, so you hide the real tokens: `source.mask` is True where a
        token may be attended to, and `masked_fill` fills where it gets True. A row
        without any number above -∞ becomes NaN.
    """
    reader = make(model)
    state = start(reader, SOURCE[:1])
    context, found = attend(reader, state)
    right_context, right = attend_by_formula(reader, state.s, state.source)
    expect.close(found, right, "the weights", "softmax of vᵀ tanh(W s + U h_j) over j")
    mean = "the weighted mean of the encoder states"
    expect.close(context, right_context, "the context", mean)


@PART.stage("padding gets no weight and does not change the context")
def masks(model: type) -> None:
    """Which weights do the padded positions of a short sentence get?

    Before the softmax, give the scores where `source.mask` is False a number so low
    that its exponential is 0.

    .masked_fill(~source.mask, lowest) =>
        The mask is not used yet: padding gets a part of the weight.
    .masked_fill(~source.mask, lowest).softmax(-1) => .softmax(-1) * source.mask
        You mask after the softmax, so that the weights left no longer sum to 1.
    ~source.mask, lowest => ~source.mask, 0.0
        A score of 0 is not a weight of 0: exp(0) = 1.
    """
    reader = make(model)
    state = start(reader)
    context, found = attend(reader, state)
    right_context, right = attend_by_formula(reader, state.s, state.source)
    what = "in a padded batch the weights"
    expect.close(found, right, what, "those over the real tokens alone")
    what = "in a padded batch the context"
    expect.close(context, right_context, what, "the mean over the real tokens alone")


@PART.stage("s_{t-1} → weights → c_t → s_t; the logits from s_{t-1}, y and c_t")
def order_of_the_step(model: type) -> None:
    """Which state is the query, the old or the new one? And which of them does the
    readout get?

    `c` from `attend(state.s, …)`; then `self.cell(torch.cat([y, c], -1), state.s)`
    makes the new state. The readout of the appendix gets the old one.

    On "state's `weights`": Logits and `s` are right. Which weights does the
    BahdanauState hold that you return?

    [y, c] => [c, y]
        The cell reads the embedding first, then the context: [y; c].
    BahdanauState(s, => BahdanauState(state.s,
        You return the state that the step was given, not the new one.
    self.readout(state.s, => self.readout(s,
        That is equation 4 and this chapter's readout. In appendix A.2.2 it gets the
        state before the step.
    y, c), BahdanauState => y, self.attend(s, state.source)[0]), BahdanauState
        The context comes from the old state s_{t-1}; attending with the new one is what
        Luong does.
    state.source, weights) => state.source, state.weights)
        The new state should carry the weights of this step.
    """
    reader = make(model)
    state = start(reader)
    for number in range(2):
        logits, new = step(reader, state)
        right_logits, right_s = step_by_formula(reader, state)
        where = f"in step {number + 1} "
        rule = "the GRU's, which reads [y; c] from s_{t-1}"
        expect.close(new.s, right_s, f"{where}the new state", rule)
        rule = "the readout of s_{t-1}, y and c_t"
        expect.close(logits, right_logits, f"{where}the logits", rule)
        right = attend_by_formula(reader, state.s, state.source)[1]
        what = f"{where}the state's `weights`"
        expect.close(new.weights, right, what, "those of this step")
        state = new


@PART.stage("the loss reaches every parameter, through the weights too")
def gradients(model: type) -> None:
    """Which parameters make the scores? Does the loss reach them?

    Between the scores and the logits there should be no `.detach()`, no `.data` and no
    `argmax`.

    .softmax(-1) => .softmax(-1).detach()
        The weights are cut off from the scores, so that the model cannot learn where to
        look.
    """
    reader = make(model)
    state = start(reader)
    new = state._replace(s=step_by_formula(reader, state)[1])
    got = step(reader, step(reader, state)[1])[0]
    right = step_by_formula(reader, new)[0]
    expect.gradients(got, right, "that of the formula", reader)


@PART.stage("no loop over source positions")
def operation_count(model: type) -> None:
    """A Python loop over positions runs one small product after another. Can all
    positions be scored at once?

    Broadcasting adds (B, 1, A) to (B, S, A): all positions in one operation.

    query + source.keys => torch.cat([query + k for k in source.keys.split(1, 1)], 1)
        You loop over the source positions: score all of them at once.
    """
    reader = make(model)

    def attend(positions):
        s, states = draw_leaves(0, (2, H), (2, positions, 2 * H))
        mask = torch.ones(2, positions, dtype=torch.bool)
        reader.attend(s, EncodedSource(states, reader.score.U(states), mask))

    expect.no_loop(attend, 3, 30, "source positions")
