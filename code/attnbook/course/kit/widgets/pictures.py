"""A drawing in SVG that a script redraws when the reader moves a control.

From a notebook that it has not run itself JupyterLab removes inline SVG as well as
scripts. So the first state is there as an image too, until scripts run.
"""

from __future__ import annotations

import base64
from collections.abc import Iterable
from html import escape

from attnbook.course.kit.colours import INK
from attnbook.course.kit.drawings.diagram import FONT, SIZE
from attnbook.course.kit.widgets.controls import HIDDEN


def svg(width: int, height: int, alt: str, marks: Iterable[str]) -> str:
    """A drawing on a white ground."""
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" width="{width}" '
            f'height="{height}" viewBox="0 0 {width} {height}" role="img" '
            f'aria-label="{escape(alt)}" font-family="{FONT}" '
            f'font-size="{SIZE}" fill="{INK}" '
            'style="display: block; max-width: 100%; height: auto">',
            '<rect width="100%" height="100%" rx="6" fill="#FFF"/>',
            *marks,
            "</svg>",
        ]
    )


def live_picture(
    drawn: str, alt: str, said: str, *, width: int, script: str, look: str = ""
) -> str:
    """The first state: as an image, as what the script will change, and in words.

    Args:
        drawn: The drawing, from :func:`svg`.
        alt: What it shows.
        said: What follows from it, shown below.
        width: Of the image, pixels.
        script: From :func:`~attnbook.course.kit.widgets.scripts.on_load`.
        look: More of the style of the text below.
    """
    image = base64.b64encode(drawn.encode()).decode()
    return (
        '<div class="book-frame">\n'
        f'<img src="data:image/svg+xml;base64,{image}" alt="{escape(alt)}" '
        f'width="{width}" style="max-width: 100%; height: auto"{script}>\n'
        f'<div class="book-live"{HIDDEN}>\n{drawn}\n</div>\n'
        '<p class="book-result" aria-live="polite" '
        f'style="margin: 0.3em 0{look}">{said}</p>\n</div>'
    )
