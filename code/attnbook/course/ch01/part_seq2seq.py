"""Encoder and decoder without attention: ``Encoder`` and ``Seq2Seq``."""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import expect
from attnbook.course.kit.exercises.stages import Part, fill
from attnbook.models import seq2seq

WORDS, TARGETS, E, H = 12, 9, 3, 4
SOURCE = torch.tensor([[8, 9, 4, PAD, PAD], [5, 7, 4, 6, 11]])  # not sorted
EQUAL = torch.tensor([[5, 7, 4, 6, 11], [8, 9, 4, 10, 6]])  # no padding
TARGET = torch.tensor([[1, 4, 6, 3], [1, 8, 5, 7]])


class Encoder(seq2seq.Encoder):
    def forward(self, src):
        x, lengths = self.embedding(src), (src != PAD).sum(1)
        packed = pack_padded_sequence(x, lengths, True, enforce_sorted=False)
        states, last = self.gru(packed)
        states, _ = pad_packed_sequence(states, True, total_length=src.shape[1])
        return states, torch.cat([*last], -1)


class Seq2Seq(seq2seq.InitialState):
    def start(self, src):
        return torch.tanh(self.bridge(self.encoder(src)[1]))

    def forward(self, src, tgt_in):
        y = self.embedding(tgt_in)
        states, _ = self.gru(y, self.start(src)[None])
        return self.readout(states, y)

    def step(self, token, s):
        y = self.embedding(token)
        _, new = self.gru(y[:, None], s[None])
        return self.readout(new[0], y), new[0]


PART = Part("seq2seq", 1, (seq2seq.Encoder, seq2seq.InitialState), (Encoder, Seq2Seq))


def make_models(encoder: Callable, model: Callable) -> tuple[nn.Module, nn.Module]:
    """Make both with random parameters."""
    return fill(encoder(WORDS, E, H)), fill(model(WORDS, TARGETS, E, H))


def encode(encoder: nn.Module, src: Tensor) -> tuple[Tensor, Tensor]:
    """What an encoder returns, if it is a pair."""
    return expect.pair(encoder(src), "Encoder", "all states and final states")


def read(encoder: nn.Module, src: Tensor) -> tuple[Tensor, Tensor]:
    """The encoder's own GRU, sentence by sentence and without padding."""
    states, finals = [], []
    for row in src:
        found, last = encoder.gru(encoder.embedding(row[row != PAD])[None])
        padding = found.new_zeros(1, len(src[0]) - found.shape[1], found.shape[2])
        states.append(torch.cat([found, padding], 1))
        finals.append(torch.cat([*last], -1))
    return torch.cat(states), torch.cat(finals)


def predict(model: nn.Module, src: Tensor, tgt_in: Tensor) -> Tensor:
    """The decoder's own modules: s_0 from the final states, the rest by its GRU."""
    s = torch.tanh(model.bridge(read(model.encoder, src)[1]))  # (B, H)
    y = model.embedding(tgt_in)  # (B, T, E)
    return model.readout(model.gru(y, s[None])[0], y)  # (B, T, V)


@PART.stage("states (B, S, 2 d_hidden), final states (B, 2 d_hidden), logits (B, T, V)")
def shapes(encoder: Callable, model: Callable) -> None:
    """nn.GRU returns all states, (B, S, 2 d_hidden), and the final ones, which have an
    axis of directions in front: (2, B, d_hidden).

    `torch.cat([*last], -1)` lays the final states of both directions side by side;
    `readout` takes the decoder's states and the embeddings.

    torch.cat([*last], -1) => last[-1]
        Your final state is that of one direction only; it should hold both.
    """
    reader, model = make_models(encoder, model)
    states, last = encode(reader, SOURCE)
    expect.shape(states, (2, 5, 2 * H), "all states", "(B, S, 2 d_hidden)")
    expect.shape(last, (2, 2 * H), "the final state", "(B, 2 d_hidden)")
    s = model.start(SOURCE)
    expect.shape(s, (2, H), "what `start` returns", "(B, d_hidden)")
    logits = model(SOURCE, TARGET)
    expect.shape(logits, (2, 4, TARGETS), "the logits", "(B, T, V)")


@PART.stage("states and logits equal those of the GRUs, the bridge and the readout")
def values(encoder: Callable, model: Callable) -> None:
    """Trace one sentence: which states does nn.GRU return last, and what becomes of
    them before the decoder starts?

    s_0 = tanh(bridge(final state)); the decoder's GRU reads the embeddings of `tgt_in`
    from there; the readout gets its states and the same embeddings.

    torch.cat([*last], -1) => torch.cat([last[1], last[0]], -1)
        The two directions are exchanged: left to right comes first.
    torch.cat([*last], -1) => last.reshape(len(src), -1)
        `reshape` mixes the sentences: in (2, B, d_hidden) the states of all of them in
        one direction lie one behind the other. Join the two directions along the last
        axis instead.
    torch.cat([*last], -1) => states[range(len(src)), lengths - 1]
        At the last token the right-to-left GRU has read one token only. Its final state
        is the one at the first token.
    torch.tanh( => (
        The tanh is missing: a GRU's state lies between -1 and 1.
    self.gru(y, self.start(src)[None]) => self.gru(y)
        Your decoder starts from zeros: nothing of the source reaches it.
    self.readout(states, y) => self.readout(states, y.roll(-1, 1))
        The readout at step t should get the embedding that the GRU has just read, not
        the next one, which is the answer.
    self.readout(states, y) => self.readout(states, y).softmax(-1)
        You return probabilities. The loss takes the softmax itself: return logits.
    """
    reader, model = make_models(encoder, model)
    rule = "that of the GRU, its directions side by side"
    (states, last), (right, right_last) = encode(reader, EQUAL), read(reader, EQUAL)
    expect.close(states, right, "all states", rule)
    expect.close(last, right_last, "the final state", rule)
    s = torch.tanh(model.bridge(read(model.encoder, EQUAL)[1]))
    rule = "tanh(bridge(final state))"
    expect.close(model.start(EQUAL), s, "the initial state", rule)
    rule = "the readout of the decoder's states and the embeddings"
    logits = predict(model, EQUAL, TARGET)
    expect.close(model(EQUAL, TARGET), logits, "the logits", rule)


@PART.stage("a sentence gives the same result in a padded batch as unbatched")
def padding(encoder: Callable, model: Callable) -> None:
    """A right-to-left GRU meets the padding first. How can it be told where each
    sentence ends?

    `pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)` before
    the GRU and `pad_packed_sequence(states, batch_first=True, total_length=S)` after
    it.

    On "states at padding": `pad_packed_sequence` puts zeros there. What do you add to
    them, or compute from them?

    self.gru(packed) => self.gru(x)
    states, _ = pad_packed_sequence(states, True, total_length=src.shape[1]) =>
        The GRU reads the padding: the final state of a short sentence comes from after
        its end. Pack the batch.
    return states, => return states + (src == PAD)[..., None],
        States at padding should be zero.
    """
    reader, model = make_models(encoder, model)
    states, last = encode(reader, SOURCE)
    right, right_last = read(reader, SOURCE)
    alone = "that of the sentence by itself"
    expect.close(last, right_last, "the final state of the shorter sentence", alone)
    real = (SOURCE != PAD)[..., None]
    expect.close(states * real, right, "a state of the shorter sentence", alone)
    expect.close(states, right, "the states at padding", "zero")
    logits = predict(model, SOURCE, TARGET)
    expect.close(model(SOURCE, TARGET), logits, "the logits in a batch", alone)


@PART.stage("`step`, token by token, gives the same logits as `forward`")
def steps(encoder: Callable, model: Callable) -> None:
    """What does a step need of the step before it, and what does it hand on?

    nn.GRU wants three axes: (B, 1, E) for one embedding, and (1, B, H), an axis of
    layers in front, for the state it starts from.

    One step is `forward` with T = 1: the GRU reads one embedding, `y[:, None]`, from
    the state `s[None]`, and its new state goes into the readout and is returned.

    y), new[0] => y), s
        You return the state that the step was given, not the new one.
    self.readout(new[0], y) => self.readout(s, y)
        The readout should get the new state, which has read the token.
    """
    _, model = make_models(encoder, model)
    s = model.start(SOURCE)
    forward = predict(model, SOURCE, TARGET)
    for t, token in enumerate(TARGET.T):
        found = model.step(token, s)
        logits, s = expect.pair(found, "step", "logits and the new state")
        expect.shape(s, (2, H), "the new state", "(B, d_hidden)")
        what = f"the logits of step {t + 1}"
        expect.close(logits, forward[:, t], what, "those of `forward`")


@PART.stage("the loss reaches every parameter")
def gradients(encoder: Callable, model: Callable) -> None:
    """Which parameters can the loss at the last target word not change?

    The path from the encoder to the logits should contain no `.detach()`, no `.data`
    and no `torch.no_grad()`.

    self.bridge(self.encoder(src)[1]) => self.bridge(self.encoder(src)[1]).detach()
        The encoder learns nothing: the initial state is cut off from it.
    self.readout(states, y) => self.readout(states, y).detach()
        The logits are detached.
    """
    _, model = make_models(encoder, model)
    right = predict(model, SOURCE, TARGET)
    expect.gradients(model(SOURCE, TARGET), right, "that of the formula", model)
