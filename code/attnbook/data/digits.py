"""1,797 images of handwritten digits, 8 × 8 pixels; they come with the package."""

from __future__ import annotations

import gzip
from importlib.resources import files

import torch
from torch import Tensor

N_TRAIN = 1297
"""The images before this one are for training, the 500 from it on for testing."""


def load_digits() -> tuple[Tensor, Tensor]:
    """Read all images, in the order of scikit-learn's ``load_digits``.

    Alpaydin and Kaynak 1998, https://doi.org/10.24432/C50P49, licence CC BY 4.0.

    Returns:
        Grey values from 0 to 1, (1797, 8, 8), and the digits, (1797,), from 0 to 9.
    """
    path = files("attnbook") / "stored" / "data" / "digits" / "digits.csv.gz"
    lines = gzip.decompress(path.read_bytes()).decode().splitlines()
    numbers = torch.tensor([[*map(int, line.split(","))] for line in lines])
    return numbers[:, :64].view(-1, 8, 8) / 16, numbers[:, 64]
