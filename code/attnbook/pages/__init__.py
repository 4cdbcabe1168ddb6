"""What only the pages need; no other room imports it.

- ``figures``: figures and tables, a module for each chapter
- ``drawings``: diagrams, a module for each chapter
- ``exercises``: what they check, and their hints
- ``widgets``: what the reader moves
- ``style``, ``sources``, ``equivalence``: colours; shown source code; checks in a table
"""

from attnbook.core.threads import set_threads
from attnbook.pages.exercises.checking import check
from attnbook.pages.sources import show_source
from attnbook.pages.style import use_style
from attnbook.pages.widgets.steppers import stepper

__all__ = ["begin", "check", "show_source", "stepper"]


def begin() -> None:
    """Set what every chapter takes for granted: PyTorch's threads, the figures' style.

    Raises:
        ValueError: If ``ATTNBOOK_THREADS`` is not a number of threads.
    """
    set_threads()
    use_style()
