"""Muon against its definition: singular values, then the steps one by one."""

from __future__ import annotations

import pytest
import torch

from attnbook.translation.configs import config
from attnbook.translation.models import model_from_config
from attnbook.translation.muon import Muon, hidden_matrices, orthogonalise


def by_singular_values(matrix):
    """The polynomial of Jordan et al. 2024, five times on each singular value."""
    left, values, right = torch.linalg.svd(matrix, full_matrices=False)
    values = values / values.norm()
    for _ in range(5):
        values = 3.4445 * values - 4.7750 * values**3 + 2.0315 * values**5
    return left @ torch.diag(values) @ right, values


@pytest.mark.parametrize("shape", [(6, 6), (5, 9), (9, 5), (1, 4), (128, 256)])
def test_singular_values_become_about_one(shape):
    torch.manual_seed(sum(shape))
    matrix = torch.randn(shape, dtype=torch.float64)
    wanted, values = by_singular_values(matrix)
    torch.testing.assert_close(orthogonalise(matrix), wanted, rtol=0, atol=1e-6)
    large = torch.linalg.svdvals(matrix) > 0.01 * matrix.norm()
    assert ((values[large] > 0.6) & (values[large] < 1.25)).all()


def test_three_steps_by_the_definition():
    """Two matrices of one shape, one that is tall, and a vector, which Adam has."""
    torch.manual_seed(0)
    shapes = [(3, 4), (3, 4), (8, 2), (5,)]
    weights = [torch.randn(shape, dtype=torch.float64) for shape in shapes]
    ours = [w.clone().requires_grad_() for w in weights]
    vector = weights[-1].clone().requires_grad_()
    muon = Muon(ours, ours[:3], lr=0.01, betas=(0.9, 0.98))
    adam = torch.optim.Adam([vector], lr=0.01, betas=(0.9, 0.98))
    momenta = [torch.zeros_like(w) for w in weights]
    for _ in range(3):
        gradients = [torch.randn_like(w) for w in weights]
        for weight, gradient in zip(
            [*ours, vector], [*gradients, gradients[-1]], strict=True
        ):
            weight.grad = gradient.clone()
        muon.step()
        adam.step()
        for i, (rows, columns) in enumerate(shapes[:3]):
            momenta[i] = 0.95 * momenta[i] + 0.05 * gradients[i]
            ahead = 0.95 * momenta[i] + 0.05 * gradients[i]
            size = 2.5 * 0.01 * max(1, rows / columns) ** 0.5
            weights[i] = weights[i] - size * by_singular_values(ahead)[0]
            torch.testing.assert_close(ours[i].detach(), weights[i], rtol=0, atol=1e-6)
        torch.testing.assert_close(ours[-1], vector)


def test_a_state_that_is_loaded_goes_on():
    torch.manual_seed(0)
    start = [torch.randn(3, 4), torch.randn(4)]
    gradients = [[torch.randn_like(w) for w in start] for _ in range(4)]
    states = []
    for break_after in (None, 2):
        weights = [w.clone().requires_grad_() for w in start]
        muon = Muon(weights, weights[:1], lr=0.01)
        for i, of_step in enumerate(gradients):
            if i == break_after:
                kept, muon = muon.state_dict(), Muon(weights, weights[:1], lr=0.01)
                muon.load_state_dict(kept)
            for weight, gradient in zip(weights, of_step, strict=True):
                weight.grad = gradient.clone()
            muon.step()
        states.append(weights)
    assert all(map(torch.equal, *states))


@pytest.mark.parametrize("name", ["transformer", "bahdanau"])
def test_the_matrix_of_the_vocabulary_is_adams(name):
    model = model_from_config(config("toy", model=name), 301)
    hidden = {id(p) for p in hidden_matrices(model, 301)}
    left = [p.shape for p in model.parameters() if id(p) not in hidden and p.ndim > 1]
    assert hidden
    assert {301 in shape for shape in left} == {True}
