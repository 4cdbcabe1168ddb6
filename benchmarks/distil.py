"""Texts for distillation: Multi30k's captions as several models translate them.

    python benchmarks/distil.py runs/distilled 1.4 runs/a/model runs/b/model

With ``--source de --target en``, they translate in the other direction. The models
translate the training split together, with a beam of 5. Two folders are written: in
``only``, their translations are the training split's target side; in ``both``, each
caption stands twice, with the human's translation and with theirs. Each can be the
``data`` of ``attnbook train``. The validation split stays the human's. A command that
was stopped goes on where it was when it is given again.
"""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

from attnbook.core.devices import DEVICES
from attnbook.core.files import write_whole
from attnbook.core.threads import set_threads
from experiments.ch12_gpu import together
from attnbook.data import multi30k
from attnbook.translation.evaluation import beam_translate
from attnbook.translation.report import BEAM_WIDTH
from attnbook.translation.translator import Translator

CHUNK = 200
"""Captions translated at a time: in half a minute, so that loading the models each
time costs little."""

Chunks = Sequence[Sequence[str]]


def translated(
    folders: Sequence[str], alpha: float, device: str, sentences: Sequence[str]
) -> list[str]:
    """Let several models translate plain text together.

    Args:
        folders: The folder ``model`` of each finished run.
        alpha: α of the length penalty.
        device: Where they compute; see
            :func:`attnbook.core.devices.choose_device`.
        sentences: Plain text.
    """
    set_threads()
    translators = [Translator(folder, device) for folder in folders]
    model, subwords = together(translators), translators[0].subwords
    return beam_translate(model, subwords, sentences, BEAM_WIDTH, alpha)


def translate_all(
    sentences: Sequence[str],
    path: Path,
    translate: Callable[[Chunks], Iterable[Sequence[str]]],
    chunk: int = CHUNK,
) -> list[str]:
    """Translate sentences chunk by chunk; what a file has already is kept.

    Args:
        sentences: Plain text.
        path: The file; it gets a line for each sentence.
        translate: From chunks of sentences to their translations, in the same order.
        chunk: Sentences in a chunk.

    Raises:
        ValueError: If the file has more lines than there are sentences.
    """
    done = path.read_text(encoding="utf-8").split("\n")[:-1] if path.exists() else []
    if len(done) > len(sentences):
        raise ValueError(
            f"{path} has {len(done)} lines for {len(sentences)} sentences; name "
            "another folder, or delete the file"
        )
    starts = range(len(done), len(sentences), chunk)
    for lines in translate([sentences[i : i + chunk] for i in starts]):
        done += lines
        write_whole(path, "\n".join(done) + "\n")
        print(f"{len(done)} of {len(sentences)}", flush=True)
    return done


def write_split(folder: Path, split: str, **lines: Sequence[str]) -> None:
    """Write a split of parallel text, one file for each language."""
    folder.mkdir(parents=True, exist_ok=True)
    for language, sentences in lines.items():
        write_whole(folder / f"{split}.{language}", "\n".join(sentences) + "\n")


def keep_teachers(folder: Path, teachers: dict) -> None:
    """Write down who translates.

    Raises:
        ValueError: If the folder has a text of other teachers.
    """
    path = folder / "teachers.json"
    if path.exists() and (old := json.loads(path.read_text("utf-8"))) != teachers:
        raise ValueError(
            f"{folder} has translations by {old}, not by {teachers}; name another "
            "folder, or the same models and α"
        )
    write_whole(path, json.dumps(teachers, indent=1) + "\n")


def main() -> None:
    """Command line."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("out", type=Path, help="folder for the texts")
    parser.add_argument("alpha", type=float, help="α, chosen on validation data")
    parser.add_argument("models", nargs="+", help="folders `model` of finished runs")
    parser.add_argument("--source", default="en", help="the models' source language")
    parser.add_argument("--target", default="de", help="their target language")
    parser.add_argument("--device", choices=DEVICES, default="cpu")
    parser.add_argument("--processes", type=int, default=1)
    given = parser.parse_args()
    pair = given.source, given.target
    source, human = (multi30k.sentences("train", language) for language in pair)
    val = {language: multi30k.sentences("val", language) for language in pair}
    given.out.mkdir(parents=True, exist_ok=True)
    keep_teachers(given.out, {"models": given.models, "alpha": given.alpha})
    with ProcessPoolExecutor(given.processes, get_context("spawn")) as pool:
        teachers = partial(translated, given.models, given.alpha, given.device)
        path = given.out / f"train.{given.target}"
        target = translate_all(source, path, partial(pool.map, teachers))
    for name, *lines in (
        ("only", source, target),
        ("both", source + source, human + target),
    ):
        train = dict(zip(pair, lines, strict=True))
        write_split(given.out / name, "train", **train)
        write_split(given.out / name, "val", **val)


if __name__ == "__main__":
    main()
