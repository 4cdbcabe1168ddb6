"""Exercises of chapter 10."""

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS
from attnbook.course.kit.exercises.short_exercises import exercise
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig


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


@exercise(_models_and_sources)
def ex10_last_position(model: nn.Module, src: Tensor, length: int) -> Tensor:
    """Which row of the logits predicts the token that isn't there yet?

    [:, -1] => [:, 0]
        Position 0 predicts the first token, again and again.
    prefix[:, 1:] => prefix
        BOS is an input and not generated: leave it out of the result.
    range(length) => range(length - 1)
        The last token is missing.
    """
    prefix = torch.full((len(src), 1), BOS)
    for _ in range(length):
        token = model(src, prefix)[:, -1].argmax(-1)
        prefix = torch.cat([prefix, token[:, None]], dim=1)
    return prefix[:, 1:]


def _hypotheses() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(1)
    rows = torch.tensor([[0.05, 0.05, 0.7, 0.2], [0.5, 0.4, 0.05, 0.05]])
    random = torch.randn(2, 3, 6, generator=g).log_softmax(-1)
    return [
        (torch.tensor([[0.4, 0.6]]).log(), rows[None].log()),
        (torch.tensor([[0.2, 0.5, 0.1], [0.01, 0.03, 0.02]]).log(), random),
    ]


@exercise(_hypotheses)
def ex10_beam_step(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    """Add each hypothesis's log-probability to its row of `steps`, and look for the W
    best in the whole table of a sentence.

    .topk(width).indices => .unflatten(1, steps.shape[1:]).argmax(-1)
    index // vocab, => torch.arange(width).expand_as(index),
        Each hypothesis is extended once; two of the best may extend the same one.
    .flatten(1) => .flatten()
    .topk(width).indices => .topk(log_p.numel()).indices.view_as(log_p)
    index // vocab, => index // vocab % width,
        The candidates of one sentence compete with those of another: flatten only the
        last two axes.
    log_p[..., None] + => torch.zeros_like(log_p[..., None]) +
        The hypotheses aren't equally probable: add their log-probabilities.
    index // vocab, index % vocab => index % vocab, index // vocab
        First the hypotheses, then the tokens.
    None] + steps => None] - steps * log_p[..., None]
        Logarithms of probabilities are added, not multiplied.
    index // vocab, index % vocab => index % width, index // width
        Entry i of the flattened table belongs to hypothesis i // V and token i % V.
    """
    width, vocab = steps.shape[1:]
    candidates = (log_p[..., None] + steps).flatten(1)  # (B, W · V)
    index = candidates.topk(width).indices  # (B, W)
    return index // vocab, index % vocab
