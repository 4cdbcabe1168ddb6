"""A language model with and without a causal mask: losses, samples, influence."""

from __future__ import annotations

from itertools import islice

import torch
from torch import Tensor, nn

from attnbook.analysis.leaks import influence
from attnbook.course.ch06 import next_word as words
from attnbook.course.kit.toy_translation import THREE_SEEDS
from attnbook.nn.losses import token_loss
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE, held_out_pairs, toy_pairs
from attnbook.toy.language import Pair, is_sentence
from attnbook.toy.next_words import best_next_word_accuracy, shifted_words
from experiments.registry import experiment

SAMPLES = 200
TRAINED_ON = 200 * 64  # sentences


@experiment("next_word")
def next_word() -> dict:
    """Train both models with three seeds and measure what the chapter says of them.

    Returns:
        "least_loss" and "last_word_loss": of who knows the grammar, and of a table of
        word pairs; "best_accuracy"; "runs": for each seed and mask the losses in
        training and on 1,024 held-out sentences, in nats per token; the accuracy at
        once and word by word; of 200 samples the sentences, the empty ones, and the
        sentences that were trained on; of all words that are followed by another one,
        for how many the next word has the largest influence ("next_largest" of "rows").
    """
    pairs = held_out_pairs(1) + held_out_pairs(2)
    runs = []
    for seed in THREE_SEEDS:
        for mask_of in (key_mask, target_mask):
            runs.append({"seed": seed, **_run(mask_of, seed, pairs)})
            print(f"  {runs[-1]}", flush=True)
    counted = islice(toy_pairs(99, clauses=(1, 2)), 50_000)
    return {
        "sentences": len(pairs),
        "samples": SAMPLES,
        "least_loss": round(words.least_loss(pairs), 5),
        "last_word_loss": round(words.loss_by_last_word(pairs, counted), 5),
        "best_accuracy": round(best_next_word_accuracy(pairs), 4),
        "runs": runs,
    }


def _run(mask_of: words.MaskOf, seed: int, pairs: list[Pair]) -> dict:
    model, trained = words.train(mask_of, seed)
    ids, targets = shifted_words(pairs)
    with torch.no_grad():
        logits = model(ids, mask_of(ids))
    one_by_one = words.word_by_word(model, mask_of, ids)
    largest, rows = next_is_largest(model, mask_of, pairs[:40])
    return {
        "mask": mask_of.__name__,
        "training_loss": round(trained, 4),
        "loss": round(token_loss(logits, targets).item(), 4),
        "loss_word_by_word": round(token_loss(one_by_one, targets).item(), 4),
        "at_once": round(words.accuracy(logits, targets), 4),
        "word_by_word": round(words.accuracy(one_by_one, targets), 4),
        **_samples(model, mask_of, seed),
        "next_largest": largest,
        "rows": rows,
    }


def _samples(model: nn.Module, mask_of: words.MaskOf, seed: int) -> dict[str, int]:
    written = words.write(model, mask_of, SAMPLES, seed)
    trained_on = islice(toy_pairs(seed, clauses=(1, 2)), TRAINED_ON)
    seen = {" ".join(pair.source) for pair in trained_on}
    grammatical = [text for text in written if is_sentence(text)]
    return {
        "grammatical": len(grammatical),
        "copies": sum(text in seen for text in grammatical),
        "empty": written.count(""),
    }


def next_is_largest(
    model: nn.Module, mask_of: words.MaskOf, pairs: list[Pair]
) -> tuple[int, int]:
    """At how many positions, of all but the last, the next word moves the odds most.

    Each word in turn becomes *robot*, or *king* where it is *robot*.
    """

    def odds(ids: Tensor) -> Tensor:
        return model(ids, mask_of(ids)).softmax(-1)

    largest = rows = 0
    for pair in pairs:
        ids, _ = shifted_words([pair])  # (1, T)
        moved = influence(odds, ids, other_words(ids))
        next_ = torch.arange(1, len(moved))
        largest += int((moved[:-1].argmax(1) == next_).sum())
        rows += len(next_)
    return largest, rows


def other_words(ids: Tensor) -> Tensor:
    """A different word for each position."""
    robot, king = SOURCE.encode(["robot", "king"])
    return torch.where(ids == robot, king, robot)
