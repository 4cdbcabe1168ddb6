"""Exercises of chapter 10."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.pages.exercises.checking import register, wrong


def _cached(n_layers: int, d_model: int, s: int, t: int) -> int:
    return 2 * n_layers * d_model * (s + t)


register(
    "ex10_cached",
    reference=_cached,
    inputs=lambda: [(6, 512, 20, 10), (2, 64, 7, 1), (1, 8, 3, 0)],
    hint="Which keys and values does each decoder layer keep, and how wide are they "
    "with all heads together?",
    mistakes=wrong(
        lambda n, d, s, t: n * d * (s + t),
        "Keys are kept, and values as well.",
        lambda n, d, s, t: 2 * n * d * t,
        "The source's keys and values are kept too, once a sentence.",
        lambda n, d, s, t: 2 * d * (n * t + s),
        "Each layer makes keys and values of the source of its own.",
        lambda n, d, s, t: 2 * d * (s + t),
        "Each layer keeps its own.",
    ),
)


def _recompute(model: nn.Module, src: Tensor, length: int, place: int = -1) -> Tensor:
    said = torch.full((len(src), 1), BOS)
    for _ in range(length):
        word = model(src, said)[:, place].argmax(-1)
        said = torch.cat([said, word[:, None]], dim=1)
    return said


def _models_and_sources() -> list[tuple[nn.Module, Tensor, int]]:
    torch.manual_seed(0)
    model = Transformer(
        TransformerConfig(12, d_model=16, n_heads=2, n_layers=1, d_ff=32)
    ).eval()
    # Untrained and tied, it would say the word that it has read, for ever.
    model.out.weight = nn.Parameter(torch.randn(12, 16))
    g = torch.Generator().manual_seed(0)
    sizes = ((2, 3, 4), (1, 5, 6))  # B, S, words to say
    return [
        (model.requires_grad_(False), torch.randint(3, 12, (b, s), generator=g), t)
        for b, s, t in sizes
    ]


register(
    "ex10_last_place",
    reference=lambda model, src, length: _recompute(model, src, length)[:, 1:],
    inputs=_models_and_sources,
    hint="Which row of the logits predicts the word that is not yet there?",
    mistakes=wrong(
        lambda model, src, length: _recompute(model, src, length, 0)[:, 1:],
        "Place 0 predicts the first word, each time anew.",
        lambda model, src, length: _recompute(model, src, length),
        "BOS is read, and not said: leave it out of the result.",
        lambda model, src, length: _recompute(model, src, length - 1)[:, 1:],
        "One word is missing at the end.",
    ),
)


def _beam_step(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    place = (log_p[:, None] + steps).flatten().topk(len(log_p)).indices
    return place // steps.shape[1], place % steps.shape[1]


def _each_its_own(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    return torch.arange(len(log_p)), (log_p[:, None] + steps).argmax(-1)


def _beginnings() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(1)
    rows = torch.tensor([[0.05, 0.05, 0.6, 0.3], [0.5, 0.4, 0.05, 0.05]])
    drawn = torch.randn(3, 6, generator=g).log_softmax(-1)
    return [
        (torch.tensor([0.4, 0.6]).log(), rows.log()),
        (torch.tensor([0.2, 0.5, 0.1]).log(), drawn),
    ]


register(
    "ex10_beam_step",
    reference=_beam_step,
    inputs=_beginnings,
    hint="Add each beginning's log-probability to its row, and look for the W best in "
    "the whole table.",
    mistakes=wrong(
        _each_its_own,
        "Each beginning has got one continuation; the best W may have one parent.",
        lambda log_p, steps: _beam_step(torch.zeros_like(log_p), steps),
        "The beginnings are not equally probable: add their log-probabilities.",
        lambda log_p, steps: _beam_step(log_p, steps)[::-1],
        "First the beginnings, then the words.",
        lambda log_p, steps: _beam_step(log_p, steps * log_p[:, None].neg()),
        "Logarithms of probabilities are added, not multiplied.",
    ),
)
