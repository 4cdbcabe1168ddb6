"""The drawing of chapter 12: the way of a batch in training."""

from __future__ import annotations

from attnbook.pages.drawings.diagram import Diagram


def batch_diagram() -> Diagram:
    """Draw the way of a batch in training, from sentences to an update."""
    alt = (
        "A column of boxes joined by arrows: sentence pairs as text, subwords, "
        "batch by tokens, Transformer, smoothed loss, one update. From the batch "
        "ids (B, S) and (B, T) go to the Transformer, logits (B, T, V) go to the "
        "loss. A rate from the schedule goes into the update, and an arrow leads "
        "from the update back to the Transformer, the one dark box."
    )
    d = Diagram(370, 474, alt=alt)
    x, size = 170, {"width": 150, "height": 42}
    way = [d.text("sentence pairs", x, 22)]
    names = ("clean text", "subwords", "batch by tokens", "Transformer")
    for row, name in enumerate((*names, "smoothed loss", "update by Adam"), start=1):
        way.append(d.box(name, x, 18 + 71 * row, filled=name == names[-1], **size))
    labels = ("", "", "ids", "(B, S), (B, T)", "(B, T, V)", "a number")
    for above, below, label in zip(way, way[1:], labels, strict=False):
        d.arrow(above, below, label=label)
    update, transformer = way[-1], way[4]
    edge = x + 75
    d.arrow(
        (edge, update.y),
        (edge + 95, update.y),
        (edge + 95, transformer.y),
        (edge, transformer.y),
    )
    d.text("weights", edge + 57, update.y - 52)
    d.arrow(d.text("rate", 34, update.y), update)
    return d
