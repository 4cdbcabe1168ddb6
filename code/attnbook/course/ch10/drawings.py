"""The drawings of chapter 10: a cache that grows token by token, and a beam."""

from __future__ import annotations

import math

from attnbook.course.kit.drawings.diagram import KEY, QUERY, TARGET, VALUE, Box, Diagram

READ = ("<bos>", "Leute", "warten")


def cache_growth() -> Diagram:
    """Two steps of self-attention with a cache: what is kept, and what is new."""
    alt = (
        "Two rows, one for each step. At position 1 the decoder reads Leute: one new "
        "query, one new key and one new value; a key and a value come from the cache. "
        "At position 2 it reads warten: again one new query, key and value; two keys "
        "and two values come from the cache. Queries have the shape (B, H, 1, d_k), "
        "keys and values together (B, H, 2, d_k), then (B, H, 3, d_k)."
    )
    d = Diagram(510, 348, alt=alt)
    d.text("reads", 44, 20)
    d.text("query", 120, 20, **QUERY)
    d.text("keys, values", 250, 20)
    d.text("shapes", 428, 20)
    for position in (1, 2):
        _cached_step(d, position, 90 + 160 * (position - 1))
    return d


def _cached_step(d: Diagram, position: int, y: float) -> None:
    """One row: the query of a position, and all keys and values up to it."""
    d.text(READ[position], 44, y - 12, **TARGET)
    d.text(f"position {position}", 44, y + 12)
    d.box(
        f"$q_{position}$", 120, y, width=46, height=32, filled=True, role=QUERY["role"]
    )
    boxes = [_pair(d, p, p == position, y) for p in range(position + 1)]
    d.bracket("cache", boxes[:-1], y + 46)
    d.bracket("new", boxes[-1:], y + 46)
    d.text("$q$: (B, H, 1, $d_k)$", 428, y - 18, **QUERY)
    d.text(f"$k$, $v$: (B, H, {position + 1}, $d_k)$", 428, y + 18)


def _pair(d: Diagram, position: int, new: bool, y: float) -> Box:
    """The key and the value of a position, filled if they are new."""
    x = 190 + 60 * position
    d.box(f"$v_{position}$", x, y + 18, width=46, height=32, filled=new, **VALUE)
    return d.box(f"$k_{position}$", x, y - 18, width=46, height=32, filled=new, **KEY)


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
}  # only what is drawn


def log_p(words: str) -> float:
    """Log-probability of a hypothesis, finished or not, under :data:`TREE`."""
    return sum(math.log(TREE[words[:i]][word]) for i, word in enumerate(words))


def hypotheses(length: int, width: int) -> list[str]:
    """What a beam keeps after some words, the best first; width 1 is greedy."""
    if length == 0:
        return [""]
    longer = [
        prefix + word
        for prefix in hypotheses(length - 1, width)
        for word in TREE[prefix]
        if length < 3 or word == "."
    ]
    return sorted(longer, key=log_p, reverse=True)[:width]


def beam_tree() -> Diagram:
    """A beam of two in a tiny language, and where greedy decoding goes instead."""
    kept = {words for length in (1, 2, 3) for words in hypotheses(length, 2)}
    greedy, best = hypotheses(3, 1)[0], hypotheses(3, 2)[0]
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
    d.text("on arrows: $p$", COLUMNS[3] - 20, 286)
    d.text("in boxes: $Σ$ log $p$", COLUMNS[3] - 20, 312)
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
