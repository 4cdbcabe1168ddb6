"""Sutskever et al.'s translator with one layer: ``Sutskever``."""

from collections.abc import Callable

import torch
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence

from attnbook.core.vocabulary import PAD
from attnbook.course.kit.exercises import expect
from attnbook.course.kit.exercises.stages import Part, fill

WORDS, TARGETS, E, H = 12, 9, 3, 4
SOURCE = torch.tensor([[8, 9, 4, PAD, PAD], [5, 7, 4, 6, 11]])  # not sorted
EQUAL = torch.tensor([[5, 7, 4, 6, 11], [8, 9, 4, 10, 6]])  # no padding
TARGET = torch.tensor([[1, 4, 6, 3], [1, 8, 5, 7]])


class Sutskever(nn.Module):
    def __init__(self, source_vocab, target_vocab, d_embed, d_hidden):
        super().__init__()
        self.source_embedding = nn.Embedding(source_vocab, d_embed, padding_idx=0)
        self.encoder = nn.LSTM(d_embed, d_hidden, batch_first=True)
        self.embedding = nn.Embedding(target_vocab, d_embed, padding_idx=0)
        self.decoder = nn.LSTM(d_embed, d_hidden, batch_first=True)
        self.out = nn.Linear(d_hidden, target_vocab)

    def start(self, src):
        lengths = (src != 0).sum(1)
        positions = torch.arange(src.shape[1], device=src.device)
        last_first = lengths[:, None] - 1 - positions
        x = self.source_embedding(src.gather(1, last_first.clamp(min=0)))
        x = pack_padded_sequence(x, lengths.cpu(), True, enforce_sorted=False)
        return self.encoder(x)[1]

    def forward(self, src, tgt_in):
        states, _ = self.decoder(self.embedding(tgt_in), self.start(src))
        return self.out(states)

    def step(self, token, state):
        states, new = self.decoder(self.embedding(token)[:, None], state)
        return self.out(states[:, 0]), new


PART = Part("seq2seq", 1, (Sutskever,), (Sutskever,))


def make_model(model: Callable) -> nn.Module:
    """Make one with random parameters."""
    return fill(model(WORDS, TARGETS, E, H))


def read(model: nn.Module, src: Tensor) -> tuple[Tensor, Tensor]:
    """The state and the memory after each sentence by itself, read backwards."""
    ends = []
    for row in src:
        x = model.source_embedding(row[row != PAD].flip(0))[None]
        ends.append(model.encoder(x)[1])
    return tuple(torch.cat(parts, 1) for parts in zip(*ends, strict=True))


def predict(model: nn.Module, src: Tensor, tgt_in: Tensor) -> Tensor:
    """The logits by the model's own modules: (B, T, V)."""
    states, _ = model.decoder(model.embedding(tgt_in), read(model, src))
    return model.out(states)


def started(model: nn.Module, src: Tensor) -> tuple[Tensor, Tensor]:
    """What `start` returns, if it is a pair."""
    return expect.pair(model.start(src), "start", "the state and the memory")


@PART.stage("state and memory (1, B, d_hidden) each, logits (B, T, V)")
def shapes(model: Callable) -> None:
    """nn.LSTM returns all states, (B, S, d_hidden), and a pair: the last state and the
    last memory, each with an axis of layers in front, (1, B, d_hidden).

    `self.encoder(x)[1]` is that pair, and just what `self.decoder` starts from.

    return self.encoder(x)[1] => return self.encoder(x)[1][0]
        You hand on the state alone. An LSTM starts from its state and its memory.
    self.out(states[:, 0]) => self.out(states)
        `step` predicts one token: its logits have no axis of steps.
    """
    model = make_model(model)
    for what, found in zip(("state", "memory"), started(model, SOURCE), strict=True):
        expect.shape(found, (1, 2, H), f"the {what}", "(1, B, d_hidden)")
    logits = model(SOURCE, TARGET)
    expect.shape(logits, (2, 4, TARGETS), "the logits", "(B, T, V)")
    found = model.step(TARGET[:, 0], model.start(SOURCE))
    logits, _ = expect.pair(found, "step", "logits and the new pair")
    expect.shape(logits, (2, TARGETS), "the logits of a step", "(B, V)")


@PART.stage("the source is read backwards; state, memory and logits follow from it")
def values(model: Callable) -> None:
    """Trace one sentence: which token does the encoder read first, and which last?

    The last real token comes first. The decoder's LSTM reads the embeddings of `tgt_in`
    from the encoder's last state and memory, and `out` turns its states into logits.

    src.gather(1, last_first.clamp(min=0)) => src
        Your encoder reads from left to right.
    return self.encoder(x)[1] => return self.encoder(x)[1][::-1]
        State and memory are exchanged: nn.LSTM returns the state first.
    self.embedding(tgt_in), self.start(src) => self.embedding(tgt_in)
        Your decoder starts from zeros: nothing of the source reaches it.
    return self.out(states) => return self.out(states).softmax(-1)
        You return probabilities. The loss takes the softmax itself: return logits.
    """
    model = make_model(model)
    rule = "that of the encoder's LSTM after the source read backwards"
    pairs = zip(started(model, EQUAL), read(model, EQUAL), strict=True)
    for what, (found, right) in zip(("state", "memory"), pairs, strict=True):
        expect.close(found, right, f"the {what}", rule)
    rule = "`out` of the decoder's states"
    logits = predict(model, EQUAL, TARGET)
    expect.close(model(EQUAL, TARGET), logits, "the logits", rule)


@PART.stage("a sentence gives the same result in a padded batch as unbatched")
def padding(model: Callable) -> None:
    """Turn a padded row round, and the padding comes first. Where does a sentence of n
    tokens begin, if it is read backwards?

    Position j takes token n - 1 - j, where n is the sentence's own length: an index for
    `gather`. `pack_padded_sequence(x, lengths, batch_first=True, enforce_sorted=False)`
    keeps the LSTM from reading what comes after.

    src.gather(1, last_first.clamp(min=0)) => src.flip(1)
        `flip` turns the whole row round, so that the padding is read first and the
        beginning of a short sentence is cut off. Each sentence has a length of its own.
    x = pack_padded_sequence(x, lengths.cpu(), True, enforce_sorted=False) =>
        The LSTM goes on after the end of a short sentence. Pack the batch.
    """
    model = make_model(model)
    alone = "that of the sentence by itself"
    pairs = zip(started(model, SOURCE), read(model, SOURCE), strict=True)
    for what, (found, right) in zip(("state", "memory"), pairs, strict=True):
        expect.close(found, right, f"the {what} of the shorter sentence", alone)
    logits = predict(model, SOURCE, TARGET)
    expect.close(model(SOURCE, TARGET), logits, "the logits in a batch", alone)


@PART.stage("`step`, token by token, gives the same logits as `forward`")
def steps(model: Callable) -> None:
    """What does a step need of the step before it, and what does it hand on?

    One step is `forward` with T = 1: the LSTM reads one embedding, (B, 1, d_embed),
    from the pair it is given, and returns a new pair.

    states[:, 0]), new => states[:, 0]), state
        You return the pair that the step was given, not the new one.
    states[:, 0]), new => states[:, 0]), (new[0], state[1])
        The state is new, and the memory is still the old one.
    """
    model = make_model(model)
    state, forward = model.start(SOURCE), predict(model, SOURCE, TARGET)
    for t, token in enumerate(TARGET.T):
        found = model.step(token, state)
        logits, state = expect.pair(found, "step", "logits and the new pair")
        what = f"the logits of step {t + 1}"
        expect.close(logits, forward[:, t], what, "those of `forward`")


@PART.stage("the loss reaches every parameter")
def gradients(model: Callable) -> None:
    """Which parameters can the loss at the last target word not change?

    The path from the encoder to the logits should contain no `.detach()`, no `.data`
    and no `torch.no_grad()`.

    self.out(states) => self.out(states.detach())
        The decoder's states are cut off from the loss.
    """
    model = make_model(model)
    right = predict(model, SOURCE, TARGET)
    expect.gradients(model(SOURCE, TARGET), right, "that of the formula", model)
