"""Chapter 1: which source words the context holds, for a sentence that is typed."""

from __future__ import annotations

import math
from collections.abc import Mapping
from functools import partial

import torch
from torch import Tensor, nn

from attnbook.analysis.occlusion import context_changes
from attnbook.core import results
from attnbook.course.kit.explorers.charts import Axis, Bars, Series, numbers
from attnbook.course.kit.explorers.controls import TextBox
from attnbook.course.kit.explorers.explorer import explore
from attnbook.course.kit.explorers.views import View
from attnbook.toy.language import Pair, translate_by_rule

SENTENCES = (
    "the old farmer sees a bird and this young queen hears the big dog",
    "the old farmer sees a bird",
    "a bird sees the old farmer",
    "this kind horse sees this brave farmer and the young wizard follows this kind dog",
    "the dog chases the cat and the cat chases the dog",
    "a queen helps the child and a big robot paints this cat and a dog greets a king",
)
HALVES = ("reads left to right", "reads right to left")
CONTROLS = {"sentence": TextBox("sentence", SENTENCES[0], SENTENCES[1:])}


def explore_context(models: Mapping[str, nn.Module]) -> object:
    """Let the reader type a sentence; see :func:`~.explorer.explore`."""
    return explore(partial(context_view, models), CONTROLS)


def context_view(models: Mapping[str, nn.Module], sentence: str) -> View:
    """How much each word changes the two halves of each model's context."""
    pair = translate_by_rule(sentence.lower().rstrip(" ."))
    return changes_view(pair, halves_changed(models, pair))


def on_page(sentence: str) -> View:
    """The same for one of the sentences, as it was once computed and stored."""
    stored = results.load("context_sentences")["changes"][sentence]
    missing = (math.nan, math.nan)  # of a word that has no other of its class
    changes = {
        name: torch.tensor([row or missing for row in of])
        for name, of in stored.items()
    }
    return changes_view(translate_by_rule(sentence), changes)


def halves_changed(models: Mapping[str, nn.Module], pair: Pair) -> dict[str, Tensor]:
    """Changes of both halves of each model's context by word: (S, 2) each."""
    return {
        name: context_changes(model.encoder, pair, parts=2)[:-1]
        for name, model in models.items()
    }


def changes_view(pair: Pair, changes: Mapping[str, Tensor]) -> View:
    """What the changes say, and a chart for each model."""
    most = "; ".join(
        f"{name}: {pair.source[int(of.nan_to_num().mean(1).argmax())]}"
        for name, of in changes.items()
    )
    alt = " ".join(f"{name}: {_row(pair.source, of)}." for name, of in changes.items())
    alt = f"Relative changes of the halves, {' and '.join(HALVES)}. {alt}"
    return View(f"Largest change: {most}.", _charts(pair.source, changes), alt)


def _row(words: tuple[str, ...], changes: Tensor) -> str:
    """The changes in words, for those who cannot see them."""
    return ", ".join(
        f"{word} {one:.1f} and {other:.1f}"
        for word, (one, other) in zip(words, changes.tolist(), strict=True)
        if not math.isnan(one)
    )


def _charts(words: tuple[str, ...], changes: Mapping[str, Tensor]) -> tuple[Bars, ...]:
    """One for each model, with two bars for each word; the last one names the words."""
    highest = max(float(of.nan_to_num().max()) for of in changes.values())
    axis = Axis("change of c", 0, *numbers([max(1.2, 1.05 * highest)]), (0, 0.5, 1))
    last = [*changes][-1]
    return tuple(
        Bars(
            words if name == last else ("",) * len(words),
            axis,
            tuple(
                # Two digits, so that the last ones of a machine change no pixel.
                Series(
                    tuple(of[:, half].nan_to_num().round(decimals=2).tolist()),
                    label=HALVES[half] if number == 0 else "",
                    pale=half == 1,
                )
                for half in (0, 1)
            ),
            role="source",
            title=name,
            height=200 if name == last else 150,
        )
        for number, (name, of) in enumerate(changes.items())
    )
