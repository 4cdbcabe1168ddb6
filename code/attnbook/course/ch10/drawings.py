"""The drawings of chapter 10: a cache that grows token by token, and a beam."""

import math

from attnbook.course.kit.drawings.diagram import KEY, QUERY, TARGET, VALUE, Box, Diagram
from attnbook.course.kit.html_tables import number

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
    """One row: the query of a position, and all keys and values, new ones filled."""
    d.text(READ[position], 44, y - 12, **TARGET)
    d.text(f"position {position}", 44, y + 12)
    d.box(f"$q_{position}$", 120, y, width=46, height=32, filled=True, **QUERY)
    boxes = []
    for p in range(position + 1):
        x, look = 190 + 60 * p, {"width": 46, "height": 32, "filled": p == position}
        d.box(f"$v_{p}$", x, y + 18, **look, **VALUE)
        boxes.append(d.box(f"$k_{p}$", x, y - 18, **look, **KEY))
    d.bracket("cache", boxes[:-1], y + 46)
    d.bracket("new", boxes[-1:], y + 46)
    d.text("$q$: (B, H, 1, $d_k)$", 428, y - 18, **QUERY)
    d.text(f"$k$, $v$: (B, H, {position + 1}, $d_k)$", 428, y + 18)


# The translator's p(next tokens | the tokens so far) for "People are waiting at the
# station.", after "Leute warten" and as far as they are drawn. The last go to EOS.
FIRST, FIRST_LOG_P = "Leute warten", -1.0838
TREE = {
    (): {"auf": 0.3302, "am": 0.2565, "an": 0.2548},
    ("auf",): {"die": 0.2538, "den": 0.1776},
    ("am",): {"Bahnhof": 0.4894, "Strand": 0.1087},
    ("auf", "die"): {"Station.": 0.4661},
    ("am", "Bahnhof"): {".": 0.7683},
}
SECOND, SECOND_LOG_P = "Menschen warten", -1.3649
SECOND_NEXT = "auf", 0.3232  # the most probable token after it
COLUMNS = (70, 206, 326, 454)
ROWS = {
    **{(): 164, ("auf",): 90, ("am",): 228, ("an",): 306},
    **{("auf", "die"): 52, ("auf", "den"): 128},
    **{("am", "Bahnhof"): 202, ("am", "Strand"): 278},
    **{("auf", "die", "Station."): 52, ("am", "Bahnhof", "."): 202},
}
LOWEST = 376  # where the second prefix stands

Words = tuple[str, ...]


def log_p(words: Words) -> float:
    """Log-probability of a hypothesis, finished or not, under :data:`TREE`."""
    steps = (TREE[words[:i]][word] for i, word in enumerate(words))
    return FIRST_LOG_P + sum(map(math.log, steps))


def hypotheses(length: int, width: int) -> list[Words]:
    """What a beam keeps after some words, the best first; width 1 is greedy."""
    if length == 0:
        return [()]
    shorter = hypotheses(length - 1, width)
    longer = [(*words, word) for words in shorter for word in TREE[words]]
    return sorted(longer, key=log_p, reverse=True)[:width]


def beam_tree() -> Diagram:
    """A beam of two on the sentence of the chapter, and where greedy decoding goes."""
    kept = {words for length in (1, 2, 3) for words in hypotheses(length, 2)} | {()}
    greedy, best = hypotheses(3, 1)[0], hypotheses(3, 2)[0]
    alt = (
        "A tree from left to right. Leute warten and Menschen warten are kept. The "
        "first goes on with auf (0.33), am (0.26) or an (0.25), the second with auf "
        "(0.32); auf and am after Leute warten are kept. Auf goes on with die (0.25) "
        "or den (0.18), am with Bahnhof (0.49) or Strand (0.11); auf die and am "
        "Bahnhof are kept, and both end. Greedy decoding finds auf die Station, "
        f"log-probability {number(log_p(greedy))}; the beam finds am Bahnhof, "
        f"{number(log_p(best))}."
    )
    d = Diagram(510, 410, alt=alt)
    boxes = {}
    for words, row in ROWS.items():
        look = TARGET if words in kept else {}
        place, name = (COLUMNS[len(words)], row), words[-1] if words else FIRST
        boxes[words] = _prefix(d, name, log_p(words), place, look, words == best)
        if words:
            p = TREE[words[:-1]][words[-1]]
            _branch(d, boxes[words[:-1]], boxes[words], p, look)
    second = _prefix(d, SECOND, SECOND_LOG_P, (COLUMNS[0], LOWEST), TARGET)
    word, p = SECOND_NEXT
    after = SECOND_LOG_P + math.log(p)
    _branch(d, second, _prefix(d, word, after, (COLUMNS[1], LOWEST), {}), p, {})
    d.text("greedy", COLUMNS[3], ROWS[greedy] - 36, **TARGET)
    d.text("beam", COLUMNS[3], ROWS[best] - 36, **TARGET)
    d.text("on arrows: $p$", COLUMNS[3] - 20, 286)
    d.text("in boxes: $Σ$ log $p$", COLUMNS[3] - 20, 312)
    return d


def _prefix(
    d: Diagram, word: str, log_p: float, place: tuple, look: dict, filled: bool = False
) -> Box:
    """A box for a prefix: its last word, or words, and its log-probability."""
    width = 132 if place[0] == COLUMNS[0] else 70
    label = f"{word}\n{number(log_p)}"
    return d.box(label, *place, width=width, height=46, filled=filled, **look)


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
    d.text(f"{p:.2f}", x, y, **look)
