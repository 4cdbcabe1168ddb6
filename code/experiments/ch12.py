"""Chapter 12: Multi30k counted, label smoothing, a toy ablation, probes.

The stored runs on Multi30k, ``multi30k_runs`` and ``multi30k_learning_rates``, were
collected by an older state of this repository: ``git checkout gpu-runs``.
"""

from __future__ import annotations

import random
import tempfile
from collections import Counter, defaultdict
from collections.abc import Callable, Sequence
from pathlib import Path
from statistics import fmean
from string import punctuation
from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.analysis.ibm_model1 import (
    TranslationTable,
    align_words,
    head_agreement,
    train_ibm_model1,
)
from attnbook.analysis.probes import fit_probe, layer_states, probe_accuracy
from attnbook.core.divergence import check_finite
from attnbook.core.vocabulary import EOS, UNK
from attnbook.data import multi30k
from attnbook.data.batching import (
    IdPair,
    id_batch,
    padding_share,
    pooled,
    token_batches,
)
from attnbook.data.subwords import Subwords
from attnbook.models.transformer import Transformer
from attnbook.models.variants import ablate
from attnbook.toy.data import held_out_pairs
from attnbook.translation.configs import config
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import Trainer, encode_pairs
from attnbook.translation.translator import Translator
from experiments.registry import experiment, sweep

# What Multi30k contains, and how much of its batches is padding

LANGUAGES = ("en", "de")
CONFIG = config("multi30k-cpu")
PUNCTUATION = punctuation + "„“”‚‘’–"  # the latter are not ASCII


@experiment
def multi30k_facts() -> dict:
    """Count sentences, words, characters, subwords, and the padding of four batchings.

    Returns:
        "sentences" by split; "rows" by language: see :func:`language_counts`;
        "subwords" and "fingerprint" of those trained on the training split alone;
        "longest": number of subwords of the longest sentence of either language;
        "padding" and "shown": see :func:`padding_by_method`.
    """
    texts = {
        split: {language: multi30k.sentences(split, language) for language in LANGUAGES}
        for split in multi30k.SPLITS
    }
    train, val = texts["train"], texts["val"]
    subwords = Subwords.train(train["en"] + train["de"], CONFIG.vocab_size)
    rows = {
        language: language_counts(train[language], val[language], subwords)
        for language in LANGUAGES
    }
    sides = [[subwords.encode(line) for line in train[name]] for name in LANGUAGES]
    pairs = [IdPair(*pair) for pair in zip(*sides, strict=True)]
    print(f"  {rows}", flush=True)
    return {
        "sentences": {split: len(texts[split]["en"]) for split in texts},
        "rows": rows,
        "subwords": len(subwords),
        "fingerprint": subwords.fingerprint(),
        "longest": max(len(ids) for ids in sides[0] + sides[1]),
        "batch_tokens": CONFIG.batch_tokens,
        **padding_by_method(pairs, CONFIG.batch_tokens),
    }


WORDS = ("committee", "rejected", "proposal", "you", "are", "man", "throws", "ball")
PIECES = ("omm", "itte", "ject")


@experiment
def caption_words() -> dict:
    """Count captions with some words, and with some subwords of one word.

    Returns:
        "words": by word the number of English training captions with it, in any case;
        "pieces": by subword the number of English training captions that have it when
        they are cut.
    """
    captions = multi30k.sentences("train", "en")
    subwords = Translator().subwords
    words, pieces = Counter(), Counter()
    for caption in captions:
        words.update({word.lower() for word in split_words(caption)} & {*WORDS})
        pieces.update({*subwords.pieces(caption)} & {*PIECES})
    return {
        "words": {word: words[word] for word in WORDS},
        "pieces": {piece: pieces[piece] for piece in PIECES},
    }


def language_counts(
    train: Sequence[str], val: Sequence[str], subwords: Subwords
) -> dict:
    """Counts of one language."""
    counts = Counter(word for line in train for word in split_words(line))
    held_out = [split_words(line) for line in val]
    unknown = [sum(word not in counts for word in line) for line in held_out]
    ids = [subwords.encode(line) for line in val]
    return {
        "words": counts.total(),
        "types": len(counts),
        "once": sum(number == 1 for number in counts.values()),
        "characters": len(set("".join(train))),
        "val_words": sum(map(len, held_out)),
        "val_unknown": sum(unknown),
        "val_sentences_unknown": sum(number > 0 for number in unknown),
        "val_unk": sum(i == UNK for line in ids for i in line),
        "per_sentence": {
            "words": round(fmean(len(line.split()) for line in train), 2),
            "subwords": round(fmean(len(subwords.encode(x)) for x in train), 2),
            "characters": round(fmean(len(line) for line in train), 2),
        },
    }


def split_words(line: str) -> list[str]:
    """Split at spaces and strip punctuation, so that *snow.* counts as *snow*."""
    return [bare for word in line.split() if (bare := word.strip(PUNCTUATION))]


def padding_by_method(
    pairs: Sequence[IdPair], batch_tokens: int, seed: int = 0
) -> dict:
    """Make the batches of one epoch in four ways, and measure the padding.

    The batch size is the mean number of pairs of token batches.
    """
    by_tokens = token_batches(pairs, batch_tokens, random.Random(seed))
    size = round(fmean(len(batch) for batch in by_tokens))
    shuffled = random.Random(seed).sample(pairs, len(pairs))
    ordered = sorted(shuffled, key=lambda pair: (len(pair.target), len(pair.source)))
    methods = {
        "random": [shuffled[i : i + size] for i in range(0, len(pairs), size)],
        "pooled": list(pooled(shuffled, size, random.Random(seed))),
        "sorted": [ordered[i : i + size] for i in range(0, len(pairs), size)],
        "tokens": by_tokens,
    }
    shares = {name: padding_share(batches) for name, batches in methods.items()}
    return {
        "pairs_per_batch": size,
        "padding": {name: round(share, 4) for name, share in shares.items()},
        "shown": {
            name: _lengths(_typical(batches, shares[name]))
            for name, batches in methods.items()
        },
    }


def _typical(batches: Sequence[list[IdPair]], share: float) -> list[IdPair]:
    """The batch whose fraction of padding is nearest to ``share``."""
    return min(batches, key=lambda batch: abs(padding_share([batch]) - share))


def _lengths(batch: Sequence[IdPair]) -> list[list[int]]:
    """Lengths of source and target, pair by pair, with ``EOS``."""
    return [[len([*side, EOS]) for side in (p.source, p.target)] for p in batch]


# Label smoothing with known probabilities


N_CONTEXTS, VOCAB_SIZE = 20, 50
LOGIT_STD = 2.0  # standard deviation of the logits of the true distribution
STEPS, BATCH, LEARNING_RATE = 2000, 256, 0.03
FEW_SAMPLES = 1000  # fifty per context
AMOUNTS = (0.0, 0.1, 0.2, 0.3)
SEEDS = (0, 1, 2, 3, 4)


def sample_language() -> Tensor:
    """Sample a language: the probability of each of 50 words in each of 20 contexts."""
    g = torch.Generator().manual_seed(0)
    logits = torch.randn(N_CONTEXTS, VOCAB_SIZE, generator=g, dtype=torch.float64)
    return (LOGIT_STD * logits).softmax(-1)


def sample_words(p: Tensor, number: int, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Sample contexts uniformly, and a word for each: two of shape (number,)."""
    contexts = torch.randint(len(p), (number,), generator=g)
    return contexts, torch.multinomial(p[contexts], 1, generator=g).squeeze(-1)


def evaluate_distribution(p: Tensor, log_q: Tensor) -> dict[str, float]:
    """Evaluate a model by the true distribution, without sampling."""
    expected = torch.where(p > 0, p * log_q, 0.0)  # p = 0 counts as 0
    choice = log_q.argmax(-1, keepdim=True)
    return {
        "perplexity": (-expected.sum(-1)).mean().exp().item(),
        "accuracy": p.gather(-1, choice).mean().item(),
    }


def smoothed(p: Tensor, amount: float) -> Tensor:
    """The optimum of training with smoothed labels on unlimited data."""
    return (1 - amount) * p + amount / p.shape[-1]


def train_logits(p: Tensor, amount: float, seed: int, n_samples: int | None) -> Tensor:
    """Train a table of logits, on new samples at each step or on a fixed few."""
    g = torch.Generator().manual_seed(seed)
    logits = nn.Parameter(torch.zeros_like(p))
    adam = torch.optim.Adam([logits], lr=LEARNING_RATE)
    training_set = sample_words(p, n_samples, g) if n_samples else None
    for step in range(STEPS):
        adam.param_groups[0]["lr"] = LEARNING_RATE * (1 - step / STEPS)
        contexts, words = training_set or sample_words(p, BATCH, g)
        if training_set:
            chosen = torch.randint(n_samples, (BATCH,), generator=g)
            contexts, words = contexts[chosen], words[chosen]
        loss = F.cross_entropy(logits[contexts], words, label_smoothing=amount)
        adam.zero_grad()
        loss.backward()
        adam.step()
    check_finite([logits])
    return logits.detach().log_softmax(-1)


TRUE = sample_language()


@sweep(
    samples=("fresh", FEW_SAMPLES),
    smoothing=AMOUNTS,
    seed=SEEDS,
    contexts=N_CONTEXTS,
    words=VOCAB_SIZE,
    steps=STEPS,
    batch=BATCH,
    best=evaluate_distribution(TRUE, TRUE.log()),
    limit={
        str(amount): evaluate_distribution(TRUE, smoothed(TRUE, amount).log())
        for amount in AMOUNTS
    },
)
def smoothing_known(samples: str | int, smoothing: float, seed: int) -> dict:
    """Train with some smoothing, on new samples or on a fixed few.

    Returns:
        The true "perplexity" and "accuracy". Stored once, beside the runs: those of the
        language itself ("best"), and by amount those of :func:`smoothed` ("limit").
    """
    number = None if samples == "fresh" else samples
    found = evaluate_distribution(TRUE, train_logits(TRUE, smoothing, seed, number))
    return {name: round(value, 4) for name, value in found.items()}


# Parts of the Transformer on the toy language


TOY_SEEDS = (0, 1, 2)
EPOCHS = 6
N_SENTENCES = 256
CHANGES: dict[str, dict] = {
    "as it is": {},
    "1 head": {"n_heads": 1},
    "8 heads": {"n_heads": 8},
    "no scale": {"without": "no_scale"},
    "no positions": {"without": "no_positions"},
    "no feed-forward": {"without": "no_feed_forward"},
    "pre-norm": {"norm_first": True},
    "no smoothing": {"smoothing": 0.0},
    "no dropout": {"dropout": 0.0},
}
"""Changes of the config "toy", or what its model is to be without."""


def train_variant(change: dict, seed: int) -> Trainer:
    """Train the toy config with some entries changed, or a part of its model gone."""
    entries = {name: value for name, value in change.items() if name != "without"}
    run = config("toy", seed=seed, max_epochs=EPOCHS, **entries)
    with tempfile.TemporaryDirectory() as folder:
        trainer = Trainer(run, Path(folder))
        ablate(trainer.model, change.get("without", "none"))
        trainer.train()
        trainer.close()  # its lock, before the folder is deleted
    return trainer


def greedy_exact_match(
    trainer: Trainer, clauses: int, number: int = N_SENTENCES
) -> float:
    """Exact match of greedy decoding on unseen sentences."""
    pairs = held_out_pairs(clauses, number)
    sources = [" ".join(pair.source) for pair in pairs]
    trainer.model.eval()
    outputs = beam_translate(trainer.model, trainer.subwords, sources, width=1)
    references = (" ".join(pair.target) for pair in pairs)
    return sum(o == r for o, r in zip(outputs, references, strict=True)) / number


@sweep(change=CHANGES, seed=TOY_SEEDS, epochs=EPOCHS, sentences=N_SENTENCES)
def toy_ablation(change: str, seed: int) -> dict:
    """Train a variant for as many epochs as all, and evaluate it.

    Returns:
        The validation loss in nats per subword, exact match on sentences of one and of
        two clauses, and the numbers of parameters and updates.
    """
    trainer = train_variant(CHANGES[change], seed)
    return {
        "validation_loss": round(trainer.validation_loss(), 4),
        "exact": {str(n): round(greedy_exact_match(trainer, n), 4) for n in (1, 2)},
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "updates": trainer.step,
    }


# The inside of the shipped model's encoder, and the alignment of its heads

SPLIT_SEEDS = (0, 1, 2)  # of the split into fitted and tested sentences
MIN_COUNT = 10  # occurrences of a label; rarer ones are left out
HEAD_SENTENCES = 300


class ProbeData(NamedTuple):
    """States at n positions of the validation sentences, with labels for probes."""

    states: list[Tensor]  # of each layer (n, D)
    sentence: Tensor  # (n,) index of the sentence
    labels: dict[str, Tensor]  # (n,) ids; -1 where there is none


@experiment
def multi30k_probes() -> dict:
    """Fit linear probes to every layer of the encoder, and score every cross head.

    Word alignments are those of IBM Model 1, learned from the training split and
    independent of the translation model.

    Returns:
        "probes": see :func:`probe_layers`; "heads", "mean" and "diagonal": see
        :func:`~attnbook.analysis.ibm_model1.head_agreement`.
    """
    translator = Translator()
    train, val = (
        encode_pairs(translator.subwords, load_texts(translator.config, split))
        for split in ("train", "val")
    )
    table = train_ibm_model1(train)
    data = collect_states(translator.model, val, table)
    probes = [
        {"label": name, "split": seed, **probe_layers(data, name, seed)}
        for name in data.labels
        for seed in SPLIT_SEEDS
    ]
    for found in probes:
        print(f"  {found}", flush=True)
    heads = head_agreement(translator.model, val[:HEAD_SENTENCES], table)
    return {
        "least": MIN_COUNT,
        "probes": probes,
        "head_sentences": HEAD_SENTENCES,
        "heads": [[round(x, 4) for x in row] for row in heads.heads],
        "mean": round(heads.mean, 4),
        "diagonal": round(heads.diagonal, 4),
    }


def collect_states(
    model: Transformer, pairs: Sequence[IdPair], table: TranslationTable
) -> ProbeData:
    """Run the encoder on one sentence at a time, so that there is no padding."""
    rows: list[list[Tensor]] = []
    sentence: list[int] = []
    labels: dict[str, list[int]] = {name: [] for name in LABELS}
    for number, pair in enumerate(pairs):
        layers = layer_states(model, id_batch([pair]).src)
        rows.append([x[0, :-1] for x in layers])  # without EOS
        sentence += [number] * len(pair.source)
        for name, make in LABELS.items():
            labels[name] += make(pair, table)
    states = [torch.cat(layer) for layer in zip(*rows, strict=True)]
    named = {name: torch.tensor(ids) for name, ids in labels.items()}
    return ProbeData(states, torch.tensor(sentence), named)


def rendered_by(pair: IdPair, table: TranslationTable) -> list[int]:
    """For each source subword the first target subword that renders it, or -1."""
    found = [-1] * len(pair.source)
    for target, j in zip(pair.target, align_words(pair, table), strict=True):
        if j is not None and found[j] == -1:
            found[j] = target
    return found


LABELS: dict[str, Callable[[IdPair, TranslationTable], list[int]]] = {
    "itself": lambda pair, _: list(pair.source),
    "the one before": lambda pair, _: [-1, *pair.source[:-1]],
    "the one after": lambda pair, _: [*pair.source[1:], -1],
    "its translation": rendered_by,
}
"""The labels of a source subword that probes predict."""


def probe_layers(data: ProbeData, label: str, seed: int) -> dict:
    """Fit probes on four fifths of the sentences, and test them on the others.

    Returns the accuracy "by_layer", that of the most frequent label for the subword
    ("by_subword") and overall ("chance"), and the number of positions ("places").
    """
    labels = data.labels[label]
    counts = torch.bincount(labels.clamp(min=0), minlength=1)
    real = (labels >= 0) & (counts[labels.clamp(min=0)] >= MIN_COUNT)
    number = int(data.sentence.max()) + 1
    tested = set(random.Random(seed).sample(range(number), number // 5))
    test = torch.tensor([s in tested for s in data.sentence.tolist()])
    fitted, test = real & ~test, real & test
    by_layer = [
        probe_accuracy(fit_probe(x[fitted], labels[fitted]), x[test], labels[test])
        for x in data.states
    ]
    most = labels[fitted].mode().values
    return {
        "by_layer": [round(share, 4) for share in by_layer],
        "by_subword": round(context_free_accuracy(data, labels, fitted, test), 4),
        "chance": round((labels[test] == most).double().mean().item(), 4),
        "places": int(test.sum()),
    }


def context_free_accuracy(
    data: ProbeData, labels: Tensor, fitted: Tensor, test: Tensor
) -> float:
    """Accuracy of predicting the most frequent label of each subword."""
    seen: dict[int, Counter] = defaultdict(Counter)
    own = data.labels["itself"]
    for subword, label in zip(
        own[fitted].tolist(), labels[fitted].tolist(), strict=True
    ):
        seen[subword][label] += 1
    usual = {subword: c.most_common(1)[0][0] for subword, c in seen.items()}
    pairs = zip(own[test].tolist(), labels[test].tolist(), strict=True)
    return fmean(usual.get(subword) == label for subword, label in pairs)
