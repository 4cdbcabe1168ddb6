"""What only the pages need; no other room imports it.

What a chapter shows, in folders with a module for each chapter:

- ``figures``: figures and tables, drawn from runs and stored results
- ``drawings``: diagrams, and the boxes and arrows that they are made of
- ``exercises``: what exercises check, and their hints
- ``widgets``: figures that the reader moves, in HTML and JavaScript
- ``explorers``: figures that PyTorch computes anew as the reader moves a control

What these share:

- ``colours``, ``style``: five colours with a meaning, greys; one look for all figures
- ``curves``, ``heat_maps``: bands over seeds and labels at lines; weights and masks
  as cells
- ``html_tables``, ``tables``: results as tables; stored runs for them
- ``names``: what stored results are called for a reader
- ``equivalence``: the table that compares ours with a reference
- ``sources``: source code shown in the page
"""

from attnbook.core.threads import set_threads
from attnbook.pages.equivalence import agreement_table
from attnbook.pages.exercises.checking import check
from attnbook.pages.exercises.judging import judge
from attnbook.pages.exercises.my_transformer import my_part, save_part
from attnbook.pages.figures.exact_match import exact_match_figure, exact_match_table
from attnbook.pages.html_tables import Column, spread, table
from attnbook.pages.sources import show_source
from attnbook.pages.style import use_style
from attnbook.pages.widgets.steppers import stepper

__all__ = [
    "Column",
    "agreement_table",
    "begin",
    "check",
    "exact_match_figure",
    "exact_match_table",
    "judge",
    "my_part",
    "save_part",
    "show_source",
    "spread",
    "stepper",
    "table",
]


def begin() -> None:
    """Set what every chapter takes for granted: PyTorch's threads, the figures' style.

    Raises:
        ValueError: If ``ATTNBOOK_THREADS`` is not a number of threads.
    """
    set_threads()
    use_style()
