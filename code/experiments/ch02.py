"""Chapter 2: how Bahdanau's translator learns where to attend, and what weights say."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from functools import partial
from itertools import islice
from statistics import fmean, median
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.word_maps import word_weights, words
from attnbook.course.ch02.clicks import read_only
from attnbook.course.ch02.explorer_film import SHADES
from attnbook.course.ch02.twin import HELD_STEPS, trained
from attnbook.course.kit.explorers.shipped import shipped_bahdanau
from attnbook.course.kit.toy_translation import measure_translation, train_and_measure
from attnbook.course.kit.word_links import SURE, WordLinks, diagonal
from attnbook.data.batching import Batch, IdPair, id_batch
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.seq2seq import StaticContext
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import padding_mask
from attnbook.toy.data import SOURCE, TARGET, held_out_pairs, make_batch, toy_batches
from attnbook.toy.language import Pair
from attnbook.toy.metrics import (
    alignment_accuracy,
    attention_weights,
    exact_match,
    greedy_translations,
)
from attnbook.toy.training import LEARNING_RATE, STEPS, fit
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.registry import experiment, sweep

experiment(partial(train_and_measure, Bahdanau), "bahdanau")


def watched(
    batches: Iterator[Batch], look: Callable[[int], None], every: int = 1
) -> Iterator[Batch]:
    """Pass batches on, and look before every so many updates."""
    for step, batch in enumerate(batches):
        if step % every == 0:
            look(step)
        yield batch


# Training as a film


@experiment
def attention_film(seed: int = 0) -> dict:
    """Keep what one run does with the first held-out sentence, every five updates.

    Returns:
        "frames": for each the "step", the mean training "loss" of the five updates
        after it, the "alignment" accuracy on 64 held-out sentences of two clauses, the
        "output" of greedy decoding for the first of them, and the "weights" of its
        right translation, row by row, a letter each (:data:`SHADES`).
    """
    pairs, every = held_out_pairs(2, 64), 5
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

    batches = watched(toy_batches(seed), look, every)
    losses = fit(model, batches, STEPS, LEARNING_RATE)
    look(STEPS)
    for frame in frames:
        after = losses[frame["step"] :][:every] or losses[-every:]
        frame["loss"] = round(fmean(after), 3)
    return {"steps": STEPS, "rate": LEARNING_RATE, "seed": seed, "frames": frames}


# What is seen, and what is learned, in the first 60 steps

HALT = 60
"""The step at which the page asks whether to stop."""
MODELS = {"static": StaticContext, "attention": Bahdanau}


class _Halt(Exception):  # noqa: N818  (it ends a training, and nothing is wrong)
    """Enough has been seen."""


@sweep(model=MODELS, seed=range(5), steps=STEPS, rate=LEARNING_RATE, halt=HALT)
def halted_early(model: str, seed: int) -> dict:
    """What is seen after 60 of 700 steps of training, with attention and without.

    Returns:
        The mean training "loss" of the last ten of these steps, the "exact" match on
        one clause, and the "alignment" accuracy on two.
    """
    halted_model, loss = halted(MODELS[model], seed)
    exact = exact_match(halted_model, held_out_pairs(1, 256))
    found = {"loss": loss, "exact": exact}
    if model == "attention":
        pairs = held_out_pairs(2, 64)
        weights = attention_weights(halted_model, pairs)
        found["alignment"] = alignment_accuracy(weights, pairs)
    return {key: round(x, 4) for key, x in found.items()}


def halted(make: Callable[[int, int], nn.Module], seed: int) -> tuple[nn.Module, float]:
    """Train for the first 60 of 700 steps: the model, and the mean of ten losses."""
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


# The plateau before the model learns where to attend

UNTIL = 300
"""Number of updates before the last snapshot; later little changes."""


class AttentionSnapshot(NamedTuple):
    """What is measured after some updates, on sentences that are not trained on.

    The loss is in nats per token. Shares and means are over the target words that
    render a source word.
    """

    step: int  # number of updates so far
    loss: float
    alignment: float  # share of words whose largest weight is on the aligned word
    weight: float  # mean weight on the aligned word
    steepest: float  # share of words whose aligned score has the largest descent
    descent: float  # mean negative gradient with respect to the aligned score, nats


@sweep(
    seed=range(5),
    steps=STEPS,
    rate=LEARNING_RATE,
    fields=AttentionSnapshot._fields,
)
def plateau(seed: int) -> dict:
    """Train a Bahdanau model, and take a snapshot every ten updates.

    Returns:
        The "log", one list of numbers per snapshot in the order of "fields", on 64
        sentences of two clauses.
    """
    model, pairs = Bahdanau(len(SOURCE), len(TARGET)), held_out_pairs(2, 64)
    log = []

    def look(step: int) -> None:
        if step <= UNTIL:
            log.append([round(x, 4) for x in take_snapshot(model, pairs, step)])

    fit(model, watched(toy_batches(seed), look, every=10), STEPS, LEARNING_RATE)
    return {"log": log}


def take_snapshot(
    model: Bahdanau, pairs: Sequence[Pair], step: int
) -> AttentionSnapshot:
    """Measure a model after ``step`` updates, on ``pairs``."""
    weights, descent = attention_weights(model, pairs), score_descent(model, pairs)
    src, tgt_in, tgt_out = make_batch(pairs)
    return AttentionSnapshot(
        step,
        token_loss(model(src, tgt_in), tgt_out).item(),
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
    src, tgt_in, tgt_out = make_batch(pairs)
    loss = token_loss(model(src, tgt_in), tgt_out) * padding_mask(tgt_out).sum()
    hook.remove()
    return -torch.cat(torch.autograd.grad(loss, scores), dim=1)


def mean_at_aligned(values: Tensor, pairs: Sequence[Pair]) -> float:
    """Mean of values, (B, T, S), over the target words that render a source word."""
    return fmean(
        values[b, t, j].item()
        for b, pair in enumerate(pairs)
        for t, j in enumerate(pair.alignment)
        if j is not None
    )


# Attention held uniform at first


@sweep(held=(0, HELD_STEPS), seed=range(5), steps=STEPS, rate=LEARNING_RATE)
def late_attention(held: int, seed: int) -> dict:
    """Train a Bahdanau model as usual, or with attention held uniform at first."""
    model = trained(seed, held)
    found = measure_translation(model, transform=lambda pair: pair)
    return {**found, "covered": cover_medians(model, held_out_pairs(2, 100))}


REACH = 3
COVERS = (*(f"up to {reach}" for reach in range(REACH + 1)), "elsewhere")
"""Covered are the positions so far from the aligned one, or as many elsewhere."""


@torch.no_grad()
def covering_effects(model: Bahdanau, pair: Pair, rng: random.Random) -> list[dict]:
    """Drop of log p, in nats, if words are covered at one step."""
    src, tgt_in, tgt_out = make_batch([pair])
    length = src.shape[1]
    state, found = model.start(src), []
    for t, token in enumerate(tgt_in[0]):
        logits, new = model.step(token[None], state)
        j = pair.alignment[t] if t < len(pair.alignment) else None
        if j is not None:
            far = [i for i in range(length - 1) if abs(i - j) > REACH]
            reaches = [
                *((j, reach) for reach in range(REACH + 1)),
                (rng.choice(far), REACH),
            ]
            open_ = torch.tensor(
                [[abs(i - at) > reach for i in range(length)] for at, reach in reaches]
            )
            some, _ = model.step(token.expand(len(open_)), read_only(state, open_))
            target = tgt_out[0, t]
            before = logits.log_softmax(-1)[0, target]
            drops = before - some.log_softmax(-1)[:, target]
            named = dict(zip(COVERS, drops.tolist(), strict=True))
            found.append({"weight": new.weights[0, j].item(), **named})
        state = new
    return found


def cover_medians(model: Bahdanau, pairs: Sequence[Pair]) -> dict[str, dict]:
    """Median drops over all words and those of like weight, and the mean weight."""
    rng = random.Random(0)
    words = [word for pair in pairs for word in covering_effects(model, pair, rng)]
    like = [word for word in words if 0.6 <= word["weight"] <= 0.8]
    groups = {"all": words, "equal weight": like}
    return {
        name: {
            "words": len(group),
            "weight": round(fmean(word["weight"] for word in group), 3),
            # Adding 0 makes a 0 of a −0.
            **{c: round(median(word[c] for word in group), 3) + 0.0 for c in COVERS},
        }
        for name, group in groups.items()
        if group
    }


# Does the caption translator attend to the words that it translates?

LEARNED_FROM = 10_000
"""Training captions from which Model 1 learns."""
CAPTIONS = 160
FAR = 2
"""A word has moved if it is so many positions from the diagonal, or more."""


@experiment
def caption_links(seed: int = 0) -> dict:
    """Count in how many links a German word's largest weight is on its English word.

    Links are those of IBM Model 1, learned from training captions in both directions,
    between validation captions and the model's own translations.

    Returns:
        "links", those "found" by the weights and those on the "diagonal"; the same of
        words that have "moved".
    """
    translator = shipped_bahdanau()
    known = zip(*load_texts(translator.config, "train"), strict=True)
    links = WordLinks(
        [
            [words(translator.subwords.pieces(text)) for text in pair]
            for pair in islice(known, LEARNED_FROM)
        ]
    )
    captions = load_texts(translator.config, "val").source
    chosen = random.Random(seed).sample(captions, CAPTIONS)
    hits = []
    for caption, text in zip(chosen, translator(chosen, width=1), strict=True):
        weights, target, source = weights_of_words(translator, caption, text)
        straight = diagonal(IdPair(source[:-1], target[:-1]))
        for t, j in links.between(source, target).items():
            found = weights[t].argmax().item() == j
            hits.append((found, straight[t] == j, abs(straight[t] - j) >= FAR))
    moved = [hit for hit in hits if hit[2]]
    return {
        "learned from": LEARNED_FROM,
        "captions": CAPTIONS,
        "seed": seed,
        "sure": SURE,
        "links": len(hits),
        "found": sum(hit[0] for hit in hits),
        "diagonal": sum(hit[1] for hit in hits),
        "moved": {"links": len(moved), "found": sum(hit[0] for hit in moved)},
    }


@torch.no_grad()
def weights_of_words(
    translator: Translator, caption: str, text: str
) -> tuple[Tensor, list[str], list[str]]:
    """Attention weights between words: (T, S), the target and the source words."""
    subwords = translator.subwords
    batch = id_batch([IdPair(subwords.encode(caption), subwords.encode(text))])
    _, weights = translator.model(batch.src, batch.tgt_in, need_weights=True)
    pieces = ([*subwords.pieces(side), "<eos>"] for side in (text, caption))
    return word_weights(weights[0], *pieces)
