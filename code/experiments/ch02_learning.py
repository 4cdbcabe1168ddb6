"""How the translator learns where to attend: halted at step 60, and as a film."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from statistics import fmean
from string import ascii_lowercase, ascii_uppercase, digits

import torch
from torch import nn

from attnbook.data.batching import Batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.seq2seq import StaticContext
from attnbook.nn.losses import token_loss
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, toy_batches
from attnbook.toy.metrics import (
    alignment_accuracy,
    attention_weights,
    exact_match,
    greedy_translations,
)
from attnbook.toy.training import LEARNING_RATE, STEPS, fit
from experiments.registry import experiment

HALT = 60
"""The step at which the page asks whether to stop."""
EVERY = 5
"""Steps from one picture of the film to the next."""
SHADES = ascii_lowercase + ascii_uppercase + digits
"""A letter for each weight from 0 to 1, in equal steps."""


def watched_by(
    look: Callable[[int], None], batches: Iterator[Batch], every: int
) -> Iterator[Batch]:
    """Pass batches on, and look before every so many updates."""
    for step, batch in enumerate(batches):
        if step % every == 0:
            look(step)
        yield batch


@experiment
def attention_film(seed: int = 0) -> dict:
    """Keep what one run does with the first held-out sentence, every five updates.

    Returns:
        "frames": for each the "step", the mean training "loss" of the five updates
        after it, the "alignment" accuracy on 64 held-out sentences of two clauses, the
        "output" of greedy decoding for the first of them, and the "weights" of its
        right translation, row by row, a letter each (:data:`SHADES`).
    """
    pairs = held_out_pairs(2, 64)
    torch.manual_seed(seed)
    model, frames = Bahdanau(len(SOURCE), len(TARGET)), []

    def look(step: int) -> None:
        weights = attention_weights(model, pairs)
        [output] = greedy_translations(model, pairs[:1])
        rows, columns = len(pairs[0].target) + 1, len(pairs[0].source) + 1  # with EOS
        shades = ((len(SHADES) - 1) * weights[0, :rows, :columns]).round().int()
        frames.append(
            {
                "step": step,
                "alignment": round(alignment_accuracy(weights, pairs), 4),
                "output": " ".join(output),
                "weights": "".join(SHADES[i] for i in shades.flatten().tolist()),
            }
        )

    batches = watched_by(look, toy_batches(seed), EVERY)
    losses = fit(model, batches, STEPS, LEARNING_RATE)
    look(STEPS)
    for frame in frames:
        after = losses[frame["step"] :][:EVERY] or losses[-EVERY:]
        frame["loss"] = round(fmean(after), 3)
    return {"steps": STEPS, "rate": LEARNING_RATE, "seed": seed, "frames": frames}


class _Halt(Exception):  # noqa: N818  (it ends a training, and nothing is wrong)
    """Enough has been seen."""


@experiment
def halted_early(seeds: Sequence[int] = (0, 1, 2, 3, 4)) -> dict:
    """What is seen after 60 of 700 steps of training, with attention and without.

    Returns:
        "runs": the mean training "loss" of the last ten of these steps, the "exact"
        match on one clause, and the "alignment" accuracy on two.
    """
    runs = []
    for name, make in {"static": StaticContext, "attention": Bahdanau}.items():
        for seed in seeds:
            model, loss = halted(make, seed)
            found = {"loss": loss, "exact": exact_match(model, held_out_pairs(1, 256))}
            if isinstance(model, Bahdanau):
                two = held_out_pairs(2, 64)
                weights = attention_weights(model, two)
                found["alignment"] = alignment_accuracy(weights, two)
            rounded = {key: round(x, 4) for key, x in found.items()}
            runs.append({"model": name, "seed": seed, **rounded})
            print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "halt": HALT, "runs": runs}


def halted(make: Callable[[int, int], nn.Module], seed: int) -> tuple[nn.Module, float]:
    """Train for the first 60 of 700 steps: the model, and the mean of ten losses."""
    torch.manual_seed(seed)
    model, losses = make(len(SOURCE), len(TARGET)), []

    def batches() -> Iterator[Batch]:
        for step, batch in enumerate(toy_batches(seed)):
            if step == HALT:
                raise _Halt
            if step >= HALT - 10:  # before the update, as in the training itself
                with torch.no_grad():
                    logits = model(batch.src, batch.tgt_in)
                losses.append(token_loss(logits, batch.tgt_out).item())
            yield batch

    with suppress(_Halt):
        fit(model, batches(), STEPS, LEARNING_RATE)
    return model.eval(), fmean(losses)


PARTS = ("nothing", "the score", "all but the score")
"""What is frozen for the first 60 steps, run by run."""


@experiment
def frozen_at_first(seeds: Sequence[int] = (0, 1, 2, 3, 4)) -> dict:
    """Train Bahdanau models of which a part learns nothing in the first 60 steps.

    Returns:
        "runs": for each what was "frozen", the "seed", and "reached", the step at which
        the alignment accuracy on 64 held-out sentences of two clauses, measured every
        ten steps, first was 90 %, or None if it never was.
    """
    runs = []
    for part in PARTS:
        for seed in seeds:
            found = {"frozen": part, "seed": seed, "reached": _aligned_at(part, seed)}
            runs.append(found)
            print(f"  {found}", flush=True)
    return {"steps": STEPS, "rate": LEARNING_RATE, "halt": HALT, "runs": runs}


def freeze(model: Bahdanau, part: str, step: int) -> None:
    """Freeze a part of a model before step ``HALT``, and free it from there on."""
    score = {*model.score.parameters()}
    for parameter in model.parameters():
        named = part == (PARTS[1] if parameter in score else PARTS[2])
        parameter.requires_grad_(not named or step >= HALT)


def _aligned_at(part: str, seed: int) -> int | None:
    """The first step, of every ten, with an alignment accuracy of 90 %."""
    torch.manual_seed(seed)
    model, pairs = Bahdanau(len(SOURCE), len(TARGET)), held_out_pairs(2, 64)

    def batches() -> Iterator[Batch]:
        for step, batch in enumerate(toy_batches(seed)):
            if step >= HALT and step % 10 == 0:
                accuracy = alignment_accuracy(attention_weights(model, pairs), pairs)
                if accuracy >= 0.9:
                    raise _Halt(step)
            freeze(model, part, step)
            yield batch

    try:
        fit(model, batches(), STEPS, LEARNING_RATE)
    except _Halt as halt:
        return halt.args[0]
    return None
