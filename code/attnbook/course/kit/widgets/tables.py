"""Tables that a script changes: their look, and cells bluer the more they hold.

JupyterLab keeps tables in a notebook that it has not run itself, so the first state
needs no image of its own. White and blue are opaque, as the page around may be dark.
"""

from __future__ import annotations

import base64

from attnbook.course.kit.colours import COLOURS, INK
from attnbook.course.kit.drawings.diagram import FONT

TABLE = (
    f"margin: 0; padding: 0; background: #FFF; color: {INK}; border: 0; "
    "border-collapse: separate; border-spacing: 3px; width: auto; table-layout: auto; "
    "font-size: 15px; line-height: 1.3; font-variant-numeric: tabular-nums"
)
CELL = (
    f"padding: 2px 0; border: 0; background: #FFF; color: {INK}; text-align: center; "
    "vertical-align: middle; min-width: 52px; font-weight: 400"
)
# What a weight of 1 takes from white, of red, green and blue: seven tenths of the way
# to the colour of the source, on which dark text can still be read.
LACK = [round(0.7 * (255 - int(COLOURS["source"][i : i + 2], 16))) for i in (1, 3, 5)]


def cell(inside: str, name: str, look: str) -> str:
    """A cell of a class; later styles win."""
    return f'<td class="{name}" style="{CELL}; {look}">{inside}</td>'


def head(scope: str, inside: str, look: str = "", name: str = "") -> str:
    """The head of a row or a column, maybe of a class."""
    of = f' class="{name}"' if name else ""
    return f'<th{of} scope="{scope}" style="{CELL}{look}">{inside}</th>'


def blue(weight: float) -> str:
    """White at a weight of 0."""
    channels = ", ".join(f"{255 - weight * lack:.0f}" for lack in LACK)
    return f"rgb({channels})"


def scale_of_blue(script: str) -> str:
    """What the blue means, as an image, which starts the script when it has loaded."""
    ends = "".join(f'<stop offset="{w}" stop-color="{blue(w)}"/>' for w in (0, 1))
    svg = (
        '<svg xmlns="http://www.w3.org/2000/svg" width="56" height="20" '
        f'font-family="{FONT}" font-size="14" fill="{INK}">'
        f'<linearGradient id="blue">{ends}</linearGradient>'
        '<rect width="56" height="20" fill="url(#blue)"/><text x="4" y="15">0</text>'
        '<text x="44" y="15">1</text></svg>'
    )
    image = base64.b64encode(svg.encode()).decode()
    return (
        f'<img src="data:image/svg+xml;base64,{image}" width="56" '
        'alt="From white, a weight of 0, to blue, a weight of 1." '
        'style="display: block; padding: 0; border-radius: 0"'
        f"{script}>"
    )
