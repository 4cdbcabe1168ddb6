"""Models of toy sentences that fill gaps or predict the next word, asked to write."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch
from torch import Tensor

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.course.a1.experiment_one_encoder import CLAUSES, CONFIG, MASK, MAX_LEN
from attnbook.data.batching import pad, pooled
from attnbook.models.encoder_only import TextEncoder
from attnbook.models.language_model import embed
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE, toy_pairs
from attnbook.toy.language import is_sentence
from attnbook.toy.next_words import next_word_batches
from attnbook.toy.training import fit

BATCH_SIZE, STEPS, LEARNING_RATE = 64, 300, 2e-3
SHARE = 0.15  # of the words, and of the ends, hidden in training
LONGEST = 20  # tokens that a model may write; sentences have at most 15 words
Batches = Iterator[tuple[Tensor, Tensor]]


class TokenModel(TextEncoder):
    """A text encoder with logits, under a mask that is chosen.

    Args:
        mask_of: Makes the mask from ids, (B, T).
    """

    def __init__(self, mask_of: Callable[[Tensor], Tensor]):
        super().__init__(CONFIG, MAX_LEN)
        self.mask_of = mask_of

    def forward(self, ids: Tensor) -> Tensor:
        """Logits, (B, T, V), for ids, (B, T)."""
        h = self.stack(embed(ids, self.W_e, self.W_p), self.mask_of(ids))
        return h @ self.W_e.T


# What the models are trained on


def whole_texts(seed: int) -> Iterator[Tensor]:
    """Batches of sentences of one or two clauses, each with ``EOS`` at its end."""
    for group in pooled(toy_pairs(seed, CLAUSES), BATCH_SIZE, random.Random(seed)):
        yield pad([[*SOURCE.encode(pair.source), EOS] for pair in group])


def gap_batches(seed: int) -> Batches:
    """Whole texts with hidden tokens, and these tokens; unlike in BERT, ends, too."""
    g = torch.Generator().manual_seed(seed)
    for ids in whole_texts(seed):
        hidden = (torch.rand(ids.shape, generator=g) < SHARE) & (ids != PAD)
        yield ids.masked_fill(hidden, MASK), ids.masked_fill(~hidden, PAD)


def one_gap_batches(seed: int, cut: bool) -> Batches:
    """Whole texts with one hidden token each; if ``cut``, nothing comes after it."""
    g = torch.Generator().manual_seed(seed)
    for ids in whole_texts(seed):
        lengths = (ids != PAD).sum(1, keepdim=True)  # (B, 1)
        place = (torch.rand(lengths.shape, generator=g) * lengths).long()  # (B, 1)
        positions = torch.arange(ids.shape[1])  # (T,)
        given = ids.masked_fill(positions > place, PAD) if cut else ids
        hidden = positions == place  # (B, T)
        yield given.masked_fill(hidden, MASK), ids.masked_fill(~hidden, PAD)


def some_next_words(seed: int, share: float = 1.0) -> Batches:
    """Texts from ``BOS`` on, and at a share of their positions the next token."""
    g = torch.Generator().manual_seed(seed)
    for ids, _, targets in next_word_batches(target_mask, seed, BATCH_SIZE):
        left_out = torch.rand(targets.shape, generator=g) >= share
        yield ids, targets.masked_fill(left_out, PAD)


def train(
    mask_of: Callable[[Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    seed: int,
    steps: int = STEPS,
    start: TokenModel | None = None,
) -> TokenModel:
    """Train a new model, or go on from the weights of another one."""
    torch.manual_seed(seed)
    model = TokenModel(mask_of)
    if start is not None:
        model.load_state_dict(start.state_dict())
    fit(model, batches, steps, LEARNING_RATE)
    return model


def gap_filler(seed: int) -> TokenModel:
    """Train a model that fills gaps from both sides."""
    return train(key_mask, gap_batches(seed), seed)


# What they are asked


@torch.no_grad()
def guesses(model: TokenModel, text: str, best: int = 4) -> list[str]:
    """The most probable words for the gap ``[M]`` of a sentence."""
    ids = [MASK if word == "[M]" else SOURCE.encode([word])[0] for word in text.split()]
    logits = model(torch.tensor([[*ids, EOS]]))[0, ids.index(MASK)]  # (V,)
    return [SOURCE.words[i] for i in logits[:MASK].topk(best).indices]


@torch.no_grad()
def write(model: TokenModel, number: int, ask: int | None = MASK) -> list[list[str]]:
    """Let a model write, sampling one token after the other.

    Args:
        model: Its mask stays as it is.
        number: Number of texts.
        ask: Stands behind the text for the next token. None: the model predicts
            the next token, and the text begins with ``BOS``.
    """
    g = torch.Generator().manual_seed(0)
    ids = torch.full((number, int(ask is None)), BOS)
    asked = torch.full((number, int(ask is not None)), ask or 0)
    begin = ids.shape[1]
    for _ in range(LONGEST):
        p = model(torch.cat([ids, asked], 1))[:, -1, :MASK].softmax(-1)  # (n, V - 1)
        ids = torch.cat([ids, p.multinomial(1, generator=g)], 1)
    return [SOURCE.decode(row[begin:]) for row in ids.tolist()]


@torch.no_grad()
def write_between(model: TokenModel, lengths: Sequence[int]) -> list[list[str]]:
    """Let a model write where the text's length and its ``EOS`` are given."""
    g = torch.Generator().manual_seed(0)
    texts = []
    for length in sorted({*lengths}):
        ids = torch.full((lengths.count(length), length + 1), MASK)
        ids[:, -1] = EOS
        for i in range(length):
            p = model(ids)[:, i, :MASK].softmax(-1)  # (n, V - 1)
            ids[:, i] = p.multinomial(1, generator=g)[:, 0]
        texts += [SOURCE.decode(row) for row in ids.tolist()]
    return texts


def correct(texts: Sequence[Sequence[str]]) -> float:
    """The share of texts that are sentences of the toy language."""
    return sum(map(is_sentence, texts)) / len(texts)
