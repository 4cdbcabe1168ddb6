"""The parallel text of a config: Multi30k, the toy language, or files in a folder."""

from __future__ import annotations

import random
from pathlib import Path
from typing import NamedTuple

from attnbook.data import multi30k
from attnbook.toy.language import sample_pair
from attnbook.translation.configs import Config
from attnbook.translation.moses import tokenised


class Texts(NamedTuple):
    """Source sentences, and their translations in the same order."""

    source: list[str]
    target: list[str]


def load_texts(config: Config, split: str) -> Texts:
    """Load one split of a config's data.

    If the data is a folder, it has text files with one sentence per line, named by
    split and language: ``train.en``, ``train.de``, ``val.en`` and so on.

    Args:
        config: Names the data and the two languages.
        split: "train", "val" or "test"; Multi30k has "test_2016_flickr" and
            "test_2017_flickr".

    Raises:
        ValueError: If the data is not available, the numbers of lines differ, or a line
            is empty.
    """
    if config.data == "toy":
        return _toy(split, config.source, config.target)
    read = multi30k.sentences if config.data == "multi30k" else _reader(config.data)
    both = Texts(read(split, config.source), read(split, config.target))
    if len(both.source) != len(both.target):
        raise ValueError(
            f"{split} has {len(both.source)} lines of {config.source} and "
            f"{len(both.target)} of {config.target}; line i must translate line i"
        )
    for language, lines in zip((config.source, config.target), both, strict=True):
        if "" in lines:
            raise ValueError(
                f"line {lines.index('') + 1} of {split}.{language} is empty; leave the "
                "pair out on both sides"
            )
    if config.moses:
        return Texts(
            tokenised(both.source, config.source, config.lowercase),
            tokenised(both.target, config.target, config.lowercase),
        )
    return both


def _reader(folder: str):
    """Return a function that reads ``split.language`` from a folder."""

    def read(split: str, language: str) -> list[str]:
        path = Path(folder) / f"{split}.{language}"
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise ValueError(f"{path} cannot be read as UTF-8 text: {error}") from error
        return [multi30k.clean(line) for line in text.removesuffix("\n").split("\n")]

    return read


def _toy(split: str, source: str, target: str) -> Texts:
    """Toy sentences of one or two clauses; each split has its own seed."""
    if {source, target} != {"toy", "invented"}:
        raise ValueError(
            f"source is {source!r} and target {target!r}; the languages of data=toy "
            "are toy and invented"
        )
    numbers = {"train": 4000, "val": 200, "test": 200}
    if split not in numbers:
        raise ValueError(
            f"no split {split!r}; the toy language has {', '.join(numbers)}"
        )
    rng = random.Random(split)
    pairs = [sample_pair(rng.choice((1, 2)), rng) for _ in range(numbers[split])]
    both = Texts(
        [" ".join(pair.source) for pair in pairs],
        [" ".join(pair.target) for pair in pairs],
    )
    return both if source == "toy" else Texts(both.target, both.source)
