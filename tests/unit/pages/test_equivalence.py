"""The table that compares ours with a reference."""

import pytest
import torch

from attnbook.pages.equivalence import equivalence_table


def test_proof_table_passes_what_agrees_and_stops_at_what_does_not(capsys):
    x = torch.randn(3, 4, dtype=torch.float64, requires_grad=True)
    equivalence_table({"square": (x * x, x**2, [x])})
    assert capsys.readouterr().out.splitlines()[1].startswith("square  ≤ 1e-12")
    with pytest.raises(AssertionError, match="off, values: differ by"):
        equivalence_table({"off": (x, x + 1e-9, [x])})
    flat = (x - x.detach()) * 2 + x.detach()  # the same values, twice the gradient
    with pytest.raises(AssertionError, match="bent, gradients: differ by"):
        equivalence_table({"bent": (x * 1.0, flat, [x])})
    with pytest.raises(ValueError, match="float64 tensors of one shape"):
        equivalence_table({"half": (x.float(), x, [x])})
