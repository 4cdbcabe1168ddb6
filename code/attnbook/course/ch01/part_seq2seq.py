"""Encoder and decoder without attention: ``Encoder`` and ``Seq2Seq``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises.checking import wrong
from attnbook.course.kit.exercises.stages import (
    Part,
    Stage,
    Wrong,
    expect_close,
    expect_gradients,
    expect_shape,
    filled,
)
from attnbook.models.seq2seq import Encoder, InitialState

WORDS, TARGETS, E, H = 12, 9, 3, 4
SOURCE = torch.tensor([[8, 9, 4, PAD, PAD], [5, 7, 4, 6, 11]])  # not sorted
EQUAL = torch.tensor([[5, 7, 4, 6, 11], [8, 9, 4, 10, 6]])  # no padding
TARGET = torch.tensor([[1, 4, 6, 3], [1, 8, 5, 7]])


def models(encoder: Callable, seq2seq: Callable) -> tuple[nn.Module, nn.Module]:
    """Make both with random parameters."""
    return filled(encoder(WORDS, E, H)), filled(seq2seq(WORDS, TARGETS, E, H))


def encoded(encoder: nn.Module, src: Tensor) -> tuple[Tensor, Tensor]:
    """What an encoder returns, if it is a pair."""
    found = encoder(src)
    if not (isinstance(found, tuple | list) and len(found) == 2):
        raise Wrong("Encoder should return two tensors: all states, final states.")
    return found


def read(encoder: nn.Module, src: Tensor) -> tuple[Tensor, Tensor]:
    """The encoder's own GRU, sentence by sentence and without padding."""
    states, finals = [], []
    for row in src:
        found, last = encoder.gru(encoder.embedding(row[row != PAD])[None])
        padding = found.new_zeros(1, len(src[0]) - found.shape[1], found.shape[2])
        states.append(torch.cat([found, padding], 1))
        finals.append(torch.cat([*last], -1))
    return torch.cat(states), torch.cat(finals)


def predicted(model: nn.Module, src: Tensor, tgt_in: Tensor) -> Tensor:
    """The decoder's own modules: s_0 from the final states, the rest by its GRU."""
    s = torch.tanh(model.bridge(read(model.encoder, src)[1]))  # (B, H)
    y = model.embedding(tgt_in)  # (B, T, E)
    return model.readout(model.gru(y, s[None])[0], y)  # (B, T, V)


def shapes(encoder: Callable, seq2seq: Callable) -> None:
    """All states, final states and logits."""
    reader, model = models(encoder, seq2seq)
    states, last = encoded(reader, SOURCE)
    expect_shape(states, (2, 5, 2 * H), "all states", "(B, S, 2 d_hidden)")
    expect_shape(last, (2, 2 * H), "the final state", "(B, 2 d_hidden)")
    s = model.start(SOURCE)
    expect_shape(s, (2, H), "what `start` returns", "(B, d_hidden)")
    logits = model(SOURCE, TARGET)
    expect_shape(logits, (2, 4, TARGETS), "the logits", "(B, T, V)")


def values(encoder: Callable, seq2seq: Callable) -> None:
    """Without padding, all equals the modules that ``__init__`` has made."""
    reader, model = models(encoder, seq2seq)
    src = EQUAL
    for name, got, right in zip(
        ("all states", "the final state"),
        encoded(reader, src),
        read(reader, src),
        strict=True,
    ):
        expect_close(got, right, name, "that of the GRU, its directions side by side")
    s = torch.tanh(model.bridge(read(model.encoder, src)[1]))
    expect_close(model.start(src), s, "the initial state", "tanh(bridge(final state))")
    logits = predicted(model, src, TARGET)
    rule = "the readout of the decoder's states and the embeddings"
    expect_close(model(src, TARGET), logits, "the logits", rule)


def padding(encoder: Callable, seq2seq: Callable) -> None:
    """A sentence gives the same result in a padded batch as unbatched."""
    reader, model = models(encoder, seq2seq)
    states, last = encoded(reader, SOURCE)
    right, right_last = read(reader, SOURCE)
    alone = "that of the sentence by itself"
    expect_close(last, right_last, "the final state of the shorter sentence", alone)
    real = (SOURCE != PAD)[..., None]
    expect_close(states * real, right, "a state of the shorter sentence", alone)
    expect_close(states, right, "the states at padding", "zero")
    logits = predicted(model, SOURCE, TARGET)
    expect_close(model(SOURCE, TARGET), logits, "the logits in a batch", alone)


def steps(encoder: Callable, seq2seq: Callable) -> None:
    """``step``, token by token, gives the same logits as ``forward``."""
    _, model = models(encoder, seq2seq)
    s = model.start(SOURCE)
    forward = predicted(model, SOURCE, TARGET)
    for t, token in enumerate(TARGET.T):
        found = model.step(token, s)
        if not (isinstance(found, tuple | list) and len(found) == 2):
            raise Wrong("`step` should return two tensors: logits and the new state.")
        logits, s = found
        expect_shape(s, (2, H), "the new state", "(B, d_hidden)")
        what = f"the logits of step {t + 1}"
        expect_close(logits, forward[:, t], what, "those of `forward`")


def gradients(encoder: Callable, seq2seq: Callable) -> None:
    """The loss reaches every parameter, as by the formula."""
    _, model = models(encoder, seq2seq)
    named = {f"`{n}`": p for n, p in model.named_parameters()}
    right = predicted(model, SOURCE, TARGET)
    expect_gradients(model(SOURCE, TARGET), right, named, "that of the formula")


class _LastLayerOnly(Encoder):
    def forward(self, src):
        return super().forward(src)[0], self.gru(self.embedding(src))[1][-1]


class _Swapped(Encoder):
    def forward(self, src):
        states, last = super().forward(src)
        return states, last.roll(self.width // 2, -1)


class _Reshaped(Encoder):
    def forward(self, src):
        states, last = super().forward(src)
        return states, torch.stack(last.chunk(2, -1)).reshape(last.shape)


class _LastPosition(Encoder):
    def forward(self, src):
        states, _ = super().forward(src)
        return states, states[range(len(src)), (src != PAD).sum(1) - 1]


class _Unpacked(Encoder):
    def forward(self, src):
        states, last = self.gru(self.embedding(src))
        return states, torch.cat([*last], -1)


class _PaddingNotZero(Encoder):
    def forward(self, src):
        states, last = super().forward(src)
        return states + (src == PAD)[..., None], last


class _Linear(InitialState):
    def start(self, src):
        return self.bridge(self.encoder(src)[1])


class _FromZero(InitialState):
    def forward(self, src, tgt_in):
        y = self.embedding(tgt_in)
        return self.readout(self.gru(y)[0], y)


class _ReadsAhead(InitialState):
    def forward(self, src, tgt_in):
        y = self.embedding(tgt_in)
        states, _ = self.gru(y, self.start(src)[None])
        return self.readout(states, y.roll(-1, 1))


class _Probabilities(InitialState):
    def forward(self, src, tgt_in):
        return super().forward(src, tgt_in).softmax(-1)


class _OldState(InitialState):
    def step(self, token, s):
        return super().step(token, s)[0], s


class _OldReadout(InitialState):
    def step(self, token, s):
        y = self.embedding(token)
        return self.readout(s, y), self.gru(y[:, None], s[None])[1][0]


class _DetachedState(InitialState):
    def start(self, src):
        return super().start(src).detach()


class _DetachedLogits(InitialState):
    def forward(self, src, tgt_in):
        return super().forward(src, tgt_in).detach()


SHAPES = Stage(
    "shapes",
    "states (B, S, 2 d_hidden), final states (B, 2 d_hidden), logits (B, T, V)",
    shapes,
    (
        "nn.GRU returns all states, (B, S, 2 d_hidden), and the final ones, which "
        "have an axis of directions in front: (2, B, d_hidden).",
        "`torch.cat([*last], -1)` lays the final states of both directions side by "
        "side; `readout` takes the decoder's states and the embeddings.",
    ),
    wrong(
        (_LastLayerOnly, InitialState),
        "Your final state is that of one direction only; it should hold both.",
    ),
)
VALUES = Stage(
    "values",
    "states and logits equal those of the GRUs, the bridge and the readout",
    values,
    (
        "Trace one sentence: which states does nn.GRU return last, and what becomes of "
        "them before the decoder starts?",
        "s_0 = tanh(bridge(final state)); the decoder's GRU reads the embeddings of "
        "`tgt_in` from there; the readout gets its states and the same embeddings.",
    ),
    wrong(
        (_Swapped, InitialState),
        "The two directions are exchanged: left to right comes first.",
        (_Reshaped, InitialState),
        "`reshape` mixes the sentences: in (2, B, d_hidden) the states of all of them "
        "in one direction lie one behind the other. Join the two directions along the "
        "last axis instead.",
        (_LastPosition, InitialState),
        "At the last token the right-to-left GRU has read one token only. Its final "
        "state is the one at the first token.",
        (Encoder, _Linear),
        "The tanh is missing: a GRU's state lies between -1 and 1.",
        (Encoder, _FromZero),
        "Your decoder starts from zeros: nothing of the source reaches it.",
        (Encoder, _ReadsAhead),
        "The readout at step t should get the embedding that the GRU has just read, "
        "not the next one, which is the answer.",
        (Encoder, _Probabilities),
        "You return probabilities. The loss takes the softmax itself: return logits.",
    ),
)
PADDING = Stage(
    "padding",
    "a sentence gives the same result in a padded batch as unbatched",
    padding,
    (
        "A right-to-left GRU meets the padding first. How can it be told where each "
        "sentence ends?",
        "`pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)` "
        "before the GRU and `pad_packed_sequence(states, batch_first=True, "
        "total_length=S)` after it.",
    ),
    wrong(
        (_Unpacked, InitialState),
        "The GRU reads the padding: the final state of a short sentence comes from "
        "after its end. Pack the batch.",
        (_PaddingNotZero, InitialState),
        "States at padding should be zero.",
    ),
)
STEPS = Stage(
    "steps",
    "`step`, token by token, gives the same logits as `forward`",
    steps,
    (
        "What does a step need of the step before it, and what does it hand on?",
        "nn.GRU wants three axes: (B, 1, E) for one embedding, and (1, B, H), an axis "
        "of layers in front, for the state it starts from.",
        "One step is `forward` with T = 1: the GRU reads one embedding, "
        "`y[:, None]`, from the state `s[None]`, and its new state goes into the "
        "readout and is returned.",
    ),
    wrong(
        (Encoder, _OldState),
        "You return the state that the step was given, not the new one.",
        (Encoder, _OldReadout),
        "The readout should get the new state, which has read the token.",
    ),
)
GRADIENTS = Stage(
    "gradients",
    "the loss reaches every parameter",
    gradients,
    (
        "Which parameters can the loss at the last target word not change?",
        "The path from the encoder to the logits should contain no `.detach()`, no "
        "`.data` and no `torch.no_grad()`.",
    ),
    wrong(
        (Encoder, _DetachedState),
        "The encoder learns nothing: the initial state is cut off from it.",
        (Encoder, _DetachedLogits),
        "The logits are detached.",
    ),
)

PART = Part(
    name="seq2seq",
    chapter=1,
    names=("Encoder", "Seq2Seq"),
    ours=(Encoder, InitialState),
    stages=(SHAPES, VALUES, PADDING, STEPS, GRADIENTS),
)
