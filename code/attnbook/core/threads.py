"""How many threads PyTorch may use: one, unless the environment says otherwise.

The models of this course are so small that a second thread costs more than it brings,
and the number of threads changes the last digits of a training run. So it is set once,
in one place, for pages and experiments alike.
"""

from __future__ import annotations

import os

import torch

VARIABLE = "ATTNBOOK_THREADS"


def set_threads() -> int:
    """Give PyTorch the number of threads in ``ATTNBOOK_THREADS``, 1 if it is not set.

    Returns:
        The number of threads.

    Raises:
        ValueError: If the variable holds anything but a whole number from 1 upwards.
    """
    text = os.environ.get(VARIABLE, "1")
    if not (text.isascii() and text.isdigit() and int(text) >= 1):
        raise ValueError(
            f"{VARIABLE} is {text!r}, but a number of threads is a whole number from 1 "
            f"upwards: set it to 1, or unset it."
        )
    torch.set_num_threads(int(text))
    return int(text)
