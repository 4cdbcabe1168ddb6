"""What one setting of an explorer's controls shows, and its form as HTML."""

from __future__ import annotations

from collections.abc import Callable
from html import escape
from typing import NamedTuple

import matplotlib.figure  # by its whole name, which the API page links

from attnbook.course.kit.style import SETTINGS
from attnbook.course.kit.widgets.png_pictures import png_image


class View(NamedTuple):
    """What an explorer shows for one setting of its controls."""

    said: str  # the result in one or two sentences, which screen readers announce
    figure: matplotlib.figure.Figure
    alt: str  # what the figure shows, for those who cannot see it
    table: str = ""  # more of the result, HTML


class Shown(NamedTuple):
    """A view as HTML."""

    said: str
    picture: str  # the figure, and the table below it


def shown(
    show: Callable[..., View], settings: dict[str, object], script: str = ""
) -> Shown:
    """Compute a view in the style of the book, and turn it into HTML.

    Args:
        show: Computes a view from the values of the controls.
        settings: These values.
        script: An attribute of the picture, which starts when it has loaded.

    Raises:
        ValueError: Whatever ``show`` raises about a value.
    """
    with matplotlib.rc_context(SETTINGS):
        view = show(**settings)
        width, height = view.figure.get_size_inches()
        # Its room is kept while the picture loads, so that the page does not jump.
        ratio = f"; aspect-ratio: {width:g} / {height:g}"
        picture = png_image(view.figure, view.alt, script=script, look=ratio)
    return Shown(f"<p>{escape(view.said)}</p>", picture + view.table)
