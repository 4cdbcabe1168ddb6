"""The toy translation task: equal training for several models and seeds."""

from collections.abc import Callable, Sequence
from itertools import groupby

from torch import Tensor, nn

from attnbook.toy.data import CLAUSES, held_out_pairs
from attnbook.toy.language import AND_TARGET, Pair
from attnbook.toy.metrics import (
    alignment_accuracy,
    attention_weights,
    correct_tokens,
    exact_match,
)
from attnbook.toy.training import LEARNING_RATE, STEPS, train_toy_model

SEEDS = (0, 1, 2, 3, 4)
THREE_SEEDS = (0, 1, 2)  # where five would take too long
WeightsOf = Callable[[nn.Module, Sequence[Pair]], Tensor]  # (B, T, S)

UNSEEN_CLAUSES = 5  # one more than in training


def measure_translation(
    model: nn.Module,
    transform: Callable[[Pair], Pair],
    weights_of: WeightsOf | None = None,
) -> dict:
    """Evaluate a trained model on held-out sentences of 1 to 5 clauses.

    Args:
        model: The model.
        transform: Applied to each pair first.
        weights_of: Computes the model's attention weights; the default is
            :func:`~attnbook.toy.metrics.attention_weights` for models with ``attend``.

    Returns:
        "exact": exact match, by number of clauses; "by_clause": token accuracy under
        teacher forcing in each clause of four; with attention also the entries of
        :func:`measure_attention`.
    """
    pairs = {
        n: [transform(p) for p in held_out_pairs(n)] for n in (*CLAUSES, UNSEEN_CLAUSES)
    }
    found = {
        "exact": {str(n): round(exact_match(model, p), 4) for n, p in pairs.items()},
        "by_clause": [round(x, 4) for x in accuracy_by_clause(model, pairs[4])],
    }
    if weights_of is None and hasattr(model, "attend"):
        weights_of = attention_weights
    if weights_of is None:
        return found
    return found | measure_attention(model, pairs, weights_of)


def measure_attention(
    model: nn.Module, pairs: dict[int, Sequence[Pair]], weights_of: WeightsOf
) -> dict:
    """Evaluate a model's attention weights under teacher forcing.

    Returns:
        "align": the alignment accuracy, by number of clauses; "map": the weights of the
        first pair of two clauses, (T, S).
    """
    found = {n: weights_of(model, p) for n, p in pairs.items()}
    first = pairs[2][0]
    rows, columns = len(first.target) + 1, len(first.source) + 1  # with EOS
    return {
        "align": {
            str(n): round(alignment_accuracy(w, pairs[n]), 4) for n, w in found.items()
        },
        "map": [
            [round(w, 3) for w in row] for row in found[2][0, :rows, :columns].tolist()
        ],
    }


def accuracy_by_clause(model: nn.Module, pairs: Sequence[Pair]) -> list[float]:
    """Token accuracy under teacher forcing in the first, second, … clause.

    The connective and EOS belong to no clause and are not counted.
    """
    correct, _ = correct_tokens(model, pairs)
    clauses = pairs[0].clauses
    hits, words = [0] * clauses, [0] * clauses
    for row, pair in zip(correct.tolist(), pairs, strict=True):
        position = 0
        parts = groupby(pair.target, key=lambda word: word == AND_TARGET)
        lengths = [(is_and, len(list(part))) for is_and, part in parts]
        clause = 0
        for is_and, length in lengths:
            if not is_and:
                hits[clause] += sum(row[position : position + length])
                words[clause] += length
                clause += 1
            position += length
    return [h / w for h, w in zip(hits, words, strict=True)]


def train_and_measure(
    make_model: Callable[[int, int], nn.Module],
    steps: int = STEPS,
    seeds: Sequence[int] = SEEDS,
    transform: Callable[[Pair], Pair] = lambda pair: pair,
    learning_rate: float = LEARNING_RATE,
    weights_of: WeightsOf | None = None,
) -> dict:
    """Train and evaluate a model with several seeds.

    Args:
        make_model: As in :func:`~attnbook.toy.training.train_toy_model`.
        steps: Number of batches of 64 sentences.
        seeds: One run each.
        transform: Applied to each pair.
        learning_rate: That of the first step.
        weights_of: As in :func:`measure_translation`.

    Returns:
        "steps", "rate" (the learning rate), "parameters", and "runs": for each seed the
        entries of :func:`measure_translation` and the loss, averaged over every 20
        steps.
    """
    runs = []
    for seed in seeds:
        model, losses = train_toy_model(
            make_model, seed, steps, transform, learning_rate
        )
        run = {
            "seed": seed,
            **measure_translation(model, transform, weights_of),
            "loss": _means(losses, 20),
        }
        runs.append(run)
        exact = ", ".join(f"{100 * x:.1f}" for x in run["exact"].values())
        print(
            f"  seed {seed}: exact match at 1 to {UNSEEN_CLAUSES} clauses {exact} %",
            flush=True,
        )
    parameters = sum(p.numel() for p in model.parameters())
    about = {"steps": steps, "rate": learning_rate, "parameters": parameters}
    return {**about, "runs": runs}


def _means(values: Sequence[float], width: int) -> list[float]:
    chunks = (values[i : i + width] for i in range(0, len(values), width))
    return [round(sum(chunk) / len(chunk), 4) for chunk in chunks]
