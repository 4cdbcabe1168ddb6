"""A slider over pictures drawn beforehand."""

from __future__ import annotations

import base64
import io
from collections.abc import Sequence
from html import escape

import matplotlib.pyplot as plt
from IPython.display import HTML
from matplotlib.figure import Figure
from PIL import Image

from attnbook.pages.widgets.controls import (
    HIDDEN,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.pages.widgets.scripts import on_load


def stepper(
    figures: Sequence[Figure],
    captions: Sequence[str],
    *,
    label: str,
    caption: str,
    alts: Sequence[str] | None = None,
) -> HTML:
    """Let the reader step through figures with a slider and two buttons.

    The figures are closed, so that the notebook does not show them a second time.

    Args:
        figures: One figure a step, all of one size.
        captions: What to see at each step, shown below its picture.
        label: What the slider moves, such as "Decoder step".
        caption: What all steps together show, as a claim, shown at the end; what
            stands between double asterisks is bold, as in other captions.
        alts: What each picture shows, for those who cannot see it; by default its
            caption.

    Returns:
        The stepper, which a notebook shows.

    Raises:
        ValueError: If there are fewer than two figures, if the numbers of figures and
            texts differ, if a text is empty, or if figures differ in size.
    """
    alts = captions if alts is None else alts
    _check(figures, label=label, caption=caption, captions=captions, alts=alts)
    width = round(100 * figures[0].get_figwidth())  # as in the page: 100 dots an inch
    count = len(figures)
    text = f"1 of {count}"
    row = slider_row(escape(label), label, low=0, value=0, high=count - 1, text=text)
    frames = [
        _frame(*step, width, first=number == 0)
        for number, step in enumerate(zip(figures, captions, alts, strict=True))
    ]
    pictures = "\n".join(frames)
    inside = f'{hidden_controls(row)}\n<div aria-live="polite">\n{pictures}\n</div>'
    return figure(inside, caption, width=width)


def _frame(drawn: Figure, text: str, alt: str, width: int, *, first: bool) -> str:
    """A picture and its text; only the first one is shown, and starts the script."""
    image = base64.b64encode(_png(drawn)).decode()
    plt.close(drawn)
    return (
        f'<div class="book-frame"{"" if first else HIDDEN}>'
        f'<img src="data:image/png;base64,{image}" alt="{escape(alt)}" '
        f'width="{width}" style="max-width: 100%; height: auto; border-radius: 6px"'
        f"{on_load('stepper') if first else ''}>"
        f'<p style="margin: 0.3em 0">{escape(text)}</p></div>'
    )


def _png(figure: Figure) -> bytes:
    """Draw a figure: sharp on any screen, 256 colours, the same bytes every time."""
    full = io.BytesIO()
    figure.savefig(full, format="png", dpi=200, metadata={"Software": None})
    small = io.BytesIO()
    image = Image.open(full).convert("RGB")
    image.quantize(256, dither=Image.Dither.NONE).save(small, "PNG", optimize=True)
    return small.getvalue()


def _check(figures: Sequence[Figure], **texts: str | Sequence[str]) -> None:
    if len(figures) < 2:
        raise ValueError(
            f"{len(figures)} figures given, but stepping needs at least two: "
            f"show a single figure as it is."
        )
    for name, given in texts.items():
        if not isinstance(given, str) and len(given) != len(figures):
            raise ValueError(
                f"{len(figures)} figures, but {len(given)} {name}: give one each."
            )
        if not all([given] if isinstance(given, str) else given):
            raise ValueError(f"an empty text in {name}: say what is to be seen.")
    sizes = {tuple(figure.get_size_inches()) for figure in figures}
    if len(sizes) > 1:
        raise ValueError(
            f"figures of different sizes, {sorted(map(str, sizes))} inches: give all "
            f"the same figsize, or the page jumps at each step."
        )
