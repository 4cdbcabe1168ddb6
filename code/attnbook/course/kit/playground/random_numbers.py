"""Random numbers that the page and Python draw alike: mulberry32, seeded by a text.

Each purpose has a stream of its own, named by seed and purpose, as in
``"0/embedding.weight"``: two models with the same seed start equal in all parts that
both have. Everything is uniform, so that no logarithm or cosine can differ in its last
digit. ``book/_static/live/playground/engine.js`` has the same lines in JavaScript.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

MASK = 2**32 - 1  # arithmetic of 32 bits, done with 64
STRIDE = 0x6D2B79F5


def hash_of(text: str) -> int:
    """FNV-1a with 32 bits; the text is ASCII."""
    found = 0x811C9DC5
    for byte in text.encode("ascii"):
        found = (found ^ byte) * 0x01000193 & MASK
    return found


class Stream:
    """An endless stream of numbers from 0 up to, but without, 1.

    Args:
        name: Seed and purpose; equal names give equal streams.
    """

    def __init__(self, name: str):
        self.start = hash_of(name)
        self.drawn = 0

    def take(self, *shape: int) -> Tensor:
        """The next numbers, in double precision, row by row."""
        size = torch.Size(shape)
        counts = torch.arange(self.drawn + 1, self.drawn + size.numel() + 1)
        self.drawn += size.numel()
        a = (self.start + counts * STRIDE) & MASK
        t = (a ^ a >> 15) * (a | 1) & MASK
        t ^= t + (t ^ t >> 7) * (t | 61) & MASK
        return ((t ^ t >> 14).double() / 2**32).view(size)

    def __iter__(self) -> Iterator[float]:
        while True:
            yield from self.take(1024).tolist()
