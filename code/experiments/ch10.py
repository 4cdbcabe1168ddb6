"""Chapter 10: what beams, samples and an exact search find, and what a step costs."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial
from itertools import product
from statistics import median

import torch
from sacrebleu.metrics import CHRF
from torch import Tensor, nn

from attnbook.core.vocabulary import BOS, EOS
from attnbook.data.batching import pad
from attnbook.decoding.beam import beam_search
from attnbook.decoding.greedy_search import greedy
from attnbook.decoding.sampling import sample
from attnbook.decoding.scoring import log_probability
from attnbook.decoding.steps import select_rows, token_log_probs
from attnbook.models.transformer import Transformer, TransformerState
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.masks import key_mask
from attnbook.toy.data import TARGET, held_out_pairs, make_batch
from attnbook.toy.language import Pair
from attnbook.toy.models import toy_transformer
from attnbook.toy.training import train_toy_model
from attnbook.translation.bleu_score import corpus_scores, paired_bootstrap
from attnbook.translation.corpora import load_texts
from attnbook.translation.evaluation import beam_translate, max_output_len
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


# Beam search against greedy decoding, with half-trained models

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

CAPTIONS = 300  # as many as multi30k_beams decodes, which has a penalty
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

CASES = {"shipped": (0.0, 0.6, 1.4), "distilled": (0.0,)}
"""Translators, and the exponents of the length penalty to try with each."""
OTHER_WIDTHS = (2, 5, 12)


@experiment
def other_captions() -> dict:
    """Compare beams with greedy decoding on the validation captions after the first.

    Returns:
        "runs": by translator, α and width BLEU of the beam, that of greedy decoding
        ("other"), the "p_value" of a paired bootstrap, and the length of the beam's
        outputs relative to the references, in words.
    """
    shipped, runs = Translator(), []
    source, wanted = (x[CAPTIONS:] for x in load_texts(shipped.config, "val"))
    translators = {"shipped": shipped, "distilled": Translator("distilled")}
    for name, alphas in CASES.items():
        greedy_ones = translators[name](source, 1)
        for alpha, width in product(alphas, OTHER_WIDTHS):
            outputs = translators[name](source, width, alpha)
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


# Is saying nothing more probable than the best translation that a beam finds?

WIDTH = 5
LONGEST = 45


@experiment
def silence() -> dict:
    """Compare the empty translation of each validation caption with the beam's best.

    The shipped translator searches with a beam of five and without a length penalty.

    Returns:
        "captions": their number; "silent": how many have a more probable empty
        translation than the best hypothesis; "longest" and "longest_silent": the same
        among those with the most English subwords; "by_length": for each number of
        English subwords, captions and silent ones; "beam_empty": how many outputs of
        the beam are empty.
    """
    translator = Translator()
    texts = load_texts(translator.config, "val").source
    sources = [[*translator.subwords.encode(text), EOS] for text in texts]
    sources.sort(key=len)
    found = beam_outputs(translator.model, sources, WIDTH, alpha=0.0)
    nothing = empty_log_probabilities(translator.model, sources)
    silent = [log_p > best for log_p, (best, _) in zip(nothing, found, strict=True)]
    return {
        "captions": len(sources),
        "width": WIDTH,
        "silent": sum(silent),
        "longest": LONGEST,
        "longest_silent": sum(silent[-LONGEST:]),
        "beam_empty": sum(map(is_empty, found)),
        "by_length": by_length([len(source) - 1 for source in sources], silent),
    }


def empty_log_probabilities(
    model: nn.Module, sources: Sequence[list[int]]
) -> list[float]:
    """The log-probability of saying nothing at all, for each source."""
    found: dict[int, float] = {}
    for group in of_like_length(sources):
        src = pad([sources[i] for i in group])
        nothing = torch.full((len(group), 1), EOS)
        log_p = log_probability(model, src, nothing).tolist()
        found |= zip(group, log_p, strict=True)
    return [found[i] for i in range(len(sources))]


# Which sample is most like the others, and is it better than the most probable one?

SAMPLES = 16
NUMBERS = (4, 16)
KINDS = {"temperature 1": {}, "top-p 0.9": {"top_p": 0.9}}


@experiment
def bayes_risk() -> dict:
    """Score minimum-Bayes-risk decoding on validation captions.

    Of a number of samples it takes the one with the greatest mean chrF against all, as
    if each of them were the reference.

    Returns:
        "scores": by way of decoding BLEU and chrF, cased.
    """
    translator, metric = Translator(), CHRF()
    both = load_texts(translator.config, "val")
    source, references = both.source[:CAPTIONS], both.target[:CAPTIONS]
    search = translator.model, translator.subwords, source
    alpha = translator.facts["alpha"]
    outputs = {
        "greedy": beam_translate(*search, 1, alpha),
        f"beam of {WIDTH}": beam_translate(*search, WIDTH, alpha),
    }
    for kind, options in KINDS.items():
        drawn = [draw(translator, text, options) for text in source]
        outputs[f"{kind}: one sample"] = [texts[0] for texts in drawn]
        for number in NUMBERS:
            name = f"{kind}: the most similar of {number}"
            outputs[name] = [most_similar(t[:number], metric) for t in drawn]
    scores = {}
    for name, texts in outputs.items():
        found = corpus_scores(texts, references)
        scores[name] = {"bleu": round(found.bleu, 2), "chrf": round(found.chrf, 2)}
        print(f"  {name}: {scores[name]}", flush=True)
    return {"captions": CAPTIONS, "scores": scores}


def draw(translator: Translator, text: str, options: dict) -> list[str]:
    """Sample translations of a caption, the same in every call."""
    src = pad([[*translator.subwords.encode(text), EOS]]).repeat(SAMPLES, 1)
    generator = torch.Generator().manual_seed(0)
    longest = max_output_len(src.shape[1])
    ids = sample(translator.model, src, longest, generator, **options)
    return [translator.subwords.decode(row) for row in ids.tolist()]


def most_similar(texts: Sequence[str], metric: CHRF) -> str:
    """The text with the greatest mean chrF against all; the first of several."""
    counts = [
        sum(metric.sentence_score(text, [other]).score for other in texts)
        for text in texts
    ]
    return texts[counts.index(max(counts))]


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
