"""How large the scores of attention are before training."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import torch

from attnbook.nn.scores import make_score


@torch.no_grad()
def score_spreads(
    names: Iterable[str], widths: Sequence[int], draws: int = 20, seed: int = 0
) -> dict[str, list[float]]:
    """Standard deviation of untrained scores of random queries and keys, by width.

    Queries and keys are independent, with components of mean 0 and variance 1; the
    scores' weights are those that they start with. The generator of PyTorch is left
    as it was.

    Args:
        names: Scores that :func:`~attnbook.nn.scores.make_score` knows and that depend
            on the keys.
        widths: Widths H of query and key.
        draws: How often weights, 100 queries and 100 keys are drawn.
        seed: Of the random numbers.

    Returns:
        For each name one number a width.
    """
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        return {
            name: [_spread(name, width, draws) for width in widths] for name in names
        }


def _spread(name: str, width: int, draws: int) -> float:
    scores = []
    for _ in range(draws):
        score = make_score(name, width, width)
        query, states = torch.randn(2, 1, 100, width)  # (1, 100, width) each
        scores.append(score(query, score.prepare(states)))  # (1, 100, 100)
    return torch.cat(scores).std().item()
