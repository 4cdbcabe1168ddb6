"""The drawings of chapter 1: two ways to hand a sentence over, and how it is read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise

from attnbook.pages.drawings.arrows import CORNER
from attnbook.pages.drawings.diagram import Box, Diagram

PITCH = 56  # from one step to the next
SAID, STATE, READ = 24, 82, 158  # heights: words said, states, words read


def encoder_decoder(source: Sequence[str], target: Sequence[str]) -> Diagram:
    """Encoder and decoder over time; one arrow carries the sentence across.

    Args:
        source: The words of the source sentence, four at least.
        target: The words of its translation, three at least, without BOS and EOS.

    Returns:
        The diagram.

    Raises:
        ValueError: If a sentence is too short for words to be left out.
    """
    link = "one arrow leads from c to the first decoder state, and none to the others"
    return _unrolled(source, target, link)[0]


def static_context(source: Sequence[str], target: Sequence[str]) -> Diagram:
    """The same drawing, with the vector c fed to every step of the decoder.

    Args:
        source: The words of the source sentence, four at least.
        target: The words of its translation, three at least, without BOS and EOS.

    Returns:
        The diagram.

    Raises:
        ValueError: If a sentence is too short for words to be left out.
    """
    link = "arrows lead from c to every decoder state"
    diagram, c, decoder = _unrolled(source, target, link)
    rail, bottom = STATE + 46, STATE + c.height / 2
    way = [c, (c.x, rail)]
    for state in decoder:
        x = state.x - 10  # beside the arrow of the word
        diagram.arrow(*way, (x, rail), (x, bottom), role="source")
        way = [(x - CORNER, rail)]  # branch off where the last one bends
    return diagram


def bidirectional_encoder(source: Sequence[str]) -> Diagram:
    """An encoder that reads from both ends; its two last states make up c.

    Args:
        source: The words of the source sentence, four at least.

    Returns:
        The diagram.

    Raises:
        ValueError: If the sentence is too short for words to be left out.
    """
    _check_length("source", source, 4)
    alt = (
        f"Above the words {source[0]} to {source[-1]} a row of states joined by arrows "
        f"to the right, below them a row joined by arrows to the left. The last state "
        f"of each row, at opposite ends, has an arrow to the vector c."
    )
    d = Diagram(400, 196, alt=alt)
    numbers = (1, 2, len(source))
    first, top, middle, bottom = 116, 30, 83, 136
    blue = {"role": "source"}
    words = _row(d, d.text, _some(source), first, middle, **blue)
    forward = _row(d, d.box, [f"$f_{i}$" for i in numbers], first, top, **blue)
    backward = _row(d, d.box, [f"$b_{i}$" for i in numbers], first, bottom, **blue)
    d.text("forward", 50, top)
    d.text("backward", 50, bottom)
    c = d.box("$c$", first + 4.5 * PITCH, middle, filled=True, **blue)
    _climb(d, words, forward)
    _climb(d, words, backward)
    _chain(d, forward)
    _chain(d, backward[::-1])
    d.arrow(forward[-1], (c.x, top), c, **blue)
    d.arrow(backward[0], (first, 180), (c.x, 180), c, **blue)
    return d


def _unrolled(
    source: Sequence[str], target: Sequence[str], link: str
) -> tuple[Diagram, Box, list[Box]]:
    """What both kinds share: the diagram, the vector c, and the decoder's states."""
    _check_length("source", source, 4)
    _check_length("target", target, 3)
    alt = (
        f"{len(source)} encoder states read {' '.join(source)} from left to right; the "
        f"last one becomes the vector c. Decoder states read BOS and the words said so "
        f"far, and say {' '.join(target)} EOS; {link}."
    )
    d = Diagram(510, 212, alt=alt)
    first, steps = 31, (1, 2, len(source))
    words = _row(d, d.text, _some(source), first, READ, role="source")
    encoder = _row(d, d.box, [f"$h_{i}$" for i in steps], first, STATE, role="source")
    c = d.box("$c$", first + 4 * PITCH, STATE, role="source", filled=True)

    first, steps = first + 5 * PITCH, (1, 2, len(target) + 1)
    read = _row(d, d.text, _some(["BOS", *target]), first, READ, role="target")
    decoder = _row(d, d.box, [f"$s_{i}$" for i in steps], first, STATE, role="target")
    said = _row(d, d.text, _some([*target, "EOS"]), first, SAID, role="target")

    d.bracket("encoder", encoder, 181, role="source")
    d.bracket("decoder", decoder, 181, role="target")
    for low, high in ((words, encoder), (read, decoder), (decoder, said)):
        _climb(d, low, high)
    _chain(d, encoder)
    _chain(d, decoder)
    d.arrow(encoder[-1], c, role="source")
    d.arrow(c, decoder[0], role="source")
    return d, c, decoder


def _some(words: Sequence[str]) -> list[str]:
    """The first two and the last."""
    return [*words[:2], words[-1]]


def _row(d: Diagram, draw: Callable, labels: Sequence[str], x: float, y: float, **look):
    """Draw two labels, dots, and a third one step apart from each other."""
    first, second, last = labels
    return [
        draw(first, x, y, **look),
        draw(second, x + PITCH, y, **look),
        d.dots(x + 2 * PITCH, y),
        draw(last, x + 3 * PITCH, y, **look),
    ]


def _chain(d: Diagram, boxes: Sequence[Box]) -> None:
    for one, next_ in pairwise(boxes):
        d.arrow(one, next_)


def _climb(d: Diagram, start: Sequence[Box], end: Sequence[Box]) -> None:
    """From one row to another, but for the dots."""
    for number in (0, 1, 3):
        d.arrow(start[number], end[number])


def _check_length(name: str, words: Sequence[str], least: int) -> None:
    if len(words) < least:
        raise ValueError(
            f"{name} has {len(words)} words, {' '.join(words)!r}: give {least} or more."
        )
