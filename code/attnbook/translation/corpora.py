"""The parallel text of a config: Multi30k, the toy language, or files in a folder."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from attnbook.data import multi30k
from attnbook.data.batching import IdPair, token_batches
from attnbook.data.subwords import Subwords
from attnbook.toy.language import sample_pair
from attnbook.translation.configs import Config


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
    languages = config.source, config.target
    if config.data == "toy":
        return _toy(split, *languages)
    if config.data == "multi30k":
        return Texts(*(multi30k.sentences(split, language) for language in languages))
    cut = split in ("train", "val") and holds_out(config)
    name = "train" if cut else split
    folder = Path(config.data).expanduser()
    both = Texts(*(_read(folder, name, language, languages) for language in languages))
    if len(both.source) != len(both.target):
        raise ValueError(
            f"{name}.{config.source} has {len(both.source)} lines and "
            f"{name}.{config.target} {len(both.target)}; line i must translate line i"
        )
    if cut:
        both = Texts(*(_share(lines, split == "val") for lines in both))
    return both


def encode_pairs(subwords: Subwords, both: Texts) -> list[IdPair]:
    """Encode sentences and translations as ids."""
    return [
        IdPair(subwords.encode(s), subwords.encode(t))
        for s, t in zip(both.source, both.target, strict=True)
    ]


def cut_updates(
    pairs: Sequence[IdPair], config: Config, processes: int, epoch: int
) -> list[list[list[IdPair]]]:
    """Cut the training text into the updates of an epoch, a batch for each process.

    Each epoch is cut anew. The last batches are left out if they don't make an update.

    Args:
        pairs: The training split.
        config: Says how large a batch is; its seed decides the order.
        processes: Number of processes.
        epoch: From 0.

    Raises:
        ValueError: If there are too few batches for a single update.
    """
    # The text is part of the seed: the order of recorded runs depends on it.
    rng = random.Random(f"{config.seed}, pass {epoch}")
    batches = token_batches(pairs, config.batch_tokens, rng)
    updates = [
        batches[i : i + processes]
        for i in range(0, len(batches) - processes + 1, processes)
    ]
    if not updates:
        raise ValueError(
            f"an epoch has {len(batches)} batches, fewer than the {processes} "
            "processes: lower batch_tokens, or start fewer processes"
        )
    return updates


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


def _read(
    folder: Path, split: str, language: str, languages: tuple[str, str]
) -> list[str]:
    """Read ``split.language`` from a folder; each line must have something to see."""
    path = folder / f"{split}.{language}"
    try:
        content = path.read_bytes()
        text = content.decode("utf-8-sig")
    except FileNotFoundError:
        hint = _hint(folder, split, language, languages)
        raise ValueError(f"there is no {path}; {hint}") from None
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error}") from error
    except UnicodeDecodeError as error:
        line = content.count(b"\n", 0, error.start) + 1
        raise ValueError(
            f"line {line} of {path} is not UTF-8 ({error}); save the file as UTF-8"
        ) from error
    if not text.strip():
        raise ValueError(f"{path} is empty; write one sentence on each line")
    lines = [multi30k.clean(line) for line in text.removesuffix("\n").split("\n")]
    for number, line in enumerate(lines, 1):
        # A zero-width space, say, is no white space, and nothing to see either.
        if not any(c.isprintable() and not c.isspace() for c in line):
            raise ValueError(
                f"line {number} of {path.name} is empty; leave the pair out on both "
                "sides"
            )
    return lines


def _hint(folder: Path, split: str, language: str, languages: tuple[str, str]) -> str:
    """What to do about a file that isn't there."""
    if not folder.is_dir():
        return (
            f"there is no folder {folder}, either: data is multi30k, toy, or a folder "
            f"with {' and '.join(f'train.{name}' for name in languages)}"
        )
    files = " and ".join(sorted(path.name for path in folder.glob(f"{split}.*")))
    if split == "train":
        return (
            f"{folder} has {files or 'no train file'}, and the run wants "
            f"train.{language}: name the two languages, such as source=en target=it"
        )
    return (
        f"{folder} has {files or 'no such file'}: add {split}.{language}, or take the "
        "other one away"
    )


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
