"""Figures of matplotlib as images inside HTML."""

from __future__ import annotations

import base64
import io
from html import escape

import matplotlib.pyplot as plt
from matplotlib.figure import Figure
from PIL import Image


def png_image(drawn: Figure, alt: str, *, script: str = "", look: str = "") -> str:
    """Turn a figure into an image that holds its own bytes, and close the figure."""
    image = base64.b64encode(_png(drawn)).decode()
    width = round(100 * drawn.get_figwidth())
    plt.close(drawn)
    return (
        f'<img src="data:image/png;base64,{image}" alt="{escape(alt)}" '
        f'width="{width}" style="max-width: 100%; height: auto; border-radius: 6px'
        f'{look}"{script}>'
    )


def _png(figure: Figure) -> bytes:
    """Draw a figure: sharp on any screen, 256 colours, the same bytes every time."""
    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=200, metadata={"Software": None})
    small = io.BytesIO()
    image = Image.open(full).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()
