"""Snapshots of a model while it learns where to attend.

Each snapshot compares the model's loss with that of uniform weights and of oracle
weights, and measures the gradient that moves the scores.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import NamedTuple

import torch
from torch import Tensor

from attnbook.core.checks import check_some
from attnbook.core.devices import model_device
from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau, EncodedSource
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import padding_mask
from attnbook.toy.data import make_batch
from attnbook.toy.language import Pair
from attnbook.toy.metrics import alignment_accuracy, attention_weights


class AttentionSnapshot(NamedTuple):
    """What is measured after some updates, on sentences that are not trained on.

    The losses are in nats per token. Shares and means are over the target words that
    render a source word.
    """

    step: int  # number of updates so far
    loss: float  # with the model's own weights
    uniform: float  # with equal weights on all source tokens
    oracle: float  # with all weight on the aligned source word
    alignment: float  # share of words whose largest weight is on the aligned word
    weight: float  # mean weight on the aligned word
    steepest: float  # share of words whose aligned score has the largest descent
    descent: float  # mean negative gradient with respect to the aligned score, nats


def watched(
    batches: Iterable[Batch],
    model: Bahdanau,
    pairs: Sequence[Pair],
    log: list[AttentionSnapshot],
    every: int = 10,
    until: int | None = None,
) -> Iterator[Batch]:
    """Pass batches on unchanged, and take snapshots of the model in between.

    Training is not affected: the model is only read, in eval mode, so that dropout
    draws no random numbers.

    Args:
        batches: The batches that the model is trained on.
        model: The model.
        pairs: Sentences for the snapshots, not those of the batches.
        log: The snapshots are appended to it.
        every: Number of updates from one snapshot to the next.
        until: Number of updates before the last snapshot; by default there is no last.

    Yields:
        The batches.
    """
    for step, batch in enumerate(batches):
        if step % every == 0 and (until is None or step <= until):
            training = model.training
            log.append(take_snapshot(model.eval(), pairs, step))
            model.train(training)
        yield batch


def take_snapshot(
    model: Bahdanau, pairs: Sequence[Pair], step: int
) -> AttentionSnapshot:
    """Measure a model after ``step`` updates, on ``pairs``."""
    weights, descent = attention_weights(model, pairs), score_descent(model, pairs)
    return AttentionSnapshot(
        step,
        loss_with(model, pairs, lambda source, t: source),
        loss_with(model, pairs, uniform_weights),
        loss_with(model, pairs, oracle_weights(pairs)),
        alignment_accuracy(weights, pairs),
        mean_at_aligned(weights, pairs),
        alignment_accuracy(descent, pairs),
        mean_at_aligned(descent, pairs),
    )


def score_descent(model: Bahdanau, pairs: Sequence[Pair]) -> Tensor:
    """How fast the loss of a sentence falls as a score rises.

    Returns:
        The negative gradient of the loss, summed over the tokens of a sentence, with
        respect to each score: (B, T, S), in nats.
    """
    scores: list[Tensor] = []  # one per step, (B, 1, S)
    hook = model.score.register_forward_hook(lambda *call: scores.append(call[-1]))
    try:
        src, tgt_in, tgt_out = make_batch(pairs, model_device(model))
        loss = token_loss(model(src, tgt_in), tgt_out) * padding_mask(tgt_out).sum()
    finally:
        hook.remove()
    return -torch.cat(torch.autograd.grad(loss, scores), dim=1)


@torch.no_grad()
def loss_with(
    model: Bahdanau,
    pairs: Sequence[Pair],
    change: Callable[[EncodedSource, int], EncodedSource],
) -> float:
    """Loss of a decoder that is given a changed source at each step.

    Args:
        model: The model.
        pairs: The pairs.
        change: Called with the source and the number of the step, from 0; returns the
            source for this step.

    Returns:
        Nats per token.
    """
    src, tgt_in, tgt_out = make_batch(pairs, model_device(model))
    state, logits = model.start(src), []
    source = state.source
    for t, token in enumerate(tgt_in.unbind(dim=1)):
        step, state = model.step(token, state._replace(source=change(source, t)))
        logits.append(step)
    return token_loss(torch.stack(logits, dim=1), tgt_out).item()


def uniform_weights(source: EncodedSource, t: int) -> EncodedSource:
    """A change for :func:`loss_with`: equal keys, hence equal scores and weights."""
    return source._replace(keys=torch.zeros_like(source.keys))


def oracle_weights(
    pairs: Sequence[Pair],
) -> Callable[[EncodedSource, int], EncodedSource]:
    """A change for :func:`loss_with`: all weight on the word that is rendered.

    A step that renders no word, EOS or the connective, keeps the model's own weights.
    """

    def change(source: EncodedSource, t: int) -> EncodedSource:
        mask = source.mask.clone()
        for row, pair in zip(mask, pairs, strict=True):
            if t < len(pair.alignment) and pair.alignment[t] is not None:
                row[:] = False
                row[pair.alignment[t]] = True
        return source._replace(mask=mask)

    return change


def mean_at_aligned(values: Tensor, pairs: Sequence[Pair]) -> float:
    """Mean over the target words that render a word, each at its aligned position.

    Args:
        values: (B, T, S).
        pairs: The B pairs they belong to.

    Raises:
        ValueError: If no word renders one.
    """
    found = [
        values[b, t, j].item()
        for b, pair in enumerate(pairs)
        for t, j in enumerate(pair.alignment)
        if j is not None
    ]
    check_some(found, "word that renders a source word")
    return sum(found) / len(found)
