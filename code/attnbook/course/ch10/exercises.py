"""Exercises of chapter 10."""

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS
from attnbook.course.kit.exercises.checking import register, wrong
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig


def _recompute(
    model: nn.Module, src: Tensor, length: int, position: int = -1
) -> Tensor:
    prefix = torch.full((len(src), 1), BOS)
    for _ in range(length):
        token = model(src, prefix)[:, position].argmax(-1)
        prefix = torch.cat([prefix, token[:, None]], dim=1)
    return prefix


def _models_and_sources() -> list[tuple[nn.Module, Tensor, int]]:
    with torch.random.fork_rng(devices=[]):  # the reader's stays as it is
        torch.manual_seed(1427)  # each output changes to its end; one has EOS inside
        model = Transformer(
            TransformerConfig(12, d_model=16, n_heads=2, n_layers=1, d_ff=32)
        ).eval()
        # Untrained and tied, it would repeat its input for ever.
        model.out.weight = nn.Parameter(torch.randn(12, 16))
    g = torch.Generator().manual_seed(0)
    sizes = ((2, 3, 4), (1, 5, 6))  # B, S, tokens to generate
    return [
        (model.requires_grad_(False), torch.randint(3, 12, (b, s), generator=g), t)
        for b, s, t in sizes
    ]


register(
    "ex10_last_position",
    reference=lambda model, src, length: _recompute(model, src, length)[:, 1:],
    inputs=_models_and_sources,
    hint="Which row of the logits predicts the token that isn't there yet?",
    mistakes=wrong(
        lambda model, src, length: _recompute(model, src, length, 0)[:, 1:],
        "Position 0 predicts the first token, again and again.",
        lambda model, src, length: _recompute(model, src, length),
        "BOS is an input and not generated: leave it out of the result.",
        lambda model, src, length: _recompute(model, src, length - 1)[:, 1:],
        "The last token is missing.",
    ),
)


def _beam_step(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    candidates = (log_p[..., None] + steps).flatten(1)  # (B, W · V)
    index = candidates.topk(log_p.shape[1]).indices  # (B, W)
    return index // steps.shape[-1], index % steps.shape[-1]


def _one_of_each(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    parents = torch.arange(log_p.shape[1]).expand(len(log_p), -1)
    return parents, (log_p[..., None] + steps).argmax(-1)


def _sentences_together(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    (b, w), v = log_p.shape, steps.shape[-1]
    index = (log_p[..., None] + steps).flatten().topk(b * w).indices.view(b, w)
    return index // v % w, index % v


def _wrong_index(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    parents, tokens = _beam_step(log_p, steps)
    index = steps.shape[-1] * parents + tokens
    return index % log_p.shape[1], index // log_p.shape[1]


def _hypotheses() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(1)
    rows = torch.tensor([[0.05, 0.05, 0.7, 0.2], [0.5, 0.4, 0.05, 0.05]])
    random = torch.randn(2, 3, 6, generator=g).log_softmax(-1)
    return [
        (torch.tensor([[0.4, 0.6]]).log(), rows[None].log()),
        (torch.tensor([[0.2, 0.5, 0.1], [0.01, 0.03, 0.02]]).log(), random),
    ]


register(
    "ex10_beam_step",
    reference=_beam_step,
    inputs=_hypotheses,
    hint="Add each hypothesis's log-probability to its row of `steps`, and look for "
    "the W best in the whole table of a sentence.",
    mistakes=wrong(
        _one_of_each,
        "Each hypothesis is extended once; two of the best may extend the same one.",
        _sentences_together,
        "The candidates of one sentence compete with those of another: flatten only "
        "the last two axes.",
        lambda log_p, steps: _beam_step(torch.zeros_like(log_p), steps),
        "The hypotheses aren't equally probable: add their log-probabilities.",
        lambda log_p, steps: _beam_step(log_p, steps)[::-1],
        "First the hypotheses, then the tokens.",
        lambda log_p, steps: _beam_step(log_p, steps * log_p[..., None].neg()),
        "Logarithms of probabilities are added, not multiplied.",
        _wrong_index,
        "Entry i of the flattened table belongs to hypothesis i // V and token i % V.",
    ),
)
