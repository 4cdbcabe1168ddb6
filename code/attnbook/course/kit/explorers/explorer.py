"""The mechanism: a live explorer where a kernel runs, a still where it is stored.

A cell that ends with an explorer shows sliders, menus and text boxes, and PyTorch
computes the result anew whenever one is moved. But what a notebook *stores* must be
readable without a kernel, on the published page and in a notebook that nobody has run.
So the program that stores outputs, and the one that compares them, set
``ATTNBOOK_STILL=1``, and an explorer is then a picture with its text: no widget, and no
state of one.
"""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from html import escape

from IPython.display import HTML

from attnbook.course.kit.explorers.controls import Control, describe
from attnbook.course.kit.explorers.views import View, shown
from attnbook.course.kit.widgets.figures import figure

STILL_VARIABLE = "ATTNBOOK_STILL"
"""The environment variable that asks for the still; any value but nothing and 0."""

WIDTH = 550  # pixels, the most that a still takes


@dataclass
class Explorer:
    """Controls for the reader to move, and what follows; a cell calls it to show it.

    Attributes:
        show: Computes a view from the values of the controls. It raises a ValueError
            for a value that it cannot use, such as an unknown word: the reader is told
            its message, and the previous result disappears.
        controls: The controls, by the names of the arguments of ``show``.
        caption: What is to be learned, as a claim; what stands between double asterisks
            is bold. A cell that is a numbered figure has it in its metadata instead.
        printed: What is shown on paper and where nothing moves, if it is not the first
            view.
        on_page: Computes the views of the published page, if ``show`` takes too long.
    """

    show: Callable[..., View]
    controls: Mapping[str, Control]
    caption: str = ""
    printed: Callable[[], View] | None = None
    on_page: Callable[..., View] | None = None

    def __post_init__(self):
        self.on_page = self.on_page or self.show
        EXPLORERS[self.show.__module__] = self

    def __call__(self) -> object:
        """Return an ipywidgets box; or the still, if ``ATTNBOOK_STILL`` is set."""
        if os.environ.get(STILL_VARIABLE, "0") not in ("", "0"):
            return self.still()
        from attnbook.course.kit.explorers.with_kernel import live_explorer

        return live_explorer(self.show, self.controls, self.caption)

    def still(self) -> HTML:
        """The first view, or what is printed instead, as a picture with its text."""
        start = {name: control.start for name, control in self.controls.items()}
        first = (self.printed, {}) if self.printed else (self.show, start)
        said, picture, table = shown(*first)
        settings = escape("; ".join(map(describe, self.controls.values())))
        inside = (
            f'<div class="book-frame">\n<div class="book-picture">{picture}</div>\n'
            f'<div class="book-said">{said}</div>\n<div class="book-more">{table}</div>'
            f'\n<p class="book-settings">Settings: {settings}. To change them, run '
            "this cell.</p>\n</div>"
        )
        name = self.show.__module__
        return figure(inside, self.caption, width=WIDTH, explorer=name)


EXPLORERS: dict[str, Explorer] = {}
"""By the modules that show them; the published page finds an explorer here."""
