"""Chapter 7: positions by kind, by their vectors, by distance, and none at all."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from functools import partial
from itertools import combinations

import torch
from torch import Tensor, nn

from attnbook.course.kit.toy_translation import SEEDS, THREE_SEEDS
from attnbook.nn.multi_head import MultiHeadAttention, split_heads
from attnbook.nn.positions import SinusoidalPositions, sinusoids
from attnbook.nn.relative import relative_distances
from attnbook.toy.task_models import POSITION_KINDS, OneLayer, one_layer
from attnbook.toy.tasks import previous_symbols, random_symbols, task_accuracy
from attnbook.translation.bleu_score import corpus_bleu
from attnbook.translation.corpora import load_texts
from attnbook.translation.translator import Translator
from experiments.ch05 import accuracy_by_position, train_task_model
from experiments.registry import experiment, sweep

LENGTH = 12  # in training
SHORT, LONG = 400, 1500  # training steps
D = 64

# Five kinds of positions, within and beyond the trained length

LENGTHS = (24, 48, 96, 192)


@sweep(positions=POSITION_KINDS, steps=(SHORT, LONG), seed=SEEDS, length=LENGTH)
def positions(positions: str, steps: int, seed: int) -> dict:
    """Predict the last two symbols with five kinds of positions, within and beyond.

    Trained at length 12, tested at 24: a learned table has 24 rows, of which training
    uses 12, and a relative bias has a number for all 23 distances.
    """
    model = one_layer(positions, max_len=2 * LENGTH)
    train_task_model(model, previous_symbols, LENGTH, steps, seed)
    return {
        "right_at_12": accuracy_by_position(model, previous_symbols, LENGTH),
        "right_at_24": accuracy_by_position(model, previous_symbols, 2 * LENGTH),
    }


@sweep(positions=("relative", "rotary"), seed=SEEDS, trained=LENGTH, lengths=[*LENGTHS])
def positions_farther(positions: str, seed: int) -> dict:
    """Length extrapolation of the relative kinds: trained at 12, tested up to 192."""
    model = one_layer(positions, max_len=LENGTHS[-1])
    train_task_model(model, previous_symbols, LENGTH, LONG, seed)
    return {"right": [second_half_accuracy(model, n) for n in LENGTHS]}


@sweep(seed=THREE_SEEDS, trained=LENGTH, lengths=[*LENGTHS])
def positions_farther_clamped(seed: int) -> dict:
    """The relative bias of ``positions_farther``, with untrained distances clamped."""
    model = one_layer("relative", max_len=LENGTHS[-1])
    train_task_model(model, previous_symbols, LENGTH, LONG, seed)
    clamp_untrained(model.attention.relative.table)
    return {"right": [second_half_accuracy(model, n) for n in LENGTHS]}


@torch.no_grad()
def clamp_untrained(biases: Tensor) -> None:
    """Give untrained distances the last trained bias on their side, in place.

    Distance +11 is untrained, too: only position 0 has it, which has no answer.

    Args:
        biases: (H, 2d + 1), of distances from -d to d.
    """
    middle, farthest = biases.shape[1] // 2, LENGTH - 1
    first, last = middle - farthest, middle + farthest - 1
    biases[:, :first] = biases[:, first : first + 1]
    biases[:, last + 1 :] = biases[:, last : last + 1]


def second_half_accuracy(model: Callable[[Tensor], Tensor], length: int) -> float:
    """Accuracy in the second half of 400 sequences."""
    ids = random_symbols(400, length, torch.Generator().manual_seed(99))
    accuracy = task_accuracy(model, previous_symbols(ids))  # (L, K)
    return round(accuracy[length // 2 :].mean().item(), 4)


# Which vectors for positions let one layer find the symbols before?

Features = Callable[[Tensor], Tensor]
"""Maps positions, (T,), to their features, (T, k)."""


class MappedFeatures(nn.Module):
    """Adds the features of each position, brought to the model's width by a matrix."""

    def __init__(self, features: Features):
        super().__init__()
        self.features = features
        n = features(torch.arange(2.0)).shape[1]
        self.to_width = nn.Linear(n, D, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        """Add to (B, T, D)."""
        return x + self.to_width(self.features(torch.arange(float(x.shape[1]))))


def clock_hands(n: int) -> Features:
    """Some hands, from one radian per position to ever fewer: sinusoids of 2n."""
    return lambda p: sinusoids(len(p), 2 * n)


def one_hand(speed: float) -> Features:
    """One hand that turns by this angle per position, in radians."""
    return lambda p: torch.stack([(speed * p).sin(), (speed * p).cos()], -1)


def binary(p: Tensor) -> Tensor:
    """The four binary digits of each position, the last one first."""
    return (p[:, None] // 2 ** torch.arange(4)) % 2


def scaled(p: Tensor) -> Tensor:
    """Positions, from -1 to 1 over 12 of them."""
    return (2 * p / (LENGTH - 1) - 1)[:, None]


VECTORS: dict[str, Features] = {
    "p": lambda p: p[:, None],
    "p, from −1 to 1": scaled,
    "p and p²": lambda p: torch.cat([scaled(p), scaled(p) ** 2], -1),
    "binary digits": binary,
    "binary digits, as −1 and 1": lambda p: 2 * binary(p) - 1,
    "one clock hand": clock_hands(1),
    "one hand, half a turn": one_hand(math.pi / (LENGTH - 1)),
}


def train_with(features: Features, length: int, steps: int, seed: int) -> OneLayer:
    """Train a layer with these features."""
    model = OneLayer(MultiHeadAttention(D, 2), MappedFeatures(features), n_answers=2)
    return train_task_model(model, previous_symbols, length, steps, seed)


def mean_accuracy(rows: Sequence[Sequence[float | None]]) -> float:
    """Mean over all answers that count."""
    numbers = [x for row in rows for x in row if x is not None]
    return round(torch.tensor(numbers).mean().item(), 4)


@sweep(vector=VECTORS, seed=SEEDS, steps=SHORT, length=LENGTH)
def position_vectors(vector: str, seed: int) -> dict:
    """Predict the last two symbols of 12 with seven kinds of position vectors."""
    model = train_with(VECTORS[vector], LENGTH, SHORT, seed)
    rows = accuracy_by_position(model, previous_symbols, LENGTH)
    return {"right": mean_accuracy(rows)}


@sweep(hands=(1, 2, 32), seed=THREE_SEEDS, steps=SHORT, length=4 * LENGTH)
def clock_hands_at_48(hands: int, seed: int) -> dict:
    """Predict the last two symbols of 48 with one, two and 32 clock hands."""
    model = train_with(clock_hands(hands), 4 * LENGTH, SHORT, seed)
    rows = accuracy_by_position(model, previous_symbols, 4 * LENGTH)
    return {"mean": mean_accuracy(rows), "right": rows}


SPEED = 0.128  # radians per position: almost a turn in 48 steps


@sweep(seed=THREE_SEEDS, steps=SHORT, length=4 * LENGTH, speed=SPEED)
def slow_hand_at_48(seed: int) -> dict:
    """Predict the last two symbols of 48 with one slow hand."""
    model = train_with(one_hand(SPEED), 4 * LENGTH, SHORT, seed)
    rows = accuracy_by_position(model, previous_symbols, 4 * LENGTH)
    return {"mean": mean_accuracy(rows)}


@sweep(hands=(1, 32), seed=THREE_SEEDS, steps=LONG, trained=LENGTH)
def few_hands_beyond(hands: int, seed: int) -> dict:
    """Train on 12 symbols with one clock hand and with 32; test new positions of 24."""
    model = train_with(clock_hands(hands), LENGTH, LONG, seed)
    return {"right": second_half_accuracy(model, 2 * LENGTH)}


# What has a layer with added position vectors learned? Its scores by distance


def position_scores(model: OneLayer, t: int) -> Tensor:
    """The part of the scores that the vectors of t positions make: (H, t, t)."""
    attention = model.attention
    vectors = model.positions(torch.zeros(1, t, attention.d_model))  # (1, t, D)
    q, k = (
        split_heads(linear(vectors), attention.n_heads)  # (1, H, t, d_k)
        for linear in (attention.W_Q, attention.W_K)
    )
    return (q @ k.mT)[0] / math.sqrt(q.shape[-1])


def distance_means(scores: Tensor) -> Tensor:
    """Means of (H, t, t) over pairs of equal distance, from -(t - 1): (H, 2t - 1)."""
    t = scores.shape[-1]
    return torch.stack(
        [scores.diagonal(k, -2, -1).mean(-1) for k in range(1 - t, t)], -1
    )


def by_distance(means: Tensor, t: int) -> Tensor:
    """Scores for t positions from means by distance, clamped at the ends: (H, t, t)."""
    farthest = means.shape[-1] // 2
    distances = relative_distances(t, t).clamp(-farthest, farthest)
    return means[:, distances + farthest]


def shuffled(scores: Tensor) -> Tensor:
    """The same scores, (H, t, t), dealt out to pairs of positions at random."""
    g = torch.Generator().manual_seed(0)
    flat = scores.flatten(1)
    return flat[:, torch.randperm(flat.shape[1], generator=g)].view_as(scores)


@torch.no_grad()
def right(model: OneLayer, length: int, means: Tensor | None, hide: bool) -> float:
    """Accuracy in the second half of 400 sequences; see the experiment."""
    own = position_scores(model, length)
    bias = None if means is None else (by_distance(means, length) - own)[None]
    mask = relative_distances(length, length).abs() < LENGTH if hide else None

    def changed(ids: Tensor) -> Tensor:
        x = model.positions(model.embedding(ids))
        return model.answers(model.attention(x, x, x, mask, score_bias=bias))

    return second_half_accuracy(changed, length)


@torch.no_grad()
def explained(scores: Tensor) -> float:
    """Share of the variance of (H, t, t) that the distance explains."""
    kept = by_distance(distance_means(scores), scores.shape[-1])
    rest = (scores - kept).var((-2, -1)) / scores.var((-2, -1))  # (H,)
    return round(1 - rest.mean().item(), 4)


def averaged(kind: str, lengths: tuple[int, ...]) -> dict:
    """Replace trained positional scores by their averages over equal distances.

    The models add position vectors of a kind and were trained on 12 symbols. Nothing is
    trained anew.

    Returns:
        "runs": for each seed and change the accuracy in the second half of sequences
        of each of the "lengths". "nothing"; "averages": each positional score is the
        mean over the trained pairs at its distance, or at the largest trained one;
        "hidden": keys at untrained distances are hidden; "random": the averages are
        over pairs picked at random. "explained": for each seed the share of the
        scores' variance that the distance explains, before and after training.
    """
    runs, shares = [], []
    for seed in SEEDS:
        torch.manual_seed(seed)
        model = one_layer(kind, max_len=lengths[-1])
        with torch.no_grad():
            before = explained(position_scores(model, LENGTH))
        train_task_model(model, previous_symbols, LENGTH, LONG, seed)
        with torch.no_grad():
            scores = position_scores(model, LENGTH)
        changes = {
            "nothing": (None, False),
            "averages": (distance_means(scores), False),
            "hidden": (None, True),
            "random": (distance_means(shuffled(scores)), False),
        }
        for name, change in changes.items():
            found = [right(model, n, *change) for n in lengths]
            runs.append({"change": name, "seed": seed, "right": found})
            print(f"  {runs[-1]}", flush=True)
        shares.append({"seed": seed, "before": before, "after": explained(scores)})
        print(f"  {shares[-1]}", flush=True)
    return {"trained": LENGTH, "lengths": lengths, "explained": shares, "runs": runs}


experiment(partial(averaged, "sinusoidal", LENGTHS), "averaged_by_distance")
experiment(partial(averaged, "learned", (24,)), "learned_averaged_by_distance")


# The shipped translator without positions: who bites whom?

HUMANS = {"man": "Mann", "woman": "Frau", "boy": "Junge", "girl": "Mädchen"}
ANIMALS = {"dog": "Hund", "cat": "Katze", "horse": "Pferd", "bird": "Vogel"}
NOUNS = HUMANS | ANIMALS
VERBS = (
    *("bites", "carries", "chases", "follows", "holds"),
    *("hugs", "kisses", "licks", "pushes", "watches"),
)
N_CAPTIONS = 300


class PartlyPositions(SinusoidalPositions):
    """Sinusoids for the parts of a Transformer that are named in ``kept``."""

    def __init__(self, d_model: int, kept: tuple[str, ...]):
        super().__init__(d_model)
        self.kept = kept

    def forward(self, x: Tensor, offset: int | None = None) -> Tensor:
        """Add positions, or nothing. Only a decoder that writes passes an offset."""
        part = "encoder" if offset is None else "decoder"
        return super().forward(x, offset or 0) if part in self.kept else x


class OnePosition(SinusoidalPositions):
    """All words of the source are at the same position; those of the target aren't."""

    def forward(self, x: Tensor, offset: int | None = None) -> Tensor:
        """Add the encoding of position 5 to each word of the source."""
        if offset is not None:
            return super().forward(x, offset)
        return super().forward(x.flatten(0, 1)[:, None], offset=5).view_as(x)


class RandomOrder(SinusoidalPositions):
    """The source's words are at its positions, in a random order for each sentence."""

    def forward(self, x: Tensor, offset: int | None = None) -> Tensor:
        """Add the encodings of the positions, shuffled in the source."""
        if offset is not None:
            return super().forward(x, offset)
        order = torch.rand(x.shape[:2]).argsort(-1)  # (B, S)
        return x + sinusoids(x.shape[1], x.shape[2], dtype=x.dtype)[order]


KEPT = {
    "encoder and decoder": partial(PartlyPositions, kept=("encoder", "decoder")),
    "decoder": partial(PartlyPositions, kept=("decoder",)),
    "encoder": partial(PartlyPositions, kept=("encoder",)),
    "neither": partial(PartlyPositions, kept=()),
    "decoder; one position in the encoder": OnePosition,
    "decoder; random order in the encoder": RandomOrder,
}
"""Where the translator keeps its positions."""


@sweep(kept=KEPT, sentences=56 * len(VERBS), captions=N_CAPTIONS)
def captions_without_order(kept: str) -> dict:
    """Translate sentences and their reversals, and captions, without positions.

    Returns:
        How many sentences are "right" (the German nouns stand in the order of the
        English ones), how many pairs are the "same" (a sentence and its reversal have
        one translation), how many of these are "mixed" (a human and an animal), in how
        many of the mixed ones the "human" comes first, and the "bleu" of the captions.
    """
    return translate_with(KEPT[kept])


def translate_with(positions: Callable[[int], nn.Module]) -> dict:
    """Translate with other positions, made for a width; see the sweep."""
    translator = Translator()
    val = load_texts(translator.config, "val")
    english, german = val.source[:N_CAPTIONS], val.target[:N_CAPTIONS]
    translator.model.positions = positions(translator.config.d_model)
    bleu = corpus_bleu(translator(english, width=1), german).bleu
    return {**who_does_what(translator), "bleu": round(bleu, 2)}


class Moved(SinusoidalPositions):
    """The source's word p is at position first + step * p; the target isn't moved."""

    def __init__(self, d_model: int, first: int, step: int):
        super().__init__(d_model)
        self.first, self.step = first, step

    def forward(self, x: Tensor, offset: int | None = None) -> Tensor:
        """Add the encodings of the moved positions to the source."""
        if offset is not None:
            return super().forward(x, offset)
        end = self.first + self.step * x.shape[1]
        return x + sinusoids(end, x.shape[2], dtype=x.dtype)[self.first :: self.step]


MOVES = {
    "not at all": (0, 1),
    "by 1": (1, 1),
    "by 2": (2, 1),
    "by 4": (4, 1),
    "by 8": (8, 1),
    "twice as far apart": (0, 2),
}
"""Where the source's words stand: the first one, and the step from each to the next."""


@sweep(moved=MOVES, sentences=56 * len(VERBS), captions=N_CAPTIONS)
def captions_moved(moved: str) -> dict:
    """The same with the source at other positions: does the translator notice?"""
    return translate_with(partial(Moved, first=MOVES[moved][0], step=MOVES[moved][1]))


def who_does_what(translator: Translator) -> dict:
    """Count what happens to who acts and who is acted on; see the sweep."""
    found = {"right": 0, "same": 0, "mixed": 0, "human": 0}
    for verb in VERBS:
        pairs = [*combinations(NOUNS, 2)]  # a human first, if there are both
        there = translator([f"A {a} {verb} a {b}." for a, b in pairs], width=1)
        back = translator([f"A {b} {verb} a {a}." for a, b in pairs], width=1)
        for (a, b), one, other in zip(pairs, there, back, strict=True):
            found["right"] += in_order(one, a, b) + in_order(other, b, a)
            found["same"] += one == other
            if one == other and a in HUMANS and b in ANIMALS:
                found["mixed"] += 1
                found["human"] += in_order(one, a, b)
    return found


def in_order(german: str, first: str, second: str) -> bool:
    """Whether the German for two English nouns stands in this order."""
    at = [german.find(NOUNS[noun]) for noun in (first, second)]
    return -1 < at[0] < at[1]
