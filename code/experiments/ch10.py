"""Chapter 10: what beams and an exact search find, and what a step costs."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from itertools import product
from statistics import median

import torch
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS
from attnbook.data.batching import pad
from attnbook.decoding.beam import beam_search
from attnbook.decoding.scoring import log_probability
from attnbook.decoding.steps import select_rows, token_log_probs
from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from attnbook.translation.bleu_score import corpus_scores, paired_bootstrap
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import max_output_len
from attnbook.translation.translator import Translator
from experiments.registry import experiment

# What a decoding step costs, with and without a key-value cache

VOCAB_SIZE = 37_000  # about that of the paper's English-German model
SOURCE_LENGTH = 32
LENGTHS = (1, 32, 64, 128, 256)
BATCHES = (1, 8, 32)
REPEATS = 9


@torch.no_grad()
@experiment
def decode_cost() -> dict:
    """Time token n after n − 1 tokens: the paper's base model with random weights.

    Returns:
        "parameters"; "source": length of the sources; "cached" and "recomputed": for
        each batch size the median milliseconds of token n, by n; "cache_mb": size of
        the cache, by batch size and n. Recomputing is timed for batch size 1:
        "recomputed" computes logits of the last token only, as a step does;
        "recomputed_all_logits" of every token.
    """
    torch.manual_seed(0)
    model = Transformer(TransformerConfig(VOCAB_SIZE)).eval()
    cached = {str(b): _cached(model, b) for b in BATCHES}
    return {
        "parameters": sum(p.numel() for p in model.parameters()),
        "source": SOURCE_LENGTH,
        "repeats": REPEATS,
        "cached": {b: times for b, (times, _) in cached.items()},
        "cache_mb": {b: sizes for b, (_, sizes) in cached.items()},
        "recomputed": {"1": _recomputed(model, partial(last_logits, model))},
        "recomputed_all_logits": {"1": _recomputed(model, model.decode)},
    }


def last_logits(
    model: Transformer, tokens: Tensor, memory: Tensor, mask: Tensor
) -> Tensor:
    """Decode all tokens again, with the output layer at the last position only."""
    hook = model.out.register_forward_pre_hook(lambda _, args: args[0][:, -1:])
    try:
        return model.decode(tokens, memory, mask)
    finally:
        hook.remove()


def _cached(model: Transformer, b: int) -> tuple[dict, dict]:
    """Milliseconds and megabytes at each length, with the cache."""
    src, tokens = _ids(b, SOURCE_LENGTH), _ids(b, max(LENGTHS))
    state = model.start(src)
    times, sizes = {}, {}
    for n in range(1, max(LENGTHS) + 1):
        token, before = tokens[:, n - 1], state
        _, state = model.step(token, before)
        if n in LENGTHS:
            # A state is never modified, so the same step can be repeated.
            times[str(n)] = _milliseconds(lambda: model.step(token, before))  # noqa: B023
            sizes[str(n)] = round(_megabytes(state), 2)
    return times, sizes


def _recomputed(model: Transformer, decode: Callable[..., Tensor]) -> dict:
    """Milliseconds at each length, with all previous tokens recomputed."""
    src, tokens = _ids(1, SOURCE_LENGTH), _ids(1, max(LENGTHS))
    memory, mask = model.encode(src), key_mask(src)
    return {
        str(n): _milliseconds(lambda: decode(tokens[:, :n], memory, mask))  # noqa: B023
        for n in LENGTHS
    }


def _ids(b: int, length: int) -> Tensor:
    return torch.randint(4, VOCAB_SIZE, (b, length))


def _megabytes(state: TransformerState) -> float:
    kept = (kv for layer in state.layers for part in layer for kv in part)
    return sum(x.numel() * x.element_size() for x in kept) / 1e6


def _milliseconds(call: Callable[[], object]) -> float:
    """Median processor time of a call; unlike wall-clock time, without other load."""
    times = []
    for _ in range(REPEATS):
        start = time.process_time()
        call()
        times.append(1000 * (time.process_time() - start))
    return round(median(times), 2)


# The most probable of all translations, and what it is worth

MOST = 2_000  # prefixes kept at a step; a caption that needs more is left out
SAME = 1e-3  # nats by which rounding may change a log-probability
BATCH = 32
EXACT = "exact search"
BEAMS = {  # width, α
    "greedy": (1, 0.0),
    "beam of 5, α = 0": (5, 0.0),
    "beam of 5, α = 0.6": (5, 0.6),
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
    model, read = translator.model, []
    found = {name: beam_outputs(model, sources, *beam) for name, beam in BEAMS.items()}
    found[EXACT] = []
    for i, source in enumerate(sources):
        known = [found[name][i] for name in BEAMS]
        best, prefixes = search_all(model, torch.tensor([source]), known, MOST)
        found[EXACT].append(best)
        read.append(prefixes)
        if i % 100 == 0:
            print(
                f"  {i}: {prefixes} prefixes, settled: {best is not None}", flush=True
            )
    settled = [i for i, best in enumerate(found[EXACT]) if best]
    ways = {name: [outputs[i] for i in settled] for name, outputs in found.items()}
    references = [both.target[i] for i in settled]
    read = sorted(read[i] for i in settled)
    return {
        "captions": len(sources),
        "most": MOST,
        "settled": len(settled),
        "empty": sum(map(is_empty, ways[EXACT])),
        "found": {name: times_found(ways[name], ways[EXACT]) for name in BEAMS},
        "prefixes": {"median": read[len(read) // 2], "largest": read[-1]},
        "ways": {
            name: describe(translator, outputs, references)
            for name, outputs in ways.items()
        },
        "by_length": by_length(
            [len(source) - 1 for source in sources],
            [best is not None for best in found[EXACT]],
            [*map(is_empty, found[EXACT])],
        ),
    }


def times_found(outputs: Sequence[Found], best: Sequence[Found]) -> int:
    """How often a way of decoding found a translation as probable as the best one."""
    pairs = zip(outputs, best, strict=True)
    return sum(log_p > most - SAME for (log_p, _), (most, _) in pairs)


def is_empty(found: Found | None) -> bool:
    """Whether a translation was found, and has no token but EOS."""
    return found is not None and found[1] == [EOS]


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
    for group in of_like_length(sources):
        src = pad([sources[i] for i in group])
        limits = [max_output_len(len(sources[i])) for i in group]
        ids = beam_search(model, src, limits, width, alpha).ids
        log_p = log_probability(model, src, ids[:, 0]).tolist()
        for i, score, row in zip(group, log_p, ids[:, 0].tolist(), strict=True):
            found[i] = score, row[: row.index(EOS) + 1]
    return [found[i] for i in range(len(sources))]


def of_like_length(sources: Sequence[list[int]]) -> Iterator[list[int]]:
    """Indices of the sources in batches, from the shortest to the longest."""
    order = sorted(range(len(sources)), key=lambda i: len(sources[i]))
    for start in range(0, len(order), BATCH):
        yield order[start : start + BATCH]


def by_length(lengths: Sequence[int], *flags: Sequence[bool]) -> list[list[int]]:
    """For each length: itself, how many captions have it, and how many of them flags.

    Args:
        lengths: Of each caption the number of English subwords.
        flags: Each holds for each caption whether something is true of it.
    """
    counts: dict[int, list[int]] = {}
    for length, *true in zip(lengths, *flags, strict=True):
        old = counts.get(length, [0] * (1 + len(flags)))
        counts[length] = [a + b for a, b in zip(old, (1, *true), strict=True)]
    return [[length, *counts[length]] for length in sorted(counts)]


# Wider and wider beams without a length penalty, and the exact search at the end

CAPTIONS = 300
WIDTHS = (1, 2, 3, 5, 8, 12)
COMPARED = ((2, 1), (2, 12))


@experiment
def without_penalty() -> dict:
    """Decode the first validation captions with α = 0, more and more thoroughly.

    Returns:
        "captions"; "runs": by width what :func:`scores` finds; "comparisons": pairs of
        widths with the p-value of a paired bootstrap; "settled": captions whose exact
        search stayed within its limit; "ways": :func:`scores` of these alone, for
        greedy decoding, the widest beam and the exact search.
    """
    translator = Translator()
    source, wanted = (x[:CAPTIONS] for x in load_texts(translator.config, "val"))
    sources = [[*translator.subwords.encode(text), EOS] for text in source]
    model, found, runs = translator.model, {}, []
    for width in WIDTHS:
        found[width] = beam_outputs(model, sources, width, alpha=0.0)
        runs.append({"width": width, **scores(translator, found[width], wanted)})
        print(f"  {runs[-1]}", flush=True)
    ways = {"greedy": found[1], f"beam of {WIDTHS[-1]}": found[WIDTHS[-1]]}
    known = zip(*found.values(), strict=True)
    best = [
        search_all(model, torch.tensor([ids]), some, MOST)[0]
        for ids, some in zip(sources, known, strict=True)
    ]
    settled = [i for i, one in enumerate(best) if one]
    references = [wanted[i] for i in settled]
    texts = {w: [translator.subwords.decode(ids) for _, ids in found[w]] for w in found}
    return {
        "captions": len(source),
        "runs": runs,
        "comparisons": [
            {
                "widths": pair,
                **paired_bootstrap(*map(texts.get, pair), wanted)._asdict(),
            }
            for pair in COMPARED
        ],
        "settled": len(settled),
        "ways": {
            name: scores(translator, [outputs[i] for i in settled], references)
            for name, outputs in {**ways, EXACT: best}.items()
        },
    }


def scores(
    translator: Translator, outputs: Sequence[Found], references: Sequence[str]
) -> dict[str, float]:
    """What ``describe`` finds, and the factor of BLEU that punishes short outputs."""
    texts = [translator.subwords.decode(ids) for _, ids in outputs]
    ratio = corpus_scores(texts, references).length_ratio
    brevity = round(min(1.0, math.exp(1 - 1 / ratio)), 4)
    return {**describe(translator, outputs, references), "brevity": brevity}


# The same beams on the captions that chose nothing

PENALTIES = {
    "shipped": (0.0, 0.6, 1.4),
    "distilled": (0.0, 0.6),
    "german-english": (0.0, 0.6),
}
"""The exponents of the length penalty to try with each translator."""
OTHER_WIDTHS = (2, 5, 12)


@experiment
def other_captions() -> dict:
    """Compare beams with greedy decoding on the validation captions after the first.

    Returns:
        "runs": by translator, α and width BLEU of the beam, that of greedy decoding
        ("other"), the "p_value" of a paired bootstrap, and the length of the beam's
        outputs relative to the references, in words.
    """
    runs = []
    for name, alphas in PENALTIES.items():
        translator = Translator() if name == "shipped" else Translator(name)
        texts = load_texts(replace(translator.config, data="multi30k"), "val")
        source, wanted = (x[CAPTIONS:] for x in texts)
        greedy_ones = translator(source, 1)
        for alpha, width in product(alphas, OTHER_WIDTHS):
            outputs = translator(source, width, alpha)
            found = paired_bootstrap(outputs, greedy_ones, wanted)._asdict()
            words, expected = (
                sum(len(text.split()) for text in texts) for texts in (outputs, wanted)
            )
            runs.append(
                {
                    "translator": name,
                    "alpha": alpha,
                    "width": width,
                    "captions": len(source),
                    "length": round(words / expected, 4),
                    **{entry: round(value, 4) for entry, value in found.items()},
                }
            )
            print(f"  {runs[-1]}", flush=True)
    return {"runs": runs}


# Which words of the two examples can the translator have learned from its captions?

ENGLISH = ("waiting for", "waiting at", "waiting at the station", "beekeeper")
WAIT = r"warte(?:n|t|nd\w*|te\w*)?"  # forms of the verb, not Wartezimmer
GERMAN = {
    "warten auf": rf"{WAIT} auf",
    "warten auf dem, der, einem, einer": rf"{WAIT} auf (?:dem|der|einem|einer)",
    "warten an, am": rf"{WAIT} a[nm]",
    "Bahnhof": "bahnhof",
    "Imker": "imker",
}


@experiment
def waiting_for() -> dict:
    """Count the training captions with some words in them.

    Returns:
        "captions"; "empty": how many have no German text; "english" and "german":
        captions by what they contain.
    """
    both = load_texts(Translator().config, "train")
    return {
        "captions": len(both.source),
        "empty": sum(not text.strip() for text in both.target),
        "english": count(both.source, {words: words for words in ENGLISH}),
        "german": count(both.target, GERMAN),
    }


def count(texts: Sequence[str], patterns: dict[str, str]) -> dict[str, int]:
    """How many texts contain each pattern as whole words, in capitals or not."""
    return {
        name: sum(
            re.search(rf"\b{pattern}\b", t, re.IGNORECASE) is not None for t in texts
        )
        for name, pattern in patterns.items()
    }
