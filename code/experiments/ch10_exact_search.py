"""The most probable of all translations, and what it is worth."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS
from attnbook.data.batching import pad
from attnbook.decoding.beam import beam_search
from attnbook.decoding.scoring import log_probability
from attnbook.decoding.steps import select_rows, token_log_probs
from attnbook.translation.bleu_score import corpus_scores
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import max_output_len
from attnbook.translation.translator import Translator
from experiments.registry import experiment

MOST = 2_000  # prefixes kept at a step; a caption that needs more is left out
BATCH, SAME = 32, 1e-3  # nats by which rounding may change a log-probability
EXACT = "exact search"
BEAMS = {  # width, α
    "greedy": (1, 0.0),
    "beam of 5, α = 0": (5, 0.0),
    "beam of 5, α = 0.6": (5, 0.6),
}


@experiment
def exact_search() -> dict:
    """Find the most probable translation of each validation caption, where it can be.

    Returns:
        "captions"; "most": prefixes that a step may keep; "settled": captions whose
        search stayed within; "empty": settled ones whose most probable translation is
        empty; "found": by way of decoding, how often it found the most probable one;
        "prefixes": median and largest number of prefixes that were read; "ways": BLEU,
        length compared with the reference, empty outputs and mean log-probability of
        the settled captions; "by_length": for each number of English subwords,
        captions, settled and empty ones.
    """
    translator = Translator()
    both = load_texts(translator.config, "val")
    sources = [[*translator.subwords.encode(text), EOS] for text in both.source]
    beams = {
        name: beam_outputs(translator.model, sources, *b) for name, b in BEAMS.items()
    }
    rows = []
    for i, source in enumerate(sources):
        known = [beams[name][i] for name in BEAMS]
        best, read = search_all(translator.model, torch.tensor([source]), known, MOST)
        outputs = {**{name: beams[name][i] for name in BEAMS}, EXACT: best}
        rows.append((i, len(source) - 1, outputs, read))
        if i % 100 == 0:
            print(f"  {i}: {read} prefixes, settled: {best is not None}", flush=True)
    settled = [row for row in rows if row[2][EXACT]]
    references = [both.target[row[0]] for row in settled]
    read = sorted(row[3] for row in settled)
    return {
        "captions": len(rows),
        "most": MOST,
        "settled": len(settled),
        "empty": sum(is_empty(row[2][EXACT]) for row in settled),
        "found": {
            name: sum(r[2][name][0] > r[2][EXACT][0] - SAME for r in settled)
            for name in BEAMS
        },
        "prefixes": {"median": read[len(read) // 2], "largest": read[-1]},
        "ways": {
            name: describe(translator, [row[2][name] for row in settled], references)
            for name in (*BEAMS, EXACT)
        },
        "by_length": _by_length(rows),
    }


Found = tuple[float, list[int]]  # log-probability and ids, EOS included


@torch.no_grad()
def search_all(
    model: nn.Module, src: Tensor, known: Sequence[Found], most: int
) -> tuple[Found | None, int]:
    """Find the most probable of all translations of a sentence, (1, S).

    A prefix whose log-probability is no better than that of a known translation can't
    become a better one, so it is dropped; all others are extended by every token.

    Args:
        model: As in :func:`~attnbook.decoding.beam.beam_search`.
        src: Source ids.
        known: Translations to begin with.
        most: Prefixes that a step may keep.

    Returns:
        The best translation, or None if a step had to keep more prefixes, and the
        number of prefixes that the model has read.
    """
    best = max(known, default=(-torch.inf, []))
    state, read = model.start(src), 0
    log_p, ids = torch.zeros(1), torch.tensor([[BOS]])
    for _ in range(max_output_len(src.shape[1])):
        logits, state = model.step(ids[:, -1], state)  # (n, V)
        read += len(ids)
        longer = log_p[:, None] + token_log_probs(logits)  # (n, V)
        end, i = longer[:, EOS].max(0)
        if end.item() > best[0]:
            best = end.item(), [*ids[i, 1:].tolist(), EOS]
        longer[:, EOS] = -torch.inf
        rows, tokens = (longer > best[0]).nonzero(as_tuple=True)
        if len(rows) == 0:
            return best, read
        if len(rows) > most:
            return None, read
        log_p, state = longer[rows, tokens], select_rows(state, rows)
        ids = torch.cat([ids[rows], tokens[:, None]], 1)  # (n, 1 + length)
    return best, read


def is_empty(found: Found) -> bool:
    """Whether a translation has no token but EOS."""
    return found[1] == [EOS]


def describe(
    translator: Translator, outputs: Sequence[Found], references: Sequence[str]
) -> dict[str, float]:
    """BLEU, length, empty outputs and log-probability of one way of decoding."""
    texts = [translator.subwords.decode(ids) for _, ids in outputs]
    scores = corpus_scores(texts, references)
    words, wanted = (sum(len(t.split()) for t in x) for x in (texts, references))
    return {
        "bleu": round(scores.bleu, 2),
        "length": round(words / wanted, 4),
        "empty": sum(map(is_empty, outputs)),
        "log_p": round(sum(log_p for log_p, _ in outputs) / len(outputs), 3),
    }


def beam_outputs(
    model: nn.Module, sources: Sequence[list[int]], width: int, alpha: float
) -> list[Found]:
    """The best hypothesis of each source, with its log-probability."""
    found: dict[int, Found] = {}
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for start in range(0, len(order), BATCH):
        group = order[start : start + BATCH]
        src = pad([sources[i] for i in group])
        limits = [max_output_len(len(sources[i])) for i in group]
        ids = beam_search(model, src, limits, width, alpha).ids
        log_p = log_probability(model, src, ids[:, 0]).tolist()
        for i, score, row in zip(group, log_p, ids[:, 0].tolist(), strict=True):
            found[i] = score, row[: row.index(EOS) + 1]
    return [found[i] for i in range(len(sources))]


def _by_length(rows: Sequence[tuple[int, int, dict, int]]) -> list[list[int]]:
    """For each length of the source: the length, captions, settled and empty ones."""
    counts: dict[int, list[int]] = {}
    for _, length, outputs, _ in rows:
        best = outputs[EXACT]
        new = 1, best is not None, best is not None and is_empty(best)
        old = counts.get(length, [0, 0, 0])
        counts[length] = [a + b for a, b in zip(old, new, strict=True)]
    return [[length, *counts[length]] for length in sorted(counts)]
