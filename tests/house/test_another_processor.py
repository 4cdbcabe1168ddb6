"""The pretended processor, on which training rounds otherwise: docs/writing.md."""

import runpy
from pathlib import Path

import torch
from torch.optim import optimizer

TESTS = Path(__file__).resolve().parents[1]


def test_each_gradient_is_off_by_about_a_millionth(monkeypatch):
    def left(seed):
        """What is left of 1 - 1 after a step: the noise."""
        hooks, p = [], torch.nn.Parameter(torch.ones(1000))
        register = "register_optimizer_step_pre_hook"
        monkeypatch.setattr(optimizer, register, hooks.append)
        monkeypatch.setenv("ATTNBOOK_ROUNDING", seed)
        runpy.run_path(str(TESTS / "another_processor.py"))
        sgd = torch.optim.SGD([p], lr=1.0)
        sgd.register_step_pre_hook(*hooks)
        p.grad = torch.ones(1000)
        sgd.step()
        return p.detach()

    first = left("1")
    assert torch.equal(first, left("1"))
    assert not torch.equal(first, left("2"))
    assert 0.9e-6 < first.square().mean().sqrt() < 1.1e-6
