"""The drawing of chapter 12: what happens to one batch in training."""

from itertools import pairwise

from attnbook.course.kit.drawings.diagram import Diagram


def batch_diagram() -> Diagram:
    """Draw one training step, from sentence pairs to an update, with an example."""
    alt = (
        "A column of five boxes joined by arrows, with an example next to each arrow. "
        "The pair A dog runs, Ein Hund rennt goes into subwords; their ids, 124 327 … "
        "and 127 326 …, into batching; two tensors, (B, S) and (B, T), into the "
        "Transformer, the one dark box; logits, (B, T, V), into the smoothed loss; a "
        "scalar into Adam, which also gets the learning rate. An arrow labelled new "
        "weights leads from Adam back to the Transformer."
    )
    d = Diagram(420, 490, alt=alt)
    x, step = 190, 96
    names = ("subwords", "batches", "Transformer", "smoothed loss", "Adam")
    boxes = [
        d.box(name, x, 80 + step * row, width=140, height=42, filled=row == 2)
        for row, name in enumerate(names)
    ]
    d.arrow((x, 18), boxes[0])
    for above, below in pairwise(boxes):
        d.arrow(above, below)
    examples = (
        ("A dog runs …", "Ein Hund rennt …"),
        ("124 327 1370 …", "127 326 1021 …"),
        ("source (B, S)", "target (B, T)"),
        ("logits", "(B, T, V)"),
        ("loss", "a scalar"),
    )
    roles = ({"role": "source"}, {"role": "target"})
    for row, lines in enumerate(examples):
        for line, (text, role) in enumerate(zip(lines, roles, strict=True)):
            y = 22 + step * row + 21 * line
            d.text(text, x + 90, y, **(role if row < 3 else {}))
    adam, transformer = boxes[4], boxes[2]
    left = x - 70
    d.arrow(
        (left, adam.y),
        (left - 46, adam.y),
        (left - 46, transformer.y),
        (left, transformer.y),
    )
    d.text("new", left - 82, adam.y - 107)
    d.text("weights", left - 82, adam.y - 86)
    d.arrow(d.text("learning rate", x + 172, adam.y), adam)
    return d
