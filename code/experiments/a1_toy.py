"""Appendix A1: one encoder for roles of words and digits; which training writes?"""

from __future__ import annotations

from collections.abc import Mapping
from itertools import islice, repeat

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.divergence import check_finite
from attnbook.core.vocabulary import EOS, PAD
from attnbook.course.a1.patches import PatchClassifier
from attnbook.course.a1.roles import ROLES, role_batch
from attnbook.course.a1.writing import (
    CLAUSES,
    CONFIG,
    LONGEST_SENTENCE,
    MASK,
    SHARE,
    STEPS,
    TokenModel,
    correct,
    gap_batches,
    gap_filler,
    next_words,
    one_gap_batches,
    train,
    write,
    write_between,
)
from attnbook.data.digits import N_TRAIN, load_digits
from attnbook.decoding.steps import token_log_probs
from attnbook.nn.masks import key_mask, target_mask
from attnbook.toy.data import SOURCE, held_out_pairs, toy_pairs
from attnbook.toy.language import kind_of
from attnbook.toy.training import fit, train_step
from experiments.registry import experiment, sweep

SEEDS = (0, 1, 2, 3, 4)

# One encoder, two tasks: roles of words from few examples, digits from patches

LABELLED = (4, 16, 64)  # sentences with roles
FINE_TUNING, SLOWER = 60, 1e-3  # steps and learning rate
IMAGE, CLASSES, BATCH_SIZE = 8, 10, 64
DIGIT_STEPS = 300


@experiment
def one_encoder() -> dict:
    """Train taggers from few sentences, and classifiers of digits.

    Returns:
        "roles": for each seed and number of labelled "sentences" the share of correct
        tags, with a new encoder ("scratch") and with one that fills gaps
        ("pre_trained"), on held-out sentences; "by_word": the same if each word gets
        the role that it has most often. "digits": for each seed and side of the "patch"
        the share of the 500 test images classified correctly; "nearest": that of the
        class of the nearest training image.
    """
    roles, images = [], []
    for seed in SEEDS:
        weights = gap_filler(seed).state_dict()
        for number in LABELLED:
            shares = {
                "scratch": tag_accuracy({}, number, seed),
                "pre_trained": tag_accuracy(weights, number, seed),
            }
            roles.append({"seed": seed, "sentences": number, **shares})
        for patch in (2, 4):
            share = digit_accuracy(seed, patch)
            images.append({"seed": seed, "patch": patch, "right": share})
        print(f"  {roles[-1]} {images[-1]}", flush=True)
    return {
        "pre_training_steps": STEPS,
        "roles": roles,
        "by_word": by_word_accuracy(),
        "digits": images,
        "nearest": nearest_accuracy(),
    }


class Tagger(nn.Module):
    """Chooses a role for each token."""

    def __init__(self, encoder: TokenModel):
        super().__init__()
        self.encoder = encoder
        self.out = nn.Linear(CONFIG.d_model, len(ROLES))

    def forward(self, ids: Tensor) -> Tensor:
        """Logits of the roles, (B, T, number of roles), for ids, (B, T)."""
        return self.out(self.encoder.encode(ids))


def tag_accuracy(weights: Mapping[str, Tensor], number: int, seed: int) -> float:
    """Train a tagger on a few sentences; the share of correct tags on held-out ones.

    Its encoder begins with these weights, or with new ones if there are none.
    """
    torch.manual_seed(seed)
    model = Tagger(TokenModel(key_mask))
    model.encoder.load_state_dict(weights, strict=False)
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


def digit_accuracy(seed: int, patch: int) -> float:
    """Train a classifier of digits; the share of test images classified correctly."""
    images, labels = load_digits()
    g = torch.Generator().manual_seed(seed)
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


def nearest_accuracy() -> float:
    """Share of test images whose nearest training image shows the same digit."""
    images, labels = load_digits()
    flat = images.flatten(1)  # (1797, 64)
    nearest = torch.cdist(flat[N_TRAIN:], flat[:N_TRAIN]).argmin(1)
    right = labels[:N_TRAIN][nearest] == labels[N_TRAIN:]
    return round(right.double().mean().item(), 4)


# Which training makes a model that writes? Gaps, cut texts, next words; two masks

NUMBER = 500  # texts that each model writes
FEW = 20  # steps on cut texts in which a model that fills gaps learns to write
LONGER = 1500  # steps
OTHER_TEXTS = 100  # added to the seed: these steps are not on the texts seen before


@sweep(seed=range(9), steps=STEPS, few=FEW, texts=NUMBER, share=SHARE)
def writers(seed: int) -> dict[str, float]:
    """Let models write that differ in what they were trained on, and in their mask.

    Returns:
        The share of sentences among the texts written: by the model that fills "gaps";
        by the same weights under the causal mask ("gaps_asked_causal"), where length
        and end are given ("gaps_between"), or where gaps follow up to the greatest
        length ("gaps_followed"); by models trained with one gap in whole texts
        ("one_gap") or in texts cut after the gap ("cut"); with gaps under the causal
        mask ("gaps_causal"); with the next word at all positions ("next") or at one of
        each text ("next_one"); after few steps on cut texts by a new model ("few_new"),
        and by one that begins with the word vectors ("few_vectors") or all weights
        ("few_all") of the model that fills gaps.
        "kinds": how often the latter's best guess for a hidden word has the right kind,
        in whole held-out sentences.
    """
    reader = train(key_mask, gap_batches(seed), seed)
    found = {"kinds": right_kinds(reader), **asked_in_three_ways(reader)}
    reader.mask_of = target_mask
    found["gaps_asked_causal"] = correct(write(reader, NUMBER))
    asked = {
        "one_gap": train(key_mask, one_gap_batches(seed), seed),
        "cut": train(key_mask, one_gap_batches(seed, cut=True), seed),
        "gaps_causal": train(target_mask, gap_batches(seed), seed),
        **after_few_steps(seed, reader),
    }
    next_word = {
        "next": train(target_mask, next_words(seed), seed),
        "next_one": train(target_mask, next_words(seed, one=True), seed),
    }
    found |= {name: correct(write(model, NUMBER)) for name, model in asked.items()}
    found |= {n: correct(write(m, NUMBER, ask=None)) for n, m in next_word.items()}
    return {name: round(share, 4) for name, share in found.items()}


@sweep(seed=range(9), steps=LONGER, texts=NUMBER, share=SHARE)
def writers_longer(seed: int) -> dict[str, float]:
    """Train the model that fills gaps for five times the steps; see :func:`writers`."""
    reader = train(key_mask, gap_batches(seed), seed, LONGER)
    found = {"kinds": right_kinds(reader), **asked_in_three_ways(reader)}
    return {name: round(share, 4) for name, share in found.items()}


def asked_in_three_ways(reader: TokenModel) -> dict[str, float]:
    """What a model that fills gaps writes: see :func:`writers`."""
    followed = write_between(reader, [LONGEST_SENTENCE] * NUMBER, ends=False)
    return {
        "gaps": correct(write(reader, NUMBER)),
        "gaps_between": correct(write_between(reader, lengths())),
        "gaps_followed": correct(followed),
    }


def after_few_steps(seed: int, reader: TokenModel) -> dict[str, TokenModel]:
    """Models after few steps on cut texts, by what they begin with."""
    begin = {"few_new": {}, "few_vectors": {"W_e": reader.W_e}}
    begin["few_all"] = reader.state_dict()
    return {
        name: train(
            key_mask,
            one_gap_batches(seed + OTHER_TEXTS, cut=True),
            seed,
            FEW,
            weights,
        )
        for name, weights in begin.items()
    }


def lengths() -> list[int]:
    """Numbers of words of held-out sentences, half of them with one clause."""
    pairs = [
        pair for n in CLAUSES for pair in held_out_pairs(n, NUMBER // len(CLAUSES))
    ]
    return [len(pair.source) for pair in pairs]


@torch.no_grad()
def right_kinds(model: TokenModel) -> float:
    """How often the best guess for one hidden word is a word of the right kind."""
    right = number = 0
    for pair in (pair for n in CLAUSES for pair in held_out_pairs(n, 100)):
        ids = torch.tensor([*SOURCE.encode(pair.source), EOS])
        hidden = torch.eye(len(ids), dtype=torch.bool)[:-1]  # (T, T + 1)
        logits = model(ids.masked_fill(hidden, MASK))[hidden]  # (T, V)
        best = [SOURCE.words[i] for i in token_log_probs(logits[:, :MASK]).argmax(-1)]
        right += sum(map(same_kind, best, pair.source))
        number += len(pair.source)
    return right / number


def same_kind(one: str, other: str) -> bool:
    """Whether two words have the same kind; *and* has one of its own."""
    return one == other or kind_of(one) == kind_of(other) is not None
