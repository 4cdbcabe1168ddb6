"""Figures and tables of appendix A1."""

from __future__ import annotations

from math import exp

from attnbook.core import results
from attnbook.course.kit.html_tables import Column, Spread, Table, spread, table
from attnbook.course.kit.tables import Value, pivot, stored_runs

# Writing

TRAININGS = {
    "gaps": ("gaps in whole texts: the reader", "full"),
    "gaps_followed": ("the reader, filling 16 gaps", "full"),
    "one_gap": ("one gap in a whole text", "full"),
    "cut_later": ("one gap in a cut text, not at its end", "full"),
    "cut": ("one gap at the end of a cut text", "full"),
    "next_one": ("one next token in each text", "causal"),
    "next": ("all next tokens: the writer", "causal"),
}
"""Rows of the table by their names in the stored result."""


def writers_table() -> Table:
    """How many texts are sentences, by training and mask: stored."""
    runs, longer = stored_runs("writers"), stored_runs("writers_longer")
    rows = [
        (trained, mask, _shares(runs, key), _shares(longer, key))
        for key, (trained, mask) in TRAININGS.items()
    ]
    columns = [
        "trained on, and how it writes",
        "mask in training",
        Column("300 steps", "%", "correct", digits=1),
        Column("1,500 steps", "%", "correct", digits=1),
    ]
    return table(columns, rows)


def _shares(runs: list[dict], key: str) -> Spread | None:
    """Per cent over seeds, if it was measured."""
    return spread(100 * run[key] for run in runs) if key in runs[0] else None


# Captions


def perplexity_table() -> Table:
    """Perplexity of each subword, given those before it or all others: stored."""
    found = results.load("language_models")
    rows = [("trigram", "two before", exp(found["trigram"]["words"]))]
    for model, given in (
        ("decoder-only", "all before"),
        ("encoder-only", "all others"),
    ):
        runs = stored_runs("language_models", model=model)
        rows.append((model, given, spread(exp(run["words"]) for run in runs)))
    return table(
        ["model", "given", Column("perplexity", "per subword", digits=1)], rows
    )


def samples_table() -> Table:
    """Captions drawn from the decoder-only model: stored."""
    return table(
        ["written by the decoder-only model"],
        [(text,) for text in results.load("language_models")["samples"]],
    )


def gaps_table() -> Table:
    """What the encoder-only model puts into a gap: stored."""
    rows = []
    for gap in results.load("language_models")["gaps"]:
        guesses = ", ".join(f"{word} {100 * p:.0f} %" for word, p in gap["words"])
        rows.append((gap["text"], guesses))
    return table(["caption", "most probable subwords"], rows)


# Roles of words


def roles_table() -> Table:
    """Correct roles after training on few sentences: stored."""
    names = {"scratch": "random weights", "pre_trained": "pre-trained weights"}
    runs = [
        {"start": name, "right": run[key], **run}
        for key, name in names.items()
        for run in results.load("one_encoder")["roles"]
    ]
    right = Value("right", "%", 100, 1, "labelled for training")
    about = {"names": {"sentences": "{} sentences"}, "head": "the encoder begins with"}
    return pivot(runs, "start", "sentences", right, **about)


# Digits


def digits_table() -> Table:
    """Digits classified correctly, by patch and order: stored."""
    found = results.load("one_encoder")
    methods = {
        (2, False): "ViT, patches of 2 × 2 pixels",
        (2, True): "ViT, the same in a random order",
        (4, False): "ViT, patches of 4 × 4 pixels",
    }
    runs = [
        {"method": methods[run["patch"], run["shuffled"]], "right": run["right"]}
        for run in found["digits"]
    ]
    runs.append({"method": "nearest training image", "right": found["nearest"]})
    return pivot(runs, "method", None, Value("right", "%", 100, 1, "correct"))
