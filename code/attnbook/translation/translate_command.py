"""``python -m attnbook translate``: translate a sentence, a file or standard input."""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from pathlib import Path

from attnbook.core.threads import set_threads
from attnbook.translation.translator import SHIPPED, Translator

LINES_PER_CHUNK = 64
"""Number of lines that are translated together."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Translate line by line.

    Args:
        arguments: By default those of the command line.

    Raises:
        SystemExit: If the model or the text cannot be read; the message says why.
    """
    parser = make_parser()
    chosen = parser.parse_args(arguments)
    if chosen.sentence and chosen.file:
        parser.error("give a sentence or --file, not both")
    set_threads()
    try:
        translator = Translator(chosen.model)
        for line in translate_lines(translator, read_lines(chosen), chosen.width):
            print(line, flush=True)
    except BrokenPipeError:  # the reader, such as head, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
    except ValueError as error:
        parser.exit(2, f"error: {error}\n")


def make_parser() -> argparse.ArgumentParser:
    """The parser of the command line."""
    parser = argparse.ArgumentParser(
        prog="attnbook translate",
        description="Translate a sentence, a file, or standard input line by line. The "
        "model that comes with the package knows 29,000 captions of photographs; other "
        "text comes out badly.",
    )
    parser.add_argument("sentence", nargs="*", help="a sentence to translate")
    parser.add_argument("--file", type=Path, help="a text file, one sentence per line")
    parser.add_argument(
        "--model",
        type=Path,
        default=SHIPPED,
        metavar="FOLDER",
        help="the folder `model` of a run; if not given, the model that comes with "
        "the package, English to German",
    )
    parser.add_argument(
        "--width", type=int, default=5, help="beam width; 1 is greedy (default 5)"
    )
    return parser


def read_lines(chosen: argparse.Namespace) -> Iterator[str]:
    """The lines to translate, from the command line, a file or standard input.

    Raises:
        ValueError: If a file cannot be read, or a line is not UTF-8.
    """
    if chosen.sentence:
        yield " ".join(chosen.sentence)
    elif chosen.file is None:
        yield from decode_lines(sys.stdin.buffer)
    else:
        try:
            with chosen.file.open("rb") as file:
                yield from decode_lines(file)
        except OSError as error:
            raise ValueError(f"{chosen.file} cannot be read: {error}") from error


def decode_lines(lines: Iterable[bytes]) -> Iterator[str]:
    """Decode lines as UTF-8.

    Raises:
        ValueError: If a line is not UTF-8.
    """
    for number, line in enumerate(lines, start=1):
        try:
            yield line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"line {number} is not UTF-8 ({error.reason}); convert the text, for "
                "example with iconv -t UTF-8"
            ) from error


def translate_lines(
    translator: Translator, lines: Iterable[str], width: int
) -> Iterator[str]:
    """Translate lines in chunks; from a keyboard, each line at once."""
    lines, number = iter(lines), 1
    size = 1 if sys.stdin.isatty() else LINES_PER_CHUNK
    while chunk := list(islice(lines, size)):
        yield from translator(chunk, width, first=number)
        number += len(chunk)


if __name__ == "__main__":
    main()
