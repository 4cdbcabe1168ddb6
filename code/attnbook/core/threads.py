"""The number of threads that PyTorch uses: one, unless the environment sets another.

The models of this course are so small that a second thread costs more than it gains,
and the number of threads changes the last digits of a training run. So it is set in
one function, for pages and experiments alike.
"""

from __future__ import annotations

import os

import torch

THREADS_VARIABLE = "ATTNBOOK_THREADS"


def set_threads() -> None:
    """Set PyTorch's number of threads to ``ATTNBOOK_THREADS``, or to 1 if it is unset.

    Raises:
        ValueError: If the variable is not a whole number from 1 upwards.
    """
    text = os.environ.get(THREADS_VARIABLE, "1")
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ValueError(
            f"{THREADS_VARIABLE} is {text!r}, but a number of threads is a whole "
            "number from 1 upwards: set it to 1, or unset it."
        )
    torch.set_num_threads(int(text))
