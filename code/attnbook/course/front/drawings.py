"""The drawings of the front page, for readers who have read nothing yet."""

from attnbook.course.kit.drawings.diagram import SOURCE, TARGET, Box, Diagram
from attnbook.course.kit.drawings.linked import LinkedDiagram
from attnbook.course.kit.tables import stored_runs

WIDTH = 344  # pixels: a phone shows it without scrolling
LEFT, RIGHT = 80, 264
CHAPTERS = {
    "numbers": ("ch09_transformer.html#embeddings-and-tied-weights", "chapter 9"),
    "order": ("ch07_positions.html", "chapter 7"),
    "attention": ("ch04_scaled_dot_product.html", "chapters 4, 5"),
    "own words": ("ch06_masks.html", "chapter 6"),
    "the English": ("ch02_bahdanau.html", "chapters 2, 3"),
    "thinking": ("ch08_layers.html", "chapter 8"),
    "choice": ("ch10_decoding.html", "chapter 10"),
    "training": ("ch12_training.html", "chapter 12"),
}
OVERVIEW = (
    "Two columns of boxes, each with the chapter that builds it, read from the bottom "
    "up. Left, the half that reads English: words as numbers, word order, then four "
    "times attention and each word alone. Right, the half that writes German: words as "
    "numbers, word order, then four times attention to its own words, attention to the "
    "English, and each word alone; on top, the next word. An arrow leads from the left "
    "half into the attention to the English. Below both, training."
)


def overview() -> LinkedDiagram:
    """The Transformer in plain words; its boxes lead to the chapters."""
    d = LinkedDiagram(WIDTH, 690, alt=OVERVIEW)
    _box(d, "29,000 translated sentences", WIDTH / 2, 656, "training", width=336)
    reads = {
        "numbers": "words as numbers",
        "order": "word order",
        "attention": "attention\nto each other",
        "thinking": "each word alone",
    }
    *_, top = _column(d, LEFT, "The old woman …", reads, SOURCE)
    writes = {
        "numbers": "words as numbers",
        "order": "word order",
        "own words": "attention\nto its own words",
        "the English": "attention\nto the English",
        "thinking": "each word alone",
        "choice": "the next word",
    }
    *_, cross, _, _ = _column(d, RIGHT, "Die alte …", writes, TARGET)
    for x, height in ((LEFT, 206), (RIGHT, 312)):
        d.frame(x - 78, 406 - height, x + 78, 406)
        d.text("4 times", x - 40, 392)
    rail, above = (LEFT + RIGHT) / 2 - 5, 176
    d.arrow(top, (LEFT, above), (rail, above), (rail, cross.y), cross, **SOURCE)
    return d


PLACES = {"numbers": 528, "order": 452, "attention": 340, "own words": 340}
PLACES |= {"thinking": 236, "the English": 236, "choice": 34}
"""Heights of the boxes, down; the right column thinks higher up."""


def _column(d: LinkedDiagram, x: float, words: str, parts: dict, look: dict) -> list:
    """Boxes from a sentence upwards, with an arrow from each to the next."""
    places = PLACES | ({"thinking": 126} if "the English" in parts else {})
    boxes = [d.text(words, x, 600, **look)]
    for part, label in parts.items():
        boxes.append(_box(d, label, x, places[part], part, **look))
        d.arrow(*boxes[-2:], **look)
    return boxes


def _box(
    d: LinkedDiagram, label: str, x: float, y: float, part: str, width=152, **look
) -> Box:
    """A box that says what it is for and where it is built; it leads there."""
    address, chapter = CHAPTERS[part]
    height = 50 + 21 * label.count("\n")
    box = d.box(f"{label}\n{chapter}", x, y, width=width, height=height, **look)
    d.link(box, address, f"{label}: {chapter}".replace("\n", " "))
    return box


CUTS = {
    "nothing": "whole",
    "encoder's self-attention": "English words can't look around",
    "decoder's self-attention": "German words can't look back",
}
"""What is cut, as ``translator_cuts`` names it, and in plain words."""


def cuts() -> Diagram:
    """Bars: the translator's score as it is, and with an attention cut out."""
    stored = stored_runs("translator_cuts", translator="shipped")
    runs = {run["cut"]: run["bleu"] for run in stored}
    told = "; ".join(f"{words}: {runs[cut]:.0f}" for cut, words in CUTS.items())
    d = Diagram(WIDTH, 180, alt=f"Bars of the translator's score. {told}.")
    for row, (cut, words) in enumerate(CUTS.items()):
        y, length = 20 + 58 * row, 7 * runs[cut]
        d.text(words, 4, y, anchor="start")
        d.bar(4, y + 24, length)
        d.text(f"{runs[cut]:.0f}", length + 12, y + 24, anchor="start")
    return d
