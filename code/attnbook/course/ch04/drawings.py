"""The drawings of chapter 4: the operations of attention, and the projections."""

from attnbook.course.kit.drawings.diagram import KEY, QUERY, VALUE, Diagram
from attnbook.course.kit.drawings.shapes import Point


def data_flow() -> Diagram:
    """Scaled dot-product attention, operation by operation, with all shapes."""
    alt = (
        "From the bottom up: queries Q, (T, d_k), and keys K, (S, d_k), go into a "
        "matrix product; scores, (T, S), through scale, an optional mask and softmax; "
        "weights, (T, S), and the values V, (S, d_v), into a second matrix product, "
        "from which the output comes, (T, d_v)."
    )
    d = Diagram(400, 512, alt=alt)
    left, middle, right = 70, 140, 320
    q = d.box("$Q$", left, 486, width=50, **QUERY)
    k = d.box("$K$", 210, 486, width=50, **KEY)
    v = d.box("$V$", right, 486, width=50, **VALUE)
    first = d.box("MatMul", middle, 396, width=190)
    scale = d.box("Scale, $1/√d_k$", middle, 318, width=190)
    mask = d.box("Mask (optional)", middle, 240, width=190)
    softmax = d.box("SoftMax", middle, 162, width=190)
    second = d.box("MatMul", right, 84, width=110)
    d.arrow(q, (left, first.y + 19), label="(T, $d_k$)", **QUERY)
    d.arrow(k, (210, first.y + 19), label="(S, $d_k$)", **KEY)
    d.arrow(v, second, label="(S, $d_v$)", **VALUE)
    for below, above in ((first, scale), (scale, mask), (mask, softmax)):
        d.arrow(below, above, label="(T, S)")
    d.arrow(softmax, (middle, 84), second, label="(T, S)")
    d.arrow(second, d.text("output", right, 16, **VALUE), label="(T, $d_v$)", **VALUE)
    return d


PROJECTIONS = (
    "From left to right: X, (T, D), goes into three matrix products. With W^Q, (D, "
    "d_k), it gives Q, (T, d_k); with W^K, (D, d_k), it gives K, (T, d_k); with W^V, "
    "(D, d_v), it gives V, (T, d_v). Q, K and V go into attention, which gives the "
    "output, (T, d_v)."
)
CELL = 16  # pixels, of a component in the blocks of projections()


def projections() -> Diagram:
    """One input, three matrices, and what they make of it; blocks to scale."""
    t, d_model, d_k = 6, 4, 3  # positions and components that are drawn; d_v = d_k
    d = Diagram(510, 430, alt=PROJECTIONS)
    top, middle, bottom = 76, 206, 336
    x = d.box("$X$", 46, middle, width=CELL * d_model, height=CELL * t)
    d.text("(T, D)", x.x, x.y + 64)
    rows = (("Q", "k", top, QUERY), ("K", "k", middle, KEY), ("V", "v", bottom, VALUE))
    width = CELL * d_k + 4
    size = {"width": width, "height": CELL * d_model}
    matrices = [
        d.box(f"$W^{name}$", 160, y, **size, **look) for name, _, y, look in rows
    ]
    for matrix in matrices:
        d.arrow(x, *_corner(104, x.y, matrix.y), matrix)
    end = d.box("attention", 374, middle, width=92, height=46)
    for (name, letter, y, look), matrix in zip(rows, matrices, strict=True):
        made = d.box(f"${name}$", 258, y, width=width, height=CELL * t, **look)
        d.text(f"(D, $d_{letter}$)", matrix.x, y + 48, **look)
        d.text(f"(T, $d_{letter}$)", made.x, y + 64, **look)
        d.arrow(matrix, made, **look)
        d.arrow(made, *_corner(end.x, y, end.y)[:1], end, **look)
    out = d.box("output", 474, middle, width=64, height=CELL * t, **VALUE)
    d.text("(T, $d_v$)", out.x, out.y + 64, **VALUE)
    d.arrow(end, out, **VALUE)
    return d


def _corner(x: float, start: float, end: float) -> tuple[Point, ...]:
    """The corners of a way that changes its height at x; none if it does not."""
    return () if start == end else ((x, start), (x, end))
