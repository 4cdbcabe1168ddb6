"""Models of toy sentences that fill gaps or predict the next word, asked to write."""

import random
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS, PAD
from attnbook.data.batching import pad, pooled
from attnbook.decoding.steps import token_log_probs
from attnbook.models.language_model import embed, make_table
from attnbook.nn.layers import EncoderStack, TransformerConfig
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE, next_word_batches, toy_pairs
from attnbook.toy.language import is_sentence
from attnbook.toy.training import fit

CLAUSES = (1, 2)
MASK = len(SOURCE)  # the id that stands for a hidden word
CONFIG = TransformerConfig(
    MASK + 1, d_model=64, n_heads=4, n_layers=2, d_ff=256, dropout=0.0, norm_first=True
)
MAX_LEN = 32
BATCH_SIZE, STEPS, LEARNING_RATE = 64, 300, 2e-3
SHARE = 0.15  # of the words, and of the ends, hidden in training
LONGEST_SENTENCE = 15  # words
LONGEST = 20  # tokens that a model may write
Batches = Iterator[tuple[Tensor, Tensor]]


class TokenModel(nn.Module):
    """Vectors of tokens and positions, encoder layers, logits, and a mask to choose.

    What is left out of BERT (Devlin et al. 2019): its second training task (is this
    the next sentence?), the segment embeddings for it, and a layer before the logits.

    Args:
        mask_of: Makes the mask from ids, (B, T).
        config: The sizes; ``source_vocab_size`` is that of the one vocabulary, V.
        max_len: Number of positions that have a vector.
    """

    def __init__(
        self,
        mask_of: Callable[[Tensor], Tensor],
        config: TransformerConfig = CONFIG,
        max_len: int = MAX_LEN,
    ):
        super().__init__()
        self.mask_of = mask_of
        self.W_e = make_table(config.source_vocab_size, config.d_model)  # (V, D)
        self.W_p = make_table(max_len, config.d_model)  # (max_len, D)
        self.dropout = nn.Dropout(config.dropout)
        self.stack = EncoderStack(config)

    def encode(self, ids: Tensor) -> Tensor:
        """One vector for each token, (B, T, D), for ids, (B, T)."""
        h = self.dropout(embed(ids, self.W_e, self.W_p))  # (B, T, D)
        return self.stack(h, self.mask_of(ids))

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the token or the next one, (B, T, V), for ids, (B, T)."""
        return self.encode(ids) @ self.W_e.T


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


def one_gap_batches(seed: int, cut: str | None = None) -> Batches:
    """Texts with one hidden token each.

    Args:
        seed: The same seed gives the same sentences.
        cut: None: the texts are whole. ``"after the gap"``: nothing comes after the
            gap. ``"later"``: the text is cut, and at least one token comes after it.
    """
    g = torch.Generator().manual_seed(seed)

    def below(limits: Tensor) -> Tensor:
        return (torch.rand(limits.shape, generator=g) * limits).long()

    for ids in whole_texts(seed):
        lengths = (ids != PAD).sum(1, keepdim=True)  # (B, 1)
        if cut == "later":
            end = 2 + below(lengths - 1)  # (B, 1)
            place = below(end - 1)  # (B, 1)
        else:
            place = below(lengths)
            end = lengths if cut is None else place + 1
        positions = torch.arange(ids.shape[1])  # (T,)
        given, hidden = ids.masked_fill(positions >= end, PAD), positions == place
        yield given.masked_fill(hidden, MASK), ids.masked_fill(~hidden, PAD)


def next_words(seed: int, one: bool = False) -> Batches:
    """Texts from ``BOS`` on, and the next tokens; or only ``one`` of them a text."""
    g = torch.Generator().manual_seed(seed)
    for ids, _, targets in next_word_batches(target_mask, seed, BATCH_SIZE):
        if one:
            lengths = (targets != PAD).sum(1, keepdim=True)  # (B, 1)
            place = (torch.rand(lengths.shape, generator=g) * lengths).long()  # (B, 1)
            others = torch.arange(targets.shape[1]) != place  # (B, T)
            targets = targets.masked_fill(others, PAD)
        yield ids, targets


def train(
    mask_of: Callable[[Tensor], Tensor],
    batches: Iterable[tuple[Tensor, Tensor]],
    seed: int,
    steps: int = STEPS,
    weights: Mapping[str, Tensor] | None = None,
) -> TokenModel:
    """Train a new model; it may begin with some or all of another one's weights."""
    torch.manual_seed(seed)
    model = TokenModel(mask_of)
    model.load_state_dict(weights or {}, strict=False)
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
    return [SOURCE.words[i] for i in token_log_probs(logits[:MASK]).topk(best).indices]


@torch.no_grad()
def write(model: TokenModel, number: int, ask: int | None = MASK) -> list[list[str]]:
    """Let a model write, sampling one token after the other.

    Args:
        model: Its mask stays as it is.
        number: Number of texts.
        ask: Stands after the text for the next token. None: the model predicts
            the next token, and the text begins with ``BOS``.
    """
    g = torch.Generator().manual_seed(0)
    ids = torch.full((number, int(ask is None)), BOS)
    asked = torch.full((number, int(ask is not None)), ask or 0)
    begin = ids.shape[1]
    for _ in range(LONGEST):
        ids = torch.cat([ids, _drawn(model(torch.cat([ids, asked], 1))[:, -1], g)], 1)
    return [SOURCE.decode(row[begin:]) for row in ids.tolist()]


@torch.no_grad()
def write_between(
    model: TokenModel, lengths: Sequence[int], ends: bool = True
) -> list[list[str]]:
    """Let a model fill texts of gaps from left to right.

    Args:
        model: Its mask stays as it is.
        lengths: Numbers of words, one a text.
        ends: Whether ``EOS`` is given after so many words. If not, there is one more
            gap, and a text ends where the model samples ``EOS``.
    """
    g = torch.Generator().manual_seed(0)
    texts = []
    for length in sorted({*lengths}):
        ids = torch.full((lengths.count(length), length + 1), MASK)
        if ends:
            ids[:, -1] = EOS
        for i in range(length if ends else length + 1):
            ids[:, i] = _drawn(model(ids)[:, i], g)[:, 0]
        texts += [SOURCE.decode(row) for row in ids.tolist()]
    return texts


def _drawn(logits: Tensor, g: torch.Generator) -> Tensor:
    """A token for each row, (n, 1): a word or ``EOS``, and never ``MASK``."""
    p = token_log_probs(logits[:, :MASK]).softmax(-1)  # (n, V - 1)
    return p.multinomial(1, generator=g)


def correct(texts: Sequence[Sequence[str]]) -> float:
    """The share of texts that are sentences of the toy language."""
    return sum(map(is_sentence, texts)) / len(texts)
