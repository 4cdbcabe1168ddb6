"""The sentence that every chapter works through by hand: six vectors of four features.

The features are chosen, not learned, so that sums and products stay short. They encode
whether a word names something, describes something, is an action, and belongs to the
subject (positive) or to the object (negative).
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
"""A decoder state that should attend to the noun of the subject."""

# The additive score of chapter 2, with three hidden features: does the source word name
# something, does it belong to the subject, does it belong to the object?
W = torch.tensor([[-0.5, 0.0, 0.0, 0.0], [-1.0, 0.0, 0.0, 2.0], [1.0, 0.0, 0.0, 2.0]])
U = torch.tensor([[2.0, 0.0, 0.0, 0.0], [0.0, 0.0, 0.0, 2.0], [0.0, 0.0, 0.0, 2.0]])
V = torch.tensor([2.0, 1.0, -1.0])  # W, (3, 4), is applied to the query; U to states
