"""Chapter 12: label smoothing, an ablation on a toy task.

The stored runs on Multi30k, ``multi30k_runs`` and ``multi30k_learning_rates``, were
collected by an older state of this repository: ``git checkout gpu-runs``.
"""

from __future__ import annotations

import tempfile
from itertools import product
from pathlib import Path

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from attnbook.core.divergence import check_finite
from attnbook.models.variants import ablate
from attnbook.toy.data import held_out_pairs
from attnbook.translation.configs import config
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.trainer import Trainer
from experiments.registry import experiment

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


@experiment
def smoothing_known() -> dict:
    """Train with four amounts of smoothing, on new samples and on a fixed few.

    Returns:
        "best": perplexity and accuracy of the language itself; "limit": by amount,
        those of :func:`smoothed`; "runs": for each kind of samples, amount and seed.
    """
    p, runs = sample_language(), []
    for n_samples, amount, seed in product((None, FEW_SAMPLES), AMOUNTS, SEEDS):
        found = evaluate_distribution(p, train_logits(p, amount, seed, n_samples))
        about = {"samples": n_samples or "fresh", "smoothing": amount, "seed": seed}
        runs.append({**about, **{k: round(v, 4) for k, v in found.items()}})
        print(f"  {runs[-1]}", flush=True)
    return {
        "contexts": N_CONTEXTS,
        "words": VOCAB_SIZE,
        "steps": STEPS,
        "batch": BATCH,
        "best": evaluate_distribution(p, p.log()),
        "limit": {
            str(a): evaluate_distribution(p, smoothed(p, a).log()) for a in AMOUNTS
        },
        "runs": runs,
    }


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


def train_variant(change: dict, seed: int, epochs: int = EPOCHS) -> Trainer:
    """Train the toy config with some entries changed, or a part of its model gone."""
    entries = {name: value for name, value in change.items() if name != "without"}
    run = config("toy", seed=seed, max_epochs=epochs, **entries)
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


@experiment
def toy_ablation() -> dict:
    """Train each variant with three seeds, all for as many epochs.

    Returns:
        "runs": for each change and seed the validation loss in nats per subword, exact
        match on sentences of one and of two clauses, and the numbers of parameters and
        updates.
    """
    runs = []
    for name, seed in product(CHANGES, TOY_SEEDS):
        found = measure_variant(CHANGES[name], seed)
        runs.append({"change": name, "seed": seed, **found})
        print(f"  {runs[-1]}", flush=True)
    return {"epochs": EPOCHS, "sentences": N_SENTENCES, "runs": runs}


def measure_variant(change: dict, seed: int) -> dict:
    """Train one variant, and evaluate it."""
    trainer = train_variant(change, seed)
    return {
        "validation_loss": round(trainer.validation_loss(), 4),
        "exact": {str(n): round(greedy_exact_match(trainer, n), 4) for n in (1, 2)},
        "parameters": sum(p.numel() for p in trainer.model.parameters()),
        "updates": trainer.step,
    }
