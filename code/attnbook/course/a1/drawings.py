"""The drawing of appendix A1: three models made of one stack."""

from attnbook.course.kit.drawings.diagram import SOURCE, TARGET, Diagram

THREE = (
    "Three columns, read from the bottom up. Decoder-only: bos, a, dog, ran go into "
    "the stack, whose mask is a triangle; a, dog, ran, off come out. Encoder-only: a, "
    "[M], ran, off go into the stack, whose mask is full; dog comes out above [M]. "
    "ViT: [C] and three patches go into the stack, whose mask is full; the digit 7 "
    "comes out above [C]."
)
COLUMNS = (
    ("decoder-only", ("bos", "a", "dog", "ran"), ("a", "dog", "ran", "off"), True),
    ("encoder-only", ("a", "[M]", "ran", "off"), ("", "dog", "", ""), False),
    ("ViT", ("[C]", "▦", "▦", "▦"), ("7", "", "", ""), False),
)
WIDTH, GAP, STEP = 162, 10, 40
"""Pixels: a column, what is between two, from one token to the next."""


def three_models() -> Diagram:
    """Decoder-only, encoder-only and ViT next to each other, from the bottom up."""
    d = Diagram(3 * WIDTH + 2 * GAP, 256, alt=THREE)
    for number, (name, inputs, outputs, causal) in enumerate(COLUMNS):
        left, size = number * (WIDTH + GAP), len(inputs)
        middle = left + WIDTH / 2
        d.text(name, middle, 16)
        stack = d.box("", middle, 150, width=WIDTH - 4, height=96)
        d.text("stack of", left + 46, 140)
        d.text("layers", left + 46, 161)
        mask = [[not causal or j <= i for j in range(size)] for i in range(size)]
        d.tiles(mask, left + 92, 120, size=15)
        for i, (word, output) in enumerate(zip(inputs, outputs, strict=True)):
            x = middle + STEP * (i - (size - 1) / 2)
            d.text(word, x, 240, **SOURCE)
            d.arrow((x, 226), (x, stack.y + 48))
            if output:
                box = d.box(output, x, 56, width=STEP - 5, height=30, **TARGET)
                d.arrow((x, stack.y - 48), box)
    return d
