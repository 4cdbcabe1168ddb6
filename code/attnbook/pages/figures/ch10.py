"""Figures, tables and exercises of chapter 10."""

from __future__ import annotations

from collections.abc import Sequence
from statistics import fmean

import matplotlib.pyplot as plt
import torch
from matplotlib.figure import Figure
from torch import Tensor, nn

from attnbook.analysis.maps import attention_maps
from attnbook.core import results
from attnbook.core.vocabulary import BOS
from attnbook.decoding.greedy_search import greedy
from attnbook.models.transformer import Transformer
from attnbook.pages.exercises.checking import register
from attnbook.pages.style import COLOURS, INK, TEXT_COLOURS, label_lines
from attnbook.toy.data import TARGET, make_batch
from attnbook.toy.language import Pair

GREY = "#8C959F"


# What a word costs


def cost_figure() -> Figure:
    """Draw milliseconds a word by its place: with a cache, or all computed again."""
    stored = results.load("decode_cost")
    lines = {
        "recomputed": (stored["recomputed"]["1"], GREY),
        "with cache": (stored["cached"]["1"], COLOURS["target"]),
    }
    fig, ax = plt.subplots(figsize=(5.5, 3.0))
    for label, (times, colour) in lines.items():
        places = [int(n) for n in times]
        ax.plot(places, [*times.values()], marker="o", color=colour, label=label)
    ax.set(xlabel="words so far", ylabel="ms for the last word", ylim=(0, None))
    label_lines(ax)
    return fig


def print_cost() -> None:
    """Print what the cache saves, and what it costs at larger batches."""
    stored = results.load("decode_cost")
    print(f"{stored['machine']}; milliseconds, and megabytes kept")
    again, all_logits = (
        stored[name]["1"] for name in ("recomputed", "recomputed_all_logits")
    )
    print(f"{'words so far':26}{''.join(n.rjust(9) for n in again)}")
    print(f"{'1 sentence, recomputed':26}{_numbers(again)}")
    print(f"{'    logits of all words':26}{_numbers(all_logits)}")
    for b, times in stored["cached"].items():
        plural = "" if b == "1" else "s"
        print(f"{f'{b} sentence{plural}, with cache':26}{_numbers(times)}")
        print(f"{'    MB':26}{_numbers(stored['cache_mb'][b])}")
    kept, n = stored["cached"]["1"], [*again][-1]
    print(
        f"word {n}, recomputed: {again[n] / kept[n]:.1f} times as long as with cache, "
        f"{all_logits[n] / kept[n]:.1f} with all logits"
    )


def _numbers(entries: dict[str, float]) -> str:
    return "".join(f"{x:9.1f}" for x in entries.values())


# Where it looks


@torch.no_grad()
def decoding_frames(
    model: Transformer, pair: Pair
) -> tuple[list[Figure], list[str], list[str]]:
    """Draw, step by step, where the decoder looks: in the source, in what it has said.

    Args:
        model: Trained.
        pair: A sentence of the toy language.

    Returns:
        For each step of greedy decoding a figure, a caption and an alternative text.
    """
    src = make_batch([pair]).src
    said = greedy(model, src, max_len=len(pair.target) + 2)  # (1, T)
    read = torch.cat([torch.tensor([[BOS]]), said[:, :-1]], dim=1)
    maps = attention_maps(model, src, read)
    cross, own = (
        torch.stack([w for name, w in maps.items() if name.endswith(end)])
        .mean(dim=(0, 2))[0]
        .tolist()
        for end in ("cross_attention", "decoder.0.self_attention")
    )
    words = [*pair.source, "<eos>"]
    target = [TARGET.words[i] for i in [BOS, *said[0].tolist()]]
    figures, captions, alts = [], [], []
    for t in range(said.shape[1]):
        keys = target[: t + 1]
        figures.append(_decoding_frame(words, cross[t], keys, own[t], said.shape[1]))
        j = max(range(len(words)), key=cross[t].__getitem__)
        captions.append(
            f"Position {t}: it has read {' '.join(keys)}, looks at {words[j]} "
            f"({cross[t][j]:.2f}), and says {target[t + 1]}."
        )
        looks = ", ".join(f"{w} {a:.2f}" for w, a in zip(words, cross[t], strict=True))
        own_looks = ", ".join(
            f"{w} {a:.2f}" for w, a in zip(keys, own[t][: t + 1], strict=True)
        )
        alts.append(f"Weights on the source: {looks}. On its own words: {own_looks}.")
    return figures, captions, alts


def _decoding_frame(
    words: list[str],
    cross: list[float],
    keys: list[str],
    own: list[float],
    rows: int,
) -> Figure:
    fig, axes = plt.subplots(1, 2, figsize=(5.5, 1.1 + 0.32 * rows))
    sides = (words, cross, "source"), (keys, own[: len(keys)], "target")
    for ax, (names, weights, role) in zip(axes, sides, strict=True):
        ax.barh(range(len(names)), weights, color=COLOURS[role])
        ax.set_yticks(range(len(names)), names, color=TEXT_COLOURS[role])
        ax.set(xlim=(0, 1), xticks=(0, 1), ylim=(max(rows, len(words)) - 0.5, -0.5))
        ax.set(title={"source": "source", "target": "its own words"}[role])
        ax.set(xlabel="weight")
        ax.tick_params(length=0)
    return fig


# Beams


def print_beams() -> None:
    """Print what beams find where greedy does not: ``beams``, means over seeds."""
    stored = results.load("beams")
    runs, steps = stored["runs"], f"{stored['steps']} steps"
    print(f"{steps:20}{'faultless, %':22}more probable than greedy, %")
    clauses = "".join(f"{n} clauses".rjust(11) for n in (3, 4))
    print(f"{'':16}{clauses}{clauses}")
    print(f"{'greedy':16}{_means(runs, 'greedy_exact')}")
    for width, alpha in dict.fromkeys((run["width"], run["alpha"]) for run in runs):
        if width == 1:  # greedy again
            continue
        some = [run for run in runs if (run["width"], run["alpha"]) == (width, alpha)]
        cells = _means(some, "exact") + _means(some, "better")
        print(f"{f'W = {width}, α = {alpha:g}':16}{cells}")


def _means(runs: Sequence[dict], entry: str) -> str:
    """Means over seeds in per cent, at three and four clauses."""
    means = (
        fmean(100 * run[entry] for run in runs if run["clauses"] == clauses)
        for clauses in (3, 4)
    )
    return "".join(f"{mean:11.1f}" for mean in means)


# Chance


def chance_figure(panels: dict[str, Tensor], words: Sequence[str]) -> Figure:
    """Draw distributions over some words below each other.

    Args:
        panels: For each title the probabilities, (V,).
        words: The V words.
    """
    fig, axes = plt.subplots(
        len(panels), sharex=True, figsize=(5.5, 1.25 * len(panels))
    )
    for ax, (title, p) in zip(axes, panels.items(), strict=True):
        ax.bar(range(len(words)), p.tolist(), color=COLOURS["target"])
        ax.text(len(words) - 0.5, 0.92, title, ha="right", va="top", color=INK)
        ax.set(ylim=(0, 1), yticks=(0, 1))
        ax.tick_params(axis="x", length=0)
    axes[-1].set_xticks(range(len(words)), words, color=TEXT_COLOURS["target"])
    fig.supylabel("probability", size="medium")
    return fig


# Exercises


def _cached(n_layers: int, d_model: int, s: int, t: int) -> int:
    return 2 * n_layers * d_model * (s + t)


register(
    "ex10_cached",
    reference=_cached,
    inputs=lambda: [(6, 512, 20, 10), (2, 64, 7, 1), (1, 8, 3, 0)],
    hint="Which keys and values does each decoder layer keep, and how wide are they "
    "with all heads together?",
    mistakes=[
        (
            lambda n, d, s, t: n * d * (s + t),
            "Keys are kept, and values as well.",
        ),
        (
            lambda n, d, s, t: 2 * n * d * t,
            "The source's keys and values are kept too, once a sentence.",
        ),
        (
            lambda n, d, s, t: 2 * d * (n * t + s),
            "Each layer makes keys and values of the source of its own.",
        ),
        (
            lambda n, d, s, t: 2 * d * (s + t),
            "Each layer keeps its own.",
        ),
    ],
)


def _recompute(model: nn.Module, src: Tensor, length: int, place: int = -1) -> Tensor:
    said = torch.full((len(src), 1), BOS)
    for _ in range(length):
        word = model(src, said)[:, place].argmax(-1)
        said = torch.cat([said, word[:, None]], dim=1)
    return said


def _models_and_sources() -> list[tuple[nn.Module, Tensor, int]]:
    torch.manual_seed(0)
    model = Transformer(12, d_model=16, n_heads=2, n_layers=1, d_ff=32).eval()
    # Untrained and tied, it would say the word that it has read, for ever.
    model.out.weight = nn.Parameter(torch.randn(12, 16))
    g = torch.Generator().manual_seed(0)
    sizes = ((2, 3, 4), (1, 5, 6))  # B, S, words to say
    return [
        (model.requires_grad_(False), torch.randint(3, 12, (b, s), generator=g), t)
        for b, s, t in sizes
    ]


register(
    "ex10_last_place",
    reference=lambda model, src, length: _recompute(model, src, length)[:, 1:],
    inputs=_models_and_sources,
    hint="Which row of the logits predicts the word that is not yet there?",
    mistakes=[
        (
            lambda model, src, length: _recompute(model, src, length, 0)[:, 1:],
            "Place 0 predicts the first word, each time anew.",
        ),
        (
            lambda model, src, length: _recompute(model, src, length),
            "BOS is read, and not said: leave it out of the result.",
        ),
        (
            lambda model, src, length: _recompute(model, src, length - 1)[:, 1:],
            "One word is missing at the end.",
        ),
    ],
)


def _beam_step(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    place = (log_p[:, None] + steps).flatten().topk(len(log_p)).indices
    return place // steps.shape[1], place % steps.shape[1]


def _each_its_own(log_p: Tensor, steps: Tensor) -> tuple[Tensor, Tensor]:
    return torch.arange(len(log_p)), (log_p[:, None] + steps).argmax(-1)


def _beginnings() -> list[tuple[Tensor, Tensor]]:
    g = torch.Generator().manual_seed(1)
    rows = torch.tensor([[0.05, 0.05, 0.6, 0.3], [0.5, 0.4, 0.05, 0.05]])
    drawn = torch.randn(3, 6, generator=g).log_softmax(-1)
    return [
        (torch.tensor([0.4, 0.6]).log(), rows.log()),
        (torch.tensor([0.2, 0.5, 0.1]).log(), drawn),
    ]


register(
    "ex10_beam_step",
    reference=_beam_step,
    inputs=_beginnings,
    hint="Add each beginning's log-probability to its row, and look for the W best in "
    "the whole table.",
    mistakes=[
        (
            _each_its_own,
            "Each beginning has got one continuation; the best W may have one parent.",
        ),
        (
            lambda log_p, steps: _beam_step(torch.zeros_like(log_p), steps),
            "The beginnings are not equally probable: add their log-probabilities.",
        ),
        (
            lambda log_p, steps: _beam_step(log_p, steps)[::-1],
            "First the beginnings, then the words.",
        ),
        (
            lambda log_p, steps: _beam_step(log_p, steps * log_p[:, None].neg()),
            "Logarithms of probabilities are added, not multiplied.",
        ),
    ],
)
