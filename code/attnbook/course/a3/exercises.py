"""The exercises of appendix A3."""

import torch
from torch import Tensor

from attnbook.course.kit.exercises.short_exercises import draw_inputs, exercise


@exercise()
def exa3_cache() -> tuple[int, int, int]:
    """For each layer: how many vectors or matrices, and how many numbers in each?

    full, 12 * window => full // 2, 12 * window // 2
        A cache keeps keys and values.
    1004 => 1000
        The first four tokens are kept besides the window.
    (64 * 64 + 64) => 64 * 64
        Linear attention also keeps z, for the denominator.
    16 * (64 * 64 + 64) => (1024 * 1024 + 1024)
        Each head has a state of its own, with the head's width.
    return 12 * full, 12 * window, 12 * state => return full, window, state
        That is one layer; there are 12.
    """
    full, window, state = 100_000 * 2048, 1004 * 2048, 16 * (64 * 64 + 64)
    return 12 * full, 12 * window, 12 * state


@exercise(
    lambda: draw_inputs(((4, 3), (4, 3), (4, 2), 0.5), ((7, 2), (7, 2), (7, 5), 0.9))
)
def exa3_decay(q: Tensor, k: Tensor, v: Tensor, gamma: float) -> Tensor:
    """Write out two positions: how often is the first pair multiplied by γ?

    gamma * s + torch.outer(k_i, v_i) => gamma * (s + torch.outer(k_i, v_i))
        The newest pair must not be multiplied by γ.
    gamma * s => s
        Nothing is forgotten here: γ is not used.
    gamma * s => (1 - gamma) * s
        γ is the share that stays, not the share that goes.
    """
    s, outputs = torch.zeros(k.shape[1], v.shape[1], dtype=v.dtype), []
    for q_i, k_i, v_i in zip(q, k, v, strict=True):
        s = gamma * s + torch.outer(k_i, v_i)
        outputs.append(q_i @ s)
    return torch.stack(outputs)


def _features() -> list[tuple[Tensor, Tensor, Tensor]]:
    cases = draw_inputs(((5, 3), (5, 3), (5, 2)), ((4, 2), (7, 2), (7, 5)))
    return [(q.exp(), k.exp(), v) for q, k, v in cases]


@exercise(_features)
def exa3_encoder(q: Tensor, k: Tensor, v: Tensor) -> Tensor:
    """Which of S and z depend on the query, if every query sees all keys?

    / (q @ k.sum(0))[:, None] =>
        The denominator is missing: the weights of a query must sum to 1.
    (q @ k.sum(0))[:, None] => q.sum(1, keepdim=True)
        The denominator needs the keys, too: it is the query times their sum.
    return q @ (k.T @ v) => pairs = (q @ k.T).tril(); return pairs @ v
    (q @ k.sum(0))[:, None] => pairs.sum(1, keepdim=True)
        This is a decoder's form: here each query sees all keys.
    """
    return q @ (k.T @ v) / (q @ k.sum(0))[:, None]
