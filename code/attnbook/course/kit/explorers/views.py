"""What one setting of an explorer's controls shows, and its form as HTML."""

from collections.abc import Callable
from html import escape
from typing import Any, NamedTuple

import matplotlib.figure  # by its whole name, which the API page links

from attnbook.course.kit.explorers.charts import Chart, as_data
from attnbook.course.kit.explorers.drawn import figure_of, row_heights
from attnbook.course.kit.html_tables import Table
from attnbook.course.kit.style import SETTINGS
from attnbook.course.kit.widgets.figures import png_image


class View(NamedTuple):
    """What an explorer shows for one setting of its controls."""

    said: str  # the result in one or two sentences, which screen readers announce
    drawn: matplotlib.figure.Figure | tuple[Chart, ...]
    alt: str  # what is drawn, for those who cannot see it
    table: Table | None = None  # more of the result
    columns: int = 1  # how many charts stand beside each other

    @property
    def figure(self) -> matplotlib.figure.Figure:
        """What is drawn as a figure of matplotlib; charts make a new one each time."""
        if isinstance(self.drawn, tuple):
            return figure_of(self.drawn, columns=self.columns)
        return self.drawn

    @property
    def height(self) -> int:
        """Pixels that the charts take together."""
        return sum(row_heights(self.drawn, self.columns))

    def as_data(self) -> dict[str, Any]:
        """The view as the published page draws it, as JSON holds it."""
        charts = [as_data(chart) for chart in self.drawn]
        found = {"said": self.said, "alt": self.alt, "charts": charts}
        found["columns"] = self.columns
        if self.table:
            found["table"] = self.table._repr_html_()
        return found


def shown(
    show: Callable[..., View], settings: dict[str, object], script: str = ""
) -> tuple[str, str, str]:
    """Compute a view in the style of the book, and turn it into HTML.

    Returns:
        The result in words, the picture, and the table below it.

    Raises:
        ValueError: Whatever ``show`` raises about a value.
    """
    with matplotlib.rc_context(SETTINGS):
        view = show(**settings)
        figure = view.figure
        width, height = figure.get_size_inches()
        # Its room is kept while the picture loads, so that the page does not jump.
        ratio = f"; aspect-ratio: {width:g} / {height:g}"
        picture = png_image(figure, view.alt, script=script, look=ratio)
    table = view.table._repr_html_() if view.table else ""
    said = escape(view.said).replace("\n", "<br/>")
    return f"<p>{said}</p>", picture, table
