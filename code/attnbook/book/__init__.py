"""What only the pages need: figures, steppers, exercises. No idea imports it."""

from attnbook.book.exercises import check
from attnbook.book.sources import show_source
from attnbook.book.steppers import stepper
from attnbook.book.style import use_style
from attnbook.threads import set_threads

__all__ = ["begin", "check", "show_source", "stepper"]


def begin() -> None:
    """Set what every chapter takes for granted: PyTorch's threads, the figures' style.

    Raises:
        ValueError: If ``ATTNBOOK_THREADS`` is not a number of threads.
    """
    set_threads()
    use_style()
