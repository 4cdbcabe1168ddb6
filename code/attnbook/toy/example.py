"""The sentence that every chapter follows with a pencil: six words, four numbers each.

The numbers are chosen by hand, not learned, so that sums and products stay short. Each
of the four says one thing about a word: does it name something, does it describe
something, is it an action, and does it belong to the subject (positive) or to the
object (negative)?
"""

from __future__ import annotations

import torch

SENTENCE = ("the", "old", "farmer", "sees", "a", "bird")
FEATURES = ("names", "describes", "acts", "side")
STATES = torch.tensor(
    [
        [0.0, 0.5, 0.0, 0.9],  # the
        [0.0, 1.0, 0.0, 0.8],  # old
        [1.0, 0.1, 0.0, 0.7],  # farmer
        [0.1, 0.0, 1.0, 0.0],  # sees
        [0.0, 0.5, 0.0, -0.8],  # a
        [0.9, 0.0, 0.1, -1.0],  # bird
    ]
)  # (6, 4): row j is the encoder state h_j

QUERY = torch.tensor([2.0, 0.0, 0.0, 1.0])
"""A decoder's state that looks for the name on the subject's side."""

# The additive score of chapter 2, with a hidden layer of three numbers: does the place
# name something, does it belong to the subject, does it belong to the object?
W = torch.tensor([[-0.5, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 2.0]])
U = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 2.0]])
V = torch.tensor([2.0, 1.0, -1.0])  # W, (3, 4), takes the query; U, (3, 4), the states
