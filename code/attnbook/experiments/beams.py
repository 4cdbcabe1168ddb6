"""Does a beam find better translations than greedy decoding? Half-trained models."""

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

STEPS = 350
SEEDS = (0, 1, 2)
TESTED = 256  # sentences
WAYS = ((1, 0.6), (2, 0.6), (4, 0.6), (8, 0.6), (4, 0.0))  # width, alpha


def compare(
    model: nn.Module, pairs: Sequence[Pair], width: int, alpha: float
) -> dict[str, float]:
    """Compare the first translation of a beam with the greedy one.

    Returns:
        "exact" and "greedy_exact": shares of faultless translations; "better" and
        "worse": shares of those that the model finds more, and less, probable than
        the greedy one; "log_p" and "greedy_log_p": means of log-probabilities.
    """
    batch = make_batch(pairs)
    longest = batch.tgt_out.shape[1] + 1
    best = beam_search(model, batch.src, longest, width, alpha).ids[:, 0]
    first = greedy(model, batch.src, longest)
    log_p, greedy_log_p = (log_probability(model, batch.src, x) for x in (best, first))
    more = log_p - greedy_log_p
    found = {
        "exact": _faultless(best, pairs),
        "greedy_exact": _faultless(first, pairs),
        "better": (more > 1e-4).float().mean().item(),
        "worse": (more < -1e-4).float().mean().item(),
        "log_p": log_p.mean().item(),
        "greedy_log_p": greedy_log_p.mean().item(),
    }
    return {name: round(x, 4) for name, x in found.items()}


def _faultless(said: Tensor, pairs: Sequence[Pair]) -> float:
    rows = zip(said.tolist(), pairs, strict=True)
    return sum(tuple(TARGET.decode(row)) == p.target for row, p in rows) / len(pairs)


def beams() -> dict:
    """Train the thread's Transformer for too few steps and decode with beams.

    Returns:
        "runs": for each seed, number of clauses, width and alpha what :func:`compare`
        returns.
    """
    runs = []
    for seed in SEEDS:
        model, _ = train_toy_model(toy_transformer, seed, STEPS)
        for clauses, (width, alpha) in product((1, 2, 3, 4), WAYS):
            about = {"seed": seed, "clauses": clauses, "width": width, "alpha": alpha}
            pairs = held_out_pairs(clauses, TESTED)
            runs.append({**about, **compare(model, pairs, width, alpha)})
            print(f"  {runs[-1]}", flush=True)
    return {"steps": STEPS, "sentences": TESTED, "runs": runs}
