"""What only the pages need, by chapter; no other room imports it.

A folder for each chapter, ``ch01`` to ``ch12``, and for each page of the appendix holds
all that belongs to it and to its laboratory page:

- ``figures``, ``lab``: figures and tables of the chapter, of the laboratory
- ``drawings``: diagrams
- ``exercises``: what the short exercises check, and their hints
- ``part_…``: what the reader writes in full, stage by stage, and the usual mistakes
- ``explorer_…``: what the reader moves; ``widget_calculator`` of chapter 4 has too many
  states to be computed beforehand, so its script computes them

What runs longer than a page may stands beside the package, in ``code/experiments``.
``front`` belongs to the front page, ``silent_bugs`` to the page of that name, and
``kit`` is what chapters share. The names below
are those that most pages use.
"""

from attnbook.core.threads import set_threads
from attnbook.course.kit.equivalence import agreement_table
from attnbook.course.kit.exact_match import exact_match_figure, exact_match_table
from attnbook.course.kit.exercises.my_transformer import my_part, save_part
from attnbook.course.kit.exercises.my_translator import my_translator
from attnbook.course.kit.exercises.short_exercises import check
from attnbook.course.kit.exercises.written_parts import judge
from attnbook.course.kit.html_tables import Column, spread, table
from attnbook.course.kit.sources import show_source
from attnbook.course.kit.style import use_style
from attnbook.course.kit.widgets.steppers import stepper

__all__ = [
    "Column",
    "agreement_table",
    "begin",
    "check",
    "exact_match_figure",
    "exact_match_table",
    "judge",
    "my_part",
    "my_translator",
    "save_part",
    "show_source",
    "spread",
    "stepper",
    "table",
]


def begin() -> None:
    """Set what every chapter takes for granted: PyTorch's threads, a style."""
    set_threads()
    use_style()
