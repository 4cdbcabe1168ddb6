"""One encoder, two tasks: roles of words from few examples, digits from patches."""

from __future__ import annotations

import random
from collections.abc import Iterator
from itertools import islice, repeat

import torch
from torch import Tensor
from torch.nn import functional as F

from attnbook.core.divergence import check_finite
from attnbook.core.vocabulary import PAD
from attnbook.data.batching import pad, pooled
from attnbook.data.digits import N_TRAIN, load_digits
from attnbook.data.hidden_tokens import hide_tokens
from attnbook.models.encoder_only import (
    MaskedLanguageModel,
    SequenceTagger,
    TextEncoder,
)
from attnbook.models.patch_classifier import PatchClassifier, cut_patches
from attnbook.nn.layers import TransformerConfig
from attnbook.toy.data import SOURCE, held_out_pairs, toy_pairs
from attnbook.toy.roles import ROLES, role_batch
from attnbook.toy.training import fit, train_step
from experiments.registry import experiment

SEEDS = (0, 1, 2, 3, 4)
CLAUSES = (1, 2)
MASK = len(SOURCE)  # the id that stands for a hidden word
CONFIG = TransformerConfig(
    MASK + 1, d_model=64, n_heads=4, n_layers=2, d_ff=256, dropout=0.0, norm_first=True
)
MAX_LEN = 32
SHARE = 0.15
PRE_TRAINING, LEARNING_RATE = 300, 2e-3
LABELLED = (4, 16, 64)  # sentences with roles
FINE_TUNING, SLOWER = 60, 1e-3  # steps and learning rate
IMAGE, CLASSES, BATCH_SIZE = 8, 10, 64
DIGIT_STEPS = 300


@experiment
def one_encoder() -> dict:
    """Train taggers from few sentences, and classifiers of digits.

    Returns:
        "roles": for each seed and number of labelled "sentences" the share of correct
        tags, with a new encoder ("scratch") and with one that was trained to guess
        hidden words ("pre_trained"), on held-out sentences; "by_word": the same if each
        word gets the role that it has most often. "digits": for each seed, side of the
        "patch" and "shuffled" the share of the 500 test images classified correctly;
        "nearest": that of the class of the nearest training image.
    """
    roles, images = [], []
    for seed in SEEDS:
        encoder = pre_trained(seed)
        for number in LABELLED:
            shares = {
                "scratch": tag_accuracy(TextEncoder, number, seed),
                "pre_trained": tag_accuracy(encoder, number, seed),
            }
            roles.append({"seed": seed, "sentences": number, **shares})
        for patch, shuffled in ((2, False), (2, True), (4, False)):
            share = digit_accuracy(seed, patch, shuffled)
            images.append(
                {"seed": seed, "patch": patch, "shuffled": shuffled, "right": share}
            )
        print(f"  {roles[-1]} {images[-3]}", flush=True)
    return {
        "pre_training_steps": PRE_TRAINING,
        "roles": roles,
        "by_word": by_word_accuracy(),
        "digits": images,
        "nearest": nearest_accuracy(),
    }


def words_with_gaps(seed: int) -> Iterator[tuple[Tensor, Tensor]]:
    """Batches of toy sentences with hidden words, and these words."""
    g = torch.Generator().manual_seed(seed)
    for group in pooled(toy_pairs(seed, CLAUSES), BATCH_SIZE, random.Random(seed)):
        ids = pad([SOURCE.encode(pair.source) for pair in group])
        yield hide_tokens(ids, SHARE, MASK, g)


def pre_trained(seed: int) -> TextEncoder:
    """Train an encoder to guess hidden words."""
    torch.manual_seed(seed)
    encoder = TextEncoder(CONFIG, MAX_LEN)
    fit(
        MaskedLanguageModel(encoder), words_with_gaps(seed), PRE_TRAINING, LEARNING_RATE
    )
    return encoder


def tag_accuracy(encoder: TextEncoder | type, number: int, seed: int) -> float:
    """Train a tagger on a few sentences; the share of correct tags on held-out ones."""
    torch.manual_seed(seed)
    copy = TextEncoder(CONFIG, MAX_LEN)
    model = SequenceTagger(copy, len(ROLES))
    if isinstance(encoder, TextEncoder):
        copy.load_state_dict(encoder.state_dict())
    few = [*islice(toy_pairs(1000 + seed, CLAUSES), number)]
    fit(model, repeat(role_batch(few)), FINE_TUNING, SLOWER)
    ids, tags = held_out_roles()
    with torch.no_grad():
        right = model(ids).argmax(-1) == tags
    return round(right[tags != PAD].double().mean().item(), 4)


def held_out_roles() -> tuple[Tensor, Tensor]:
    """The sentences of all measurements of roles."""
    return role_batch([pair for n in CLAUSES for pair in held_out_pairs(n)])


def by_word_accuracy() -> float:
    """Share of correct roles if each word gets the role that it has most often."""
    ids, tags = held_out_roles()
    pairs = torch.stack([ids, tags])[:, tags != PAD]
    counts = torch.zeros(len(SOURCE), len(ROLES))
    counts.index_put_(tuple(pairs), torch.tensor(1.0), accumulate=True)
    return round((counts.amax(1).sum() / counts.sum()).item(), 4)


def digit_accuracy(seed: int, patch: int, shuffled: bool) -> float:
    """Train a classifier of digits; the share of test images classified correctly."""
    images, labels = load_digits()
    g = torch.Generator().manual_seed(seed)
    if shuffled:
        images = in_other_order(images, patch, g)
    torch.manual_seed(seed)
    model = PatchClassifier(CONFIG, IMAGE, patch, CLASSES)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    for _ in range(DIGIT_STEPS):
        rows = torch.randint(N_TRAIN, (BATCH_SIZE,), generator=g)
        train_step(model, optimizer, (images[rows], labels[rows]), F.cross_entropy)
    check_finite(model.parameters())
    model.eval()
    with torch.no_grad():
        right = model(images[N_TRAIN:]).argmax(-1) == labels[N_TRAIN:]
    return round(right.double().mean().item(), 4)


def in_other_order(images: Tensor, patch: int, generator: torch.Generator) -> Tensor:
    """Put the patches of all images, (N, 8, 8), in one random order."""
    patches = cut_patches(images, patch)  # (N, T, P²)
    order = torch.randperm(patches.shape[1], generator=generator)
    side = images.shape[1] // patch
    grid = patches[:, order].unflatten(1, (side, side)).unflatten(3, (patch, patch))
    # (N, rows, columns, P, P) → (N, rows, P, columns, P) → (N, 8, 8)
    return grid.transpose(2, 3).flatten(3).flatten(1, 2)


def nearest_accuracy() -> float:
    """Share of test images whose nearest training image shows the same digit."""
    images, labels = load_digits()
    flat = images.flatten(1)  # (1797, 64)
    nearest = torch.cdist(flat[N_TRAIN:], flat[:N_TRAIN]).argmin(1)
    right = labels[:N_TRAIN][nearest] == labels[N_TRAIN:]
    return round(right.double().mean().item(), 4)
