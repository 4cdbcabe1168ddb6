"""``attnbook translate``: translate a text, a file, or what is typed or piped in."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterable, Iterator
from itertools import islice
from typing import BinaryIO

import click

from attnbook.core.devices import DEVICES
from attnbook.core.signals import last_words
from attnbook.core.threads import set_threads
from attnbook.translation.doubts import doubts_about_translation
from attnbook.translation.plain_text import language_name, plain_text, split_sentences
from attnbook.translation.translator import SHIPPED, Translator, too_long

LINES_PER_CHUNK = 64
"""Number of lines that are translated together."""

EXAMPLES = """\b
Examples:
  attnbook translate "A dog runs through the snow."
  attnbook translate --file captions.txt > translated.txt
  attnbook translate --model runs/multi30k-cpu-0 "Two men play chess."
  attnbook translate --model german-english "Zwei Männer spielen Schach."
  attnbook translate                     (then type)
"""


@click.command(
    "translate",
    short_help="Translate a text, a file, or a pipe.",
    epilog=EXAMPLES,
)
@click.argument("text", nargs=-1)
@click.option(
    "--file",
    type=click.File("rb"),
    metavar="FILE",
    help="A file with the texts, one per line; - is the standard input.",
)
@click.option(
    "--model",
    metavar="FOLDER",
    help="The folder of a finished run, or one of two models that come with the "
    "package: german-english, or distilled (English to German, with a higher BLEU). "
    "If not given: the course's model, English to German.",
)
@click.option(
    "--width",
    type=int,
    default=5,
    show_default=True,
    help="Beam width; 1 is greedy decoding, which is faster.",
)
@click.option(
    "--device",
    type=click.Choice(DEVICES),
    default="cpu",
    show_default=True,
    help="Where to compute; with cpu a text has the same translation everywhere.",
)
def translate_command(
    text: tuple[str, ...],
    file: BinaryIO | None,
    model: str | None,
    width: int,
    device: str,
) -> None:
    """Translate TEXT, a file, or the standard input, line by line.

    Each sentence of a line is translated by itself. The model that comes with the
    package knows 29,000 captions of photographs; other text comes out badly, and a
    warning says so where it can be seen.
    """
    if text and file:
        raise click.UsageError("give a text or --file, not both")
    given = " ".join(text)
    if text and not plain_text(given, {}):
        raise ValueError("the text is empty; give at least a word")
    set_threads()
    translator = Translator(model or SHIPPED, device)
    stream = file or sys.stdin.buffer
    if not sys.stdout.isatty():  # as what is read: Windows would take another encoding
        sys.stdout.reconfigure(encoding="utf-8")
    typed = not text and stream.isatty()
    if text:  # a byte that Python could not decode is no UTF-8 here either
        stream = [given.encode("utf-8", "surrogatepass")]
    elif typed:
        stream = prompted(stream, translator.config.source)
    lines = decode_lines(stream)
    try:
        print_translations(translator, lines, width, typed, single=bool(text))
    except BrokenPipeError:  # the reader, such as head, closed the pipe
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def prompted(terminal: BinaryIO, language: str) -> Iterator[bytes]:
    """Ask for lines in a language, given by its code; the prompts go to stderr."""
    end = "Ctrl-Z and Enter end" if os.name == "nt" else "Ctrl-D ends"
    name = language_name(language)
    click.echo(f"Type a sentence in {name} and press Enter; {end}.", err=True)
    while True:
        click.echo("> ", nl=False, err=True)
        if not (line := terminal.readline()):
            click.echo(err=True)
            return
        yield line


def decode_lines(lines: Iterable[bytes]) -> Iterator[str | ValueError]:
    """Decode lines as UTF-8; one that cannot be decoded becomes the reason."""
    for line in lines:
        try:
            yield line.decode().rstrip("\r\n")
        except UnicodeDecodeError as error:
            yield ValueError(
                f"is not UTF-8 ({error.reason}); convert the text, for example with "
                "iconv -t UTF-8"
            )


def print_translations(
    translator: Translator,
    lines: Iterator[str | ValueError],
    width: int,
    typed: bool,
    single: bool,
) -> None:
    """Print the translation of each line, and warnings about it on stderr.

    Args:
        translator: The model.
        lines: Texts of any number of sentences, or why there is none; a blank one stays
            blank.
        width: Beam width.
        typed: Whether each line must be answered at once.
        single: Whether there is but one, so that warnings need not name it.

    Raises:
        ValueError: In the end, if a line could not be translated. Its own line of the
            output is blank.
    """
    done, failed = 0, 0

    def words() -> str:
        if typed or single:
            return "\nstopped"  # below the prompt
        return f"stopped after line {done}; for the others, give the text from there on"

    with last_words(words):
        size = 1 if typed else LINES_PER_CHUNK
        while chunk := list(islice(lines, size)):
            for output, doubts in translate_lines(translator, chunk, width):
                done += 1
                if isinstance(output, ValueError):
                    if single:
                        raise ValueError(f"the text {output}")
                    failed += 1
                    click.echo(f"error: line {done} {output}", err=True)
                    output = ""
                where = "" if typed or single else f"line {done}: "
                for doubt in doubts:
                    click.echo(f"warning: {where}{doubt}", err=True)
                click.echo(output)
    if failed and not typed:
        raise ValueError(f"{failed} of {done} lines could not be translated; see above")
    if not done and not typed:
        click.echo("warning: the text is empty; nothing was translated", err=True)


def translate_lines(
    translator: Translator, lines: list[str | ValueError], width: int
) -> list[tuple[str | ValueError, list[str]]]:
    """Translate lines as :func:`print_translations` takes them.

    Returns:
        For each line its translation, or why there is none, and doubts about it.
    """
    usual, language = translator.usual, translator.config.source
    method = "greedy" if width == 1 else "beam"
    split: list[list[str] | ValueError] = []
    for line in lines:
        if isinstance(line, str):
            line = split_sentences(plain_text(line, usual), language)
            reasons = [too_long(sentence, translator.subwords) for sentence in line]
            if why := next(filter(None, reasons), ""):
                line = ValueError(f"holds a sentence that {why}")
        split.append(line)
    good = [sentence for part in split if isinstance(part, list) for sentence in part]
    outputs = iter(translator(good, width=width, scored=True))
    results = []
    for part in split:
        if isinstance(part, ValueError):
            results.append((part, []))
            continue
        texts, found = [], []
        for sentence in part:
            text, log_prob = next(outputs)
            texts.append(text)
            found += doubts_about_translation(
                *(sentence, text, log_prob, method, translator.subwords, usual)
            )
        results.append((" ".join(texts), found))
    return results
