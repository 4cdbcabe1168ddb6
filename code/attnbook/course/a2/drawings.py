"""The drawings of appendix A2: the block of 2017 next to that of today."""

from attnbook.course.kit.drawings.diagram import Box, Diagram

STREAM = 3.4  # width of the line that leads from a block's input to its output
WIDE = 140  # a box with the name of a part
TWO_BLOCKS = (
    "Two columns, from the bottom up; in each a thick line goes from x, (B, T, D), to "
    "the block's output, and two sublayers branch off to the right and are added back. "
    "2017: multi-head attention and ReLU feed-forward, and after each sum the thick "
    "line goes through a box LayerNorm; sinusoids are added to x below. Today: before "
    "each sublayer stands a box RMSNorm on the branch; the sublayers are grouped-query "
    "attention, with QK-norm and RoPE on queries and keys alone, and SwiGLU; the thick "
    "line meets nothing but the two sums."
)


def two_blocks() -> Diagram:
    """What is added to what, and where the norms stand: 2017 and today."""
    d = Diagram(510, 610, alt=TWO_BLOCKS)
    below = _column(d, "2017: post-norm", 58, 176)
    plus = d.plus(58, below.y - 38)
    d.arrow(below, plus, width=STREAM)
    d.arrow(d.text("sinusoids", 176, plus.y), plus)
    for name, foot in (("multi-head\nattention", 490), ("ReLU\nfeed-forward", 276)):
        plus = _post_norm(d, name, plus, 176, foot)
    d.arrow(plus, d.text("(B, T, D)", 58, 52), width=STREAM)
    below = _column(d, "today: pre-norm", 306, 424)
    for name, foot in (("grouped-query\nattention", 548), ("SwiGLU", 270)):
        below = _pre_norm(d, name, below, 424, foot)
    d.arrow(below, d.text("(B, T, D)", 306, 52), width=STREAM)
    return d


def _column(d: Diagram, title: str, stream: float, branch: float) -> Box:
    """The title above, and what comes in below."""
    d.text(title, (stream + branch) / 2, 18)
    d.text("(B, T, D)", stream + 54, 594)
    return d.text("$x$", stream, 594)


def _post_norm(d: Diagram, name: str, below: Box, branch: float, foot: float) -> Box:
    """A part that branches off at the height ``foot``; the norm after the sum."""
    plus = d.plus(below.x, foot - 92)
    norm = d.box("LayerNorm", below.x, foot - 142, width=96, height=34)
    box = d.box(name, branch, foot - 46, width=WIDE - 22, height=50)
    lower = box.y + box.height / 2
    if "attention" in name:
        d.line((below.x, foot), (branch + 22.9, foot))
        for role, shift in (("query", -22), ("key", 0), ("value", 22)):
            d.arrow((branch + shift, foot), (branch + shift, lower), role=role)
    else:
        d.arrow((below.x, foot), (branch, foot), box)
    d.arrow(box, (branch, plus.y), plus)
    d.arrow(below, plus, width=STREAM)
    d.arrow(plus, norm, width=STREAM)
    return norm


def _pre_norm(d: Diagram, name: str, below: Box, branch: float, foot: float) -> Box:
    """The same, with the norm on the branch."""
    norm = d.box("RMSNorm", branch, foot - 36, width=WIDE, height=34)
    d.arrow((below.x, foot), (branch, foot), norm)
    if "attention" in name:
        box = d.box(name, branch, foot - 178, width=WIDE, height=50)
        _queries_keys_values(d, norm, box)
    else:
        box = d.box(name, branch, foot - 106, width=WIDE, height=34)
        d.arrow(norm, box)
    plus = d.plus(below.x, box.y - 54)
    d.arrow(box, (branch, plus.y), plus)
    d.arrow(below, plus, width=STREAM)
    return plus


def _queries_keys_values(d: Diagram, norm: Box, box: Box) -> None:
    """Queries and keys pass two more parts; values go straight up."""
    lower, upper = norm.y - norm.height / 2, box.y + box.height / 2
    x, height = norm.x - 18, 48
    middle = (lower + upper) / 2
    d.box("QK-norm\nRoPE", x, middle, width=92, height=height)
    for role, shift in (("query", -22), ("key", 22)):
        d.arrow((x + shift, lower), (x + shift, middle + height / 2), role=role)
        d.arrow((x + shift, middle - height / 2), (x + shift, upper), role=role)
    d.arrow((norm.x + 52, lower), (norm.x + 52, upper), role="value")
