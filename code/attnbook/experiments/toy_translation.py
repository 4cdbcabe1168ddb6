"""The experiment that runs through the book: one task, equal steps, several models."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import groupby

from torch import Tensor, nn

from attnbook.toy.data import CLAUSES, held_out_pairs
from attnbook.toy.language import AND_TARGET, Pair
from attnbook.toy.metrics import (
    alignment_score,
    attention_weights,
    correct_tokens,
    exact_match,
)
from attnbook.toy.training import LEARNING_RATE, STEPS, train_toy_model

SEEDS = (0, 1, 2, 3, 4)
Weights = Callable[[nn.Module, Sequence[Pair]], Tensor]  # (B, T, S)

LONGER = 5  # one clause more than ever seen


def measure(
    model: nn.Module,
    change: Callable[[Pair], Pair],
    weights: Weights | None = None,
) -> dict:
    """Measure a trained model on held-out sentences of 1 to 5 clauses.

    Args:
        model: The model.
        change: Applied to each pair first.
        weights: How to ask the model where it looks; if not given, as
            :func:`~attnbook.toy.metrics.attention_weights` asks those that ``attend``.

    Returns:
        "exact": share of sentences without a mistake, by number of clauses;
        "by_clause": share of words right in each clause of four, given the right words
        before them; with attention also what :func:`look` returns.
    """
    pairs = {n: [change(p) for p in held_out_pairs(n)] for n in (*CLAUSES, LONGER)}
    found = {
        "exact": {str(n): round(exact_match(model, p), 4) for n, p in pairs.items()},
        "by_clause": [round(share, 4) for share in right_by_clause(model, pairs[4])],
    }
    if weights is None and hasattr(model, "attend"):
        weights = attention_weights
    return found if weights is None else found | look(model, pairs, weights)


def look(model: nn.Module, pairs: dict[int, Sequence[Pair]], weights: Weights) -> dict:
    """Measure where a model with attention looks, given the right words.

    Returns:
        "align": the alignment score, by number of clauses; "map": the weights of the
        first pair of two clauses, (T, S).
    """
    found = {n: weights(model, p) for n, p in pairs.items()}
    first = pairs[2][0]
    rows, columns = len(first.target) + 1, len(first.source) + 1  # with EOS
    return {
        "align": {
            str(n): round(alignment_score(w, pairs[n]), 4) for n, w in found.items()
        },
        "map": [
            [round(w, 3) for w in row] for row in found[2][0, :rows, :columns].tolist()
        ],
    }


def right_by_clause(model: nn.Module, pairs: Sequence[Pair]) -> list[float]:
    """Share of words right in the first, second, … clause, given those before.

    The connective and EOS belong to no clause and are not counted.
    """
    right, _ = correct_tokens(model, pairs)
    clauses = pairs[0].clauses
    hits, words = [0] * clauses, [0] * clauses
    for row, pair in zip(right.tolist(), pairs, strict=True):
        place = 0
        parts = groupby(pair.target, key=lambda word: word == AND_TARGET)
        lengths = [(is_and, len(list(part))) for is_and, part in parts]
        clause = 0
        for is_and, length in lengths:
            if not is_and:
                hits[clause] += sum(row[place : place + length])
                words[clause] += length
                clause += 1
            place += length
    return [h / w for h, w in zip(hits, words, strict=True)]


def thread(
    make_model: Callable[[int, int], nn.Module],
    steps: int = STEPS,
    seeds: Sequence[int] = SEEDS,
    change: Callable[[Pair], Pair] = lambda pair: pair,
    rate: float = LEARNING_RATE,
    weights: Weights | None = None,
) -> dict:
    """Train and measure a model with several seeds.

    Args:
        make_model: As in :func:`~attnbook.toy.training.train_toy_model`, and so the next four.
        steps: Batches of 64 sentences.
        seeds: One run each.
        change: Applied to each pair.
        rate: Learning rate at the first step.
        weights: As in :func:`measure`.

    Returns:
        What a page needs: sizes, steps, seeds, and a list of runs, each with what
        :func:`measure` returns and the loss, averaged over every 20 steps.
    """
    runs = []
    for seed in seeds:
        model, losses = train_toy_model(make_model, seed, steps, change, rate)
        run = {
            "seed": seed,
            **measure(model, change, weights),
            "loss": _means(losses, 20),
        }
        runs.append(run)
        shares = ", ".join(f"{100 * x:.1f}" for x in run["exact"].values())
        print(
            f"  seed {seed}: exact match at 1 to {LONGER} clauses {shares} %",
            flush=True,
        )
    parameters = sum(p.numel() for p in model.parameters())
    return {"steps": steps, "rate": rate, "parameters": parameters, "runs": runs}


def _means(values: Sequence[float], width: int) -> list[float]:
    chunks = (values[i : i + width] for i in range(0, len(values), width))
    return [round(sum(chunk) / len(chunk), 4) for chunk in chunks]
