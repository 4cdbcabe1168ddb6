"""Beam search against greedy decoding, with half-trained models."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

from torch import Tensor, nn

from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.scoring import log_probability
from attnbook.toy.data import TARGET, held_out_pairs, make_batch
from attnbook.toy.language import Pair
from attnbook.toy.models import toy_transformer
from attnbook.toy.training import train_toy_model
from experiments.registry import experiment

STEPS = 350
SEEDS = (0, 1, 2)
N_SENTENCES = 256
SETTINGS = ((1, 0.6), (2, 0.6), (4, 0.6), (8, 0.6), (4, 0.0))  # width, alpha


def compare_with_greedy(
    model: nn.Module, pairs: Sequence[Pair], width: int, alpha: float
) -> dict[str, float]:
    """Compare the best hypothesis of beam search with the greedy output."""
    batch = make_batch(pairs)
    max_len = batch.tgt_out.shape[1] + 1
    best = beam_search(model, batch.src, max_len, width, alpha).ids[:, 0]
    first = greedy(model, batch.src, max_len)
    log_p, greedy_log_p = (log_probability(model, batch.src, x) for x in (best, first))
    gain = log_p - greedy_log_p
    found = {
        "exact": _exact_match(best, pairs),
        "greedy_exact": _exact_match(first, pairs),
        "better": (gain > 1e-4).float().mean().item(),
        "worse": (gain < -1e-4).float().mean().item(),
        "log_p": log_p.mean().item(),
        "greedy_log_p": greedy_log_p.mean().item(),
    }
    return {name: round(x, 4) for name, x in found.items()}


def _exact_match(outputs: Tensor, pairs: Sequence[Pair]) -> float:
    rows = zip(outputs.tolist(), pairs, strict=True)
    return sum(tuple(TARGET.decode(row)) == p.target for row, p in rows) / len(pairs)


@experiment
def beams() -> dict:
    """Train the toy Transformer for too few steps, and decode with several beams.

    Returns:
        "runs": for each seed, number of clauses, width and alpha the entries of
        :func:`compare_with_greedy`.
    """
    runs = []
    for seed in SEEDS:
        model, _ = train_toy_model(toy_transformer, seed, STEPS)
        for clauses, (width, alpha) in product((1, 2, 3, 4), SETTINGS):
            about = {"seed": seed, "clauses": clauses, "width": width, "alpha": alpha}
            pairs = held_out_pairs(clauses, N_SENTENCES)
            runs.append({**about, **compare_with_greedy(model, pairs, width, alpha)})
            print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "sentences": N_SENTENCES, "runs": runs}
