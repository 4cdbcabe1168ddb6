"""Chapter 2: watch a model while it learns where to look."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import matplotlib.pyplot as plt
import torch
from matplotlib.axes import Axes
from matplotlib.figure import Figure
from torch import Tensor

from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau, EncodedSource
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import padding_mask
from attnbook.pages.colours import COLOURS, GREY, text_colour
from attnbook.pages.curves import averaged
from attnbook.toy.data import make_batch
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_score, attention_weights


class TrainingSnapshot(NamedTuple):
    """What is seen of a model after some updates, on sentences it is not trained with.

    The three losses, in nats a token, are of the model as it is, with equal weights in
    place of its own, and with all weight where it should be.
    """

    step: int  # updates so far
    loss: float
    equal: float
    right: float
    alignment: float  # share of words whose largest weight lies where it should
    gold: float  # mean weight where it should be
    pushed: float  # share of words whose right place is pushed up hardest
    push: float  # mean push on the right place, nats a unit of score


def watched(
    batches: Iterable[Batch],
    model: Bahdanau,
    pairs: Sequence[Pair],
    log: list[TrainingSnapshot],
    every: int = 10,
) -> Iterator[Batch]:
    """Pass batches on unchanged and look at the model in between.

    Training is not changed by it: the model is only read, and nothing is drawn at
    random.

    Args:
        batches: The batches that the model is trained with.
        model: The model.
        pairs: Sentences to look at, not those it is trained with.
        log: Where the looks are added.
        every: Updates from one look to the next.

    Yields:
        The batches.
    """
    for step, batch in enumerate(batches):
        if step % every == 0:
            log.append(take_snapshot(model, pairs, step))
        yield batch


def take_snapshot(
    model: Bahdanau, pairs: Sequence[Pair], step: int
) -> TrainingSnapshot:
    """Look at a model after ``step`` updates."""
    weights, up = attention_weights(model, pairs), pushes(model, pairs)
    return TrainingSnapshot(
        step,
        loss_with(model, pairs, lambda source, i: source),
        loss_with(model, pairs, equal_weights),
        loss_with(model, pairs, right_places(pairs)),
        alignment_score(weights, pairs),
        mean_at_gold(weights, pairs),
        alignment_score(up, pairs),
        mean_at_gold(up, pairs),
    )


def pushes(model: Bahdanau, pairs: Sequence[Pair]) -> Tensor:
    """How fast the loss of a sentence falls as a score rises: (B, T, S).

    That is the gradient of the loss, summed over a sentence's words, by each score,
    with the other sign.
    """
    scores: list[Tensor] = []  # one a step, (B, 1, S)
    hook = model.score.register_forward_hook(lambda *call: scores.append(call[-1]))
    src, tgt_in, tgt_out = make_batch(pairs)
    loss = token_loss(model(src, tgt_in), tgt_out) * padding_mask(tgt_out).sum()
    hook.remove()
    return -torch.cat(torch.autograd.grad(loss, scores), dim=1)


@torch.no_grad()
def loss_with(
    model: Bahdanau,
    pairs: Sequence[Pair],
    change: Callable[[EncodedSource, int], EncodedSource],
) -> float:
    """Loss on ``pairs`` of a decoder that sees a changed source.

    Args:
        model: The model.
        pairs: The pairs.
        change: Called with the source and the step i; returns what step i is to see.

    Returns:
        Nats a token.
    """
    src, tgt_in, tgt_out = make_batch(pairs)
    state, logits = model.start(src), []
    source = state.source
    for i, token in enumerate(tgt_in.unbind(dim=1)):
        step, state = model.step(token, state._replace(source=change(source, i)))
        logits.append(step)
    return token_loss(torch.stack(logits, dim=1), tgt_out).item()


def equal_weights(source: EncodedSource, i: int) -> EncodedSource:
    """Make all keys alike, so that all scores and all weights are alike."""
    return source._replace(keys=torch.zeros_like(source.keys))


def right_places(
    pairs: Sequence[Pair],
) -> Callable[[EncodedSource, int], EncodedSource]:
    """A change that allows each step the word it renders alone, so it gets weight 1.

    A step that renders no word, EOS or the connective, is left as it is.
    """

    def change(source: EncodedSource, i: int) -> EncodedSource:
        mask = source.mask.clone()
        for row, pair in zip(mask, pairs, strict=True):
            if i < len(pair.alignment) and pair.alignment[i] is not None:
                row[:] = False
                row[pair.alignment[i]] = True
        return source._replace(mask=mask)

    return change


def mean_at_gold(values: Tensor, pairs: Sequence[Pair]) -> float:
    """Mean of weights or pushes at the word rendered, over all words that render one.

    Args:
        values: (B, T, S).
        pairs: The B pairs they belong to.
    """
    found = [
        values[b, i, j].item()
        for b, pair in enumerate(pairs)
        for i, j in enumerate(pair.alignment)
        if j is not None
    ]
    return sum(found) / len(found)


def learning_figure(
    losses: Sequence[float], log: Sequence[TrainingSnapshot], until: int = 300
) -> Figure:
    """Draw the losses, and below them how well the weights are placed.

    Args:
        losses: The loss of each step of training, drawn pale, mean over ten steps.
        log: The looks of the same training.
        until: Last step to be drawn.
    """
    log = [entry for entry in log if entry.step <= until]
    steps = [entry.step for entry in log]
    fig, (top, bottom) = plt.subplots(2, 1, figsize=(5.5, 5.4), sharex=True)
    middles, means = averaged(losses[:until], 10)
    top.plot(middles, means, color=COLOURS["source"], alpha=0.35)
    top.plot(steps, [e.equal for e in log], color=GREY, linestyle="--")
    top.plot(steps, [e.loss for e in log], color=COLOURS["source"])
    top.plot(steps, [e.right for e in log], color=COLOURS["value"], linestyle="--")
    top.set(ylabel="loss, nats a word", ylim=(0, None))
    bottom.plot(steps, [100 * e.alignment for e in log], color=COLOURS["query"])
    bottom.plot(steps, [100 * e.gold for e in log], color=COLOURS["key"])
    bottom.set(xlabel="step", ylabel="on the right word, %", ylim=(0, 103))
    _write(top, until, 2.0, "equal weights", GREY)
    _write(top, 0.4 * until, 1.0, "its own weights", COLOURS["source"], "left")
    _write(top, 0.02 * until, 0.15, "right weights", COLOURS["value"], "left")
    _write(bottom, until, 88, "largest weights", COLOURS["query"])
    _write(bottom, until, 62, "weight, on average", COLOURS["key"])
    return fig


def _write(
    ax: Axes, x: float, y: float, label: str, colour: str, ha: str = "right"
) -> None:
    ax.text(x, y, label, color=text_colour(colour), ha=ha)


def print_learning(
    log: Sequence[TrainingSnapshot],
    losses: Sequence[float],
    until: int = 200,
    every: int = 20,
) -> None:
    """Print the first steps as a coarse table.

    Args:
        log: The looks of one training.
        losses: The loss of each of its steps.
        until: Last step to be printed.
        every: Steps from row to row.
    """
    print("step  training  loss with weights   largest      pushed    push")
    print("          loss   own equal right      right  right most  on it")
    for e in log:
        if e.step <= until and e.step % every == 0:
            near = losses[max(e.step - 5, 0) : e.step + 5]
            print(
                f"{e.step:4}{sum(near) / len(near):10.1f}{e.loss:6.1f}{e.equal:6.1f}"
                f"{e.right:6.1f}{e.alignment:11.0%}{e.pushed:12.0%}{e.push:8.3f}"
            )
