"""What label smoothing does where the right probabilities are known."""

from __future__ import annotations

from itertools import product

import torch
from torch import Tensor, nn
from torch.nn import functional as F

CONTEXTS, WORDS = 20, 50
SPREAD = 2.0  # deviation of the logits that the language is drawn from
STEPS, BATCH, RATE = 2000, 256, 0.03
FEW = 1000  # pairs, where they are few: fifty for each context
AMOUNTS = (0.0, 0.1, 0.2, 0.3)
SEEDS = (0, 1, 2, 3, 4)


def language() -> Tensor:
    """Draw a language: how likely each of 50 words is after each of 20 contexts.

    Returns:
        (CONTEXTS, WORDS), float64; each row sums to 1.
    """
    g = torch.Generator().manual_seed(0)
    scores = torch.randn(CONTEXTS, WORDS, generator=g, dtype=torch.float64)
    return (SPREAD * scores).softmax(-1)


def sample(p: Tensor, number: int, g: torch.Generator) -> tuple[Tensor, Tensor]:
    """Draw contexts, all alike, and a word after each: two of shape (number,)."""
    contexts = torch.randint(len(p), (number,), generator=g)
    return contexts, torch.multinomial(p[contexts], 1, generator=g).squeeze(-1)


def judge(p: Tensor, log_q: Tensor) -> dict[str, float]:
    """Judge a model by the language itself, not by a sample.

    Args:
        p: What is true, (CONTEXTS, WORDS).
        log_q: What the model says, the logarithm, of the same shape.

    Returns:
        "perplexity": exp of the expected -log q; "accuracy": how often its first
        choice would be right.
    """
    likely = torch.where(p > 0, p * log_q, 0.0)  # p = 0 counts as nothing
    choice = log_q.argmax(-1, keepdim=True)
    return {
        "perplexity": (-likely.sum(-1)).mean().exp().item(),
        "accuracy": p.gather(-1, choice).mean().item(),
    }


def smoothed(p: Tensor, amount: float) -> Tensor:
    """What a model is best to say that is trained on smoothed labels for ever."""
    return (1 - amount) * p + amount / p.shape[-1]


def learn(p: Tensor, amount: float, seed: int, few: int | None) -> Tensor:
    """Train a table of logits, from fresh samples or from few, again and again.

    Args:
        p: The language.
        amount: ε of label smoothing.
        seed: Decides the samples.
        few: Number of samples that there are; None: fresh ones in each step.

    Returns:
        Log-probabilities, (CONTEXTS, WORDS).
    """
    g = torch.Generator().manual_seed(seed)
    table = nn.Parameter(torch.zeros_like(p))
    adam = torch.optim.Adam([table], lr=RATE)
    known = sample(p, few, g) if few else None
    for step in range(STEPS):
        adam.param_groups[0]["lr"] = RATE * (1 - step / STEPS)
        contexts, words = known or sample(p, BATCH, g)
        if known:
            chosen = torch.randint(few, (BATCH,), generator=g)
            contexts, words = contexts[chosen], words[chosen]
        loss = F.cross_entropy(table[contexts], words, label_smoothing=amount)
        adam.zero_grad()
        loss.backward()
        adam.step()
    return table.detach().log_softmax(-1)


def smoothing_known() -> dict:
    """Train with four amounts of smoothing, on fresh samples and on few.

    Returns:
        "best": perplexity and accuracy of the language itself; "limit": by amount,
        those of :func:`smoothed`; "runs": for each kind of samples, amount and seed.
    """
    p, runs = language(), []
    for few, amount, seed in product((None, FEW), AMOUNTS, SEEDS):
        found = judge(p, learn(p, amount, seed, few))
        about = {"samples": few or "fresh", "smoothing": amount, "seed": seed}
        runs.append({**about, **{k: round(v, 4) for k, v in found.items()}})
        print(f"  {runs[-1]}", flush=True)
    return {
        "contexts": CONTEXTS,
        "words": WORDS,
        "steps": STEPS,
        "batch": BATCH,
        "best": judge(p, p.log()),
        "limit": {str(a): judge(p, smoothed(p, a).log()) for a in AMOUNTS},
        "runs": runs,
    }
