"""The frame of all figures that a reader moves, in a page and in a notebook."""

from __future__ import annotations

import re
from html import escape
from typing import TYPE_CHECKING

if TYPE_CHECKING:  # a machine for training alone has no notebooks
    from IPython.display import HTML


def figure(inside: str, caption: str, *, width: int, explorer: str = "") -> HTML:
    """Put a figure together.

    Args:
        inside: Controls and pictures, HTML.
        caption: What is to be learned, as a claim; what stands between double asterisks
            is bold. Without one, the cell has it.
        width: The most pixels.
        explorer: The module of an explorer, if it is one.

    Returns:
        The figure, which a notebook shows.
    """
    name = f' data-explorer="{explorer}"' if explorer else ""
    tag, below = "div", ""
    if caption:
        tag, below = "figure", f"\n<figcaption>{claim(caption)}</figcaption>"
    look = f'style="margin: 1em 0; max-width: {width}px"'
    from IPython.display import HTML

    return HTML(f'<{tag} class="book-stepper"{name} {look}>\n{inside}{below}\n</{tag}>')


def claim(caption: str) -> str:
    """A caption as HTML: between double asterisks bold, between single ones italic."""
    text = re.sub(r"\*\*(.+?)\*\*", r"<strong>\1</strong>", escape(caption))
    return re.sub(r"\*(.+?)\*", r"<em>\1</em>", text)
