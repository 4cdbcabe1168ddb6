"""Text of diagrams: words upright, formulas between dollar signs set as in a book."""

import re
from html import escape

MATH_FONT = "'STIX Two Text', 'Times New Roman', 'Liberation Serif', serif"
OVER = re.compile(r"^\$([→←])(.)([^$]*)\$$")  # $→h_j$: an arrow over the h
NARROW = "ijlt,"  # letters about half as wide as others
SCRIPT = re.compile(r"([_^])(?:\{([^{}_^]+)\}|([^{}_^]))")  # _1, ^{t-1}


def tspans(label: str, size: float) -> str:
    """Set a label as the inside of an SVG ``<text>`` element, in a size of pixels.

    Its formulas stand between dollar signs: ``state $h_{t-1}$``, ``$W^Q$``. The arrow
    of ``$→h_j$`` is left out: see :func:`over_arrow`.
    """
    parts = OVER.sub(r"$\2\3$", label).split("$")
    return "".join(
        _formula(part, 1.15 * size) if number % 2 else escape(part)
        for number, part in enumerate(parts)
    )


def plain(label: str) -> str:
    """A label without its marks, to judge its length."""
    return re.sub(r"[$_^{}]", "", label)


def over_arrow(label: str, x: float, y: float, size: float) -> str:
    """The arrow over the first letter of a formula such as ``$→h_j$``, as path data.

    It is drawn, since few fonts place the character for it well. A label that is no
    such formula has none. ``x`` is its middle, and ``y`` the height of the arrow.
    """
    match = OVER.fullmatch(label)
    if not match:
        return ""
    sign, _, rest = match.groups()
    em = 0.72 * 1.15 * size
    scripts = sum(em * (0.28 if c in NARROW else 0.5) for c in plain(rest))
    middle, half = x - scripts / 2 + 1, 0.38 * size
    ahead = 1 if sign == "→" else -1
    tip, barb = middle + ahead * half, -ahead * 3.5
    return (
        f"M{middle - ahead * half:.1f},{y:.1f} H{tip:.1f} "
        f"m{barb:.1f},-3 l{-barb:.1f},3 l{barb:.1f},3"
    )


def _formula(formula: str, size: float) -> str:
    """Letters in italics, digits and signs upright; scripts smaller and shifted."""
    spans, height = [], 0.0  # height: of the last piece of text, downwards
    for sign, braced, single, base in re.findall(
        SCRIPT.pattern + r"|([^_^]+)", formula.replace("-", "\u2212")
    ):
        new = {"_": 0.22 * size, "^": -0.38 * size, "": 0.0}[sign]
        spans += _runs(
            braced or single or base, new - height, size * (0.72 if sign else 1)
        )
        height = new
    return f'<tspan font-family="{MATH_FONT}">{"".join(spans)}</tspan>'


def _runs(text: str, dy: float, size: float) -> list[str]:
    """Letters and the rest as pieces of one size, the first of them moved by dy."""
    spans = []
    letters = r"(?:[^\W\d_][\u0300-\u036f]*)+"  # an accent goes with its letter
    for run in re.findall(letters + r"|[\W\d_]+", text):
        italic = ' font-style="italic"' if run[0].isalpha() else ""
        move = f' dy="{dy:.1f}"' if abs(dy) > 0.05 and not spans else ""
        spans.append(
            f'<tspan font-size="{size:.1f}"{move}{italic}>{escape(run)}</tspan>'
        )
    return spans
