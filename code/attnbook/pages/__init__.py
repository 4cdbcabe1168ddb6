"""What only the pages need; no other room imports it.

What a chapter shows, in folders with a module for each chapter:

- ``figures``: figures and tables, drawn from runs and stored results
- ``drawings``: diagrams, and the boxes and arrows that they are made of
- ``exercises``: what exercises check, and their hints
- ``widgets``: figures that the reader moves, in HTML and JavaScript

What these share:

- ``colours``, ``style``: five colours with a meaning, greys; one look for all figures
- ``curves``, ``heat_maps``, ``tables``: bands over seeds and labels at lines; weights
  and masks as cells; aligned text with means and ranges
- ``equivalence``: the table that compares ours with a reference
- ``sources``: source code shown in the page
"""

from attnbook.core.threads import set_threads
from attnbook.pages.equivalence import equivalence_table
from attnbook.pages.exercises.checking import check
from attnbook.pages.figures.exact_match import exact_match_figure, print_exact_match
from attnbook.pages.sources import show_source
from attnbook.pages.style import use_style
from attnbook.pages.widgets.steppers import stepper

__all__ = [
    "begin",
    "check",
    "equivalence_table",
    "exact_match_figure",
    "print_exact_match",
    "show_source",
    "stepper",
]


def begin() -> None:
    """Set what every chapter takes for granted: PyTorch's threads, the figures' style.

    Raises:
        ValueError: If ``ATTNBOOK_THREADS`` is not a number of threads.
    """
    set_threads()
    use_style()
