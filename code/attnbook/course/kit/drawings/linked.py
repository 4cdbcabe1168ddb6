"""A diagram whose boxes are links.

A picture in the page is an image, in which links are dead. So they lie over it, each as
large as its box in per cent of the picture, whatever size that is shown in. No script
is needed. On the published page they lead somewhere; elsewhere there are no such pages.
"""

import base64
from html import escape

from attnbook.course.kit.drawings.diagram import SIZE, Box, Diagram
from attnbook.course.kit.drawings.shapes import number

SMALLEST_TEXT = 11  # pixels; on a narrower screen the picture scrolls


class LinkedDiagram(Diagram):
    """A diagram that leads to other pages."""

    def __init__(self, width: float, height: float, *, alt: str):
        super().__init__(width, height, alt=alt)
        self._links: list[str] = []

    def link(self, box: Box, address: str, name: str) -> None:
        """Let a place lead to an address, seen from the page that shows the diagram.

        The name of what is there is read aloud, and shown while the mouse is over it.
        """
        left, top = box.x - box.width / 2, box.y - box.height / 2
        place = {
            "left": left / self.width,
            "top": top / self.height,
            "width": box.width / self.width,
            "height": box.height / self.height,
        }
        style = "; ".join(f"{key}: {part:.2%}" for key, part in place.items())
        self._links.append(
            f'<a class="book-box" href="{escape(address)}" title="{escape(name)}" '
            f'aria-label="{escape(name)}" '
            f'style="position: absolute; border-radius: 7px; {style}"></a>'
        )

    def _repr_html_(self) -> str:
        image = base64.b64encode(self._repr_svg_().encode()).decode()
        smallest = number(self.width * SMALLEST_TEXT / SIZE)
        return "\n".join(
            [
                '<div class="book-linked scroll-box" style="overflow-x: auto">',
                '<div style="position: relative; '
                f'max-width: {number(self.width)}px; min-width: {smallest}px">',
                f'<img src="data:image/svg+xml;base64,{image}" '
                f'alt="{escape(self.alt)}" width="{number(self.width)}" '
                'style="display: block; width: 100%; height: auto; padding: 0">',
                *self._links,
                "</div>",
                "</div>",
            ]
        )
