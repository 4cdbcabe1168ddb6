"""The drawings of chapter 10: a cache that grows word by word, and a beam."""

from __future__ import annotations

import math
from collections.abc import Sequence

from attnbook.pages.drawings.diagram import Box, Diagram

KEY, VALUE, TARGET = {"role": "key"}, {"role": "value"}, {"role": "target"}

READ = ("<bos>", "maron", "velin")


def cache_growth(words: Sequence[str] = READ) -> Diagram:
    """Three steps of decoding: what is kept, what is new, and its position.

    Args:
        words: What is read at each step.
    """
    alt = (
        f"A row for each of the steps that read {', '.join(words)}. Each has one key "
        "and one value more than the row above: the last is new (filled), those before "
        "it are kept. Beside it the position of the new word: its step, from 0, in the "
        "column right, and always 0 in the column wrong."
    )
    d = Diagram(510, 102 + 96 * len(words), alt=alt)
    d.text("reads", 56, 42, **TARGET)
    d.text("keys and values", 210, 42)
    d.text("position of the new", 422, 18)
    d.text("right", 384, 42)
    d.text("wrong", 464, 42)
    for step, word in enumerate(words):
        y = 104 + 96 * step
        d.text(word, 56, y, **TARGET)
        boxes = [_pair(d, place, place == step, y) for place in range(step + 1)]
        d.text(str(step), 384, y)
        d.text(f"0, not {step}" if step else "0", 464, y)
    d.bracket("kept", boxes[:-1], y + 46)
    d.bracket("new", boxes[-1:], y + 46)
    return d


def _pair(d: Diagram, place: int, new: bool, y: float) -> Box:
    """The key and the value of a place, filled if they are new."""
    x = 150 + 60 * place
    d.box(f"$v_{place}$", x, y + 18, width=46, height=32, filled=new, **VALUE)
    return d.box(f"$k_{place}$", x, y - 18, width=46, height=32, filled=new, **KEY)


# p(next word | the words so far) in a language of three words; a full stop is its EOS.
TREE = {
    "": {"A": 0.5, "B": 0.4, "C": 0.1},
    "A": {"A": 0.4, "B": 0.3, "C": 0.3},
    "B": {"A": 0.1, "B": 0.1, "C": 0.8},
    "AA": {".": 0.6, "A": 0.2, "B": 0.1, "C": 0.1},
    "BC": {".": 0.9, "A": 0.05, "B": 0.03, "C": 0.02},
}
COLUMNS = (40, 158, 296, 446)  # of BOS and of words one to three
ROWS = {
    **{"": 164, "A": 90, "B": 240, "C": 312},
    **{"AA": 52, "AB": 128, "BC": 202, "BA": 278, "AA.": 52, "BC.": 202},
}  # what is drawn: of further beginnings the page would be full


def log_p(words: str) -> float:
    """Log-probability of a beginning, or of a sentence, under :data:`TREE`."""
    return sum(math.log(TREE[words[:i]][word]) for i, word in enumerate(words))


def beginnings(length: int, width: int) -> list[str]:
    """What a beam keeps after some words, the best first; width 1 is greedy decoding.

    Args:
        length: Number of words; the third is the last, with which every sentence ends.
        width: Number W of beginnings.
    """
    if length == 0:
        return [""]
    longer = [
        begun + word
        for begun in beginnings(length - 1, width)
        for word in TREE[begun]
        if length < 3 or word == "."
    ]
    return sorted(longer, key=log_p, reverse=True)[:width]


def beam_tree() -> Diagram:
    """A beam of two in a tiny language, and where greedy decoding goes instead.

    Returns:
        The diagram; all its numbers are those of :data:`TREE`.
    """
    kept = {words for length in (1, 2, 3) for words in beginnings(length, 2)}
    greedy, best = beginnings(3, 1)[0], beginnings(3, 2)[0]
    alt = (
        "A tree from left to right. BOS goes on with A (0.5), B (0.4) or C (0.1); A "
        "and B are kept. A goes on with A (0.4) or B (0.3), B with C (0.8) or A (0.1); "
        "A A and B C are kept, and both end. Greedy decoding finds A A, "
        f"log-probability {minus(log_p(greedy))}; the beam finds B C, "
        f"{minus(log_p(best))}."
    )
    d = Diagram(510, 340, alt=alt)
    boxes = {"": d.box("BOS", COLUMNS[0], ROWS[""], width=58, height=46, **TARGET)}
    for words in list(ROWS)[1:]:
        label = f"{words[-1].replace('.', 'EOS')}\n{minus(log_p(words))}"
        look = TARGET if words in kept else {}
        place = COLUMNS[len(words)], ROWS[words]
        boxes[words] = d.box(
            label, *place, width=62, height=46, filled=words == best, **look
        )
        _branch(d, boxes[words[:-1]], boxes[words], TREE[words[:-1]][words[-1]], look)
    d.text("greedy", COLUMNS[3], ROWS[greedy] - 36, **TARGET)
    d.text("beam", COLUMNS[3], ROWS[best] - 36, **TARGET)
    return d


def _branch(d: Diagram, start: Box, end: Box, p: float, look: dict) -> None:
    """An arrow to the next word, with its probability beside it."""
    down = end.y - start.y
    tail = start.x + start.width / 2, start.y + 0.12 * down  # side by side at the fork
    tip = end.x - end.width / 2, end.y
    d.arrow(tail, tip, **look)
    across, down = tip[0] - tail[0], tip[1] - tail[1]
    side = 1 if look else -1  # above what is kept, below what is not
    x = (tail[0] + tip[0]) / 2 + side * 18 * down / math.hypot(across, down)
    y = (tail[1] + tip[1]) / 2 - side * 14 * across / math.hypot(across, down)
    d.text(f"{p:g}", x, y, **look)


def minus(value: float) -> str:
    """A number with two decimals and a true minus sign."""
    return f"{value:.2f}".replace("-", "\u2212")
