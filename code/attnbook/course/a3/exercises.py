"""The exercises of appendix A3."""

from __future__ import annotations

import torch
from torch import Tensor

from attnbook.course.kit.exercises.checking import draw_inputs, register, wrong

FULL, WINDOW, STATE = 12 * 100_000 * 2048, 12 * 1004 * 2048, 12 * 16 * (64 * 64 + 64)

register(
    "exa3_cache",
    reference=(FULL, WINDOW, STATE),
    hint="For each layer: how many vectors or matrices, and how many numbers in each?",
    mistakes=wrong(
        (FULL // 2, WINDOW // 2, STATE),
        "A cache keeps keys and values.",
        (FULL, 12 * 1000 * 2048, STATE),
        "The sinks are kept besides the window.",
        (FULL, WINDOW, 12 * 16 * 64 * 64),
        "Linear attention also keeps z, for the denominator.",
        (FULL, WINDOW, 12 * (1024 * 1024 + 1024)),
        "Each head has a state of its own, with the head's width.",
        (FULL // 12, WINDOW // 12, STATE // 12),
        "That is one layer; there are 12.",
    ),
)


def _decay(q: Tensor, k: Tensor, v: Tensor, gamma: float) -> Tensor:
    s, outputs = torch.zeros(k.shape[1], v.shape[1], dtype=v.dtype), []
    for q_i, k_i, v_i in zip(q, k, v, strict=True):
        s = gamma * s + torch.outer(k_i, v_i)
        outputs.append(q_i @ s)
    return torch.stack(outputs)


def _late(q: Tensor, k: Tensor, v: Tensor, gamma: float) -> Tensor:
    s, outputs = torch.zeros(k.shape[1], v.shape[1], dtype=v.dtype), []
    for q_i, k_i, v_i in zip(q, k, v, strict=True):
        s = gamma * (s + torch.outer(k_i, v_i))
        outputs.append(q_i @ s)
    return torch.stack(outputs)


register(
    "exa3_decay",
    reference=_decay,
    inputs=lambda: draw_inputs(
        ((4, 3), (4, 3), (4, 2), 0.5),
        ((7, 2), (7, 2), (7, 5), 0.9),
    ),
    hint="Write out two positions: how often is the first pair multiplied by γ?",
    mistakes=wrong(
        _late,
        "The newest pair must not be multiplied by γ.",
        lambda q, k, v, gamma: (q @ k.T).tril() @ v,
        "Nothing is forgotten here: γ is not used.",
        lambda q, k, v, gamma: _decay(q, k, v, 1 - gamma),
        "γ is the share that stays, not the share that goes.",
    ),
)


def _valid(translations: list[list[str]]) -> float:
    total = 0.0
    for words in translations:
        p = 1.0
        for t, word in enumerate(words):
            p *= sum(other[t] == word for other in translations) / len(translations)
        total += p
    return total


register(
    "exa3_valid",
    reference=_valid,
    inputs=lambda: [
        ([["a", "b"], ["b", "a"]],),
        ([["a", "b", "c"]],),
        ([["a", "b", "v"], ["b", "a", "v"], ["a", "a", "v"]],),
        ([["a", "b", "c", "d", "v"], ["c", "d", "a", "b", "v"]],),
    ],
    hint="First one output: what is its probability, position by position?",
    mistakes=wrong(
        lambda translations: _valid(translations) / len(translations),
        "Any of the translations will do: add their probabilities up.",
        lambda translations: (
            len(translations) * len(translations) ** -float(len(translations[0]))
        ),
        "Where translations agree on a word, its probability is larger.",
    ),
)
