"""A slider over pictures drawn beforehand."""

from __future__ import annotations

from collections.abc import Sequence
from html import escape
from typing import TYPE_CHECKING

from matplotlib.figure import Figure

from attnbook.course.kit.widgets.controls import (
    HIDDEN,
    figure,
    hidden_controls,
    slider_row,
)
from attnbook.course.kit.widgets.png_pictures import png_image
from attnbook.course.kit.widgets.scripts import on_load

if TYPE_CHECKING:  # a machine for training alone has no notebooks
    from IPython.display import HTML


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
        _frame(*step, first=number == 0)
        for number, step in enumerate(zip(figures, captions, alts, strict=True))
    ]
    pictures = "\n".join(frames)
    inside = f'{hidden_controls(row)}\n<div aria-live="polite">\n{pictures}\n</div>'
    return figure(inside, caption, width=width)


def _frame(drawn: Figure, text: str, alt: str, *, first: bool) -> str:
    """A picture and its text; only the first one is shown, and starts the script."""
    image = png_image(drawn, alt, script=on_load("stepper") if first else "")
    return (
        f'<div class="book-frame"{"" if first else HIDDEN}>{image}'
        f'<p style="margin: 0.3em 0">{escape(text)}</p></div>'
    )


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
