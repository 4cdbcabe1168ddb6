"""The parallel text of a config: Multi30k, the toy language, or files in a folder."""

from __future__ import annotations

import random
from collections.abc import Callable
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
    split and language: ``train.en``, ``train.de``, ``val.en`` and so on. Without files
    of val, every tenth line of train is held out for it; see :func:`holds_out`.

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
    cut = split in ("train", "val") and holds_out(config)
    read = multi30k.sentences if config.data == "multi30k" else _reader(config.data)
    name = "train" if cut else split
    languages = (config.source, config.target)
    both = Texts(*(read(name, language) for language in languages))
    files = [f"{name}.{language}" for language in languages]
    if len(both.source) != len(both.target):
        raise ValueError(
            f"{files[0]} has {len(both.source)} lines and {files[1]} "
            f"{len(both.target)}; line i must translate line i"
        )
    for file, lines in zip(files, both, strict=True):
        if "" in lines:
            raise ValueError(
                f"line {lines.index('') + 1} of {file} is empty; leave the "
                "pair out on both sides"
            )
    if cut:
        both = Texts(*(_share(lines, split == "val") for lines in both))
    if config.moses:
        return Texts(
            tokenised(both.source, config.source, config.lowercase),
            tokenised(both.target, config.target, config.lowercase),
        )
    return both


def holds_out(config: Config) -> bool:
    """Whether validation takes a share of train: a tenth, at most 1,000 pairs."""
    own = config.data not in ("toy", "multi30k")
    return own and not has_files(config, "val")


def has_files(config: Config, split: str) -> bool:
    """Whether a config's folder has a split, in one of the two languages at least."""
    folder = Path(config.data).expanduser()
    sides = (config.source, config.target)
    return any((folder / f"{split}.{side}").exists() for side in sides)


def _share(lines: list[str], held_out: bool) -> list[str]:
    """The lines of train that are held out, evenly spaced, or the others."""
    if len(lines) < 10:
        raise ValueError(
            f"train has {len(lines)} lines, and none can be held out for validation; "
            "take ten or more, or add files of val"
        )
    number = min(len(lines) // 10, 1000)
    every = len(lines) // number
    chosen = range(every - 1, every * number, every)
    return [line for i, line in enumerate(lines) if (i in chosen) == held_out]


def _reader(data: str) -> Callable[[str, str], list[str]]:
    """Return a function that reads ``split.language`` from a folder."""
    folder = Path(data).expanduser()

    def read(split: str, language: str) -> list[str]:
        path = folder / f"{split}.{language}"
        try:
            text = path.read_bytes().decode("utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            files = sorted(p.name for p in folder.glob("train.*")) or ["no train file"]
            hint = (
                f"; {folder} has {' and '.join(files)}, and the run wants {path.name}: "
                "name the two languages, such as source=en target=it"
            )
            raise ValueError(
                f"{path} cannot be read as UTF-8 text: {error}"
                f"{hint if isinstance(error, OSError) else ''}"
            ) from error
        if not text.strip():
            raise ValueError(f"{path} is empty; write one sentence on each line")
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
