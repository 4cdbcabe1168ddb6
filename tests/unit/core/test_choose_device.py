"""Which device a name, or the environment, stands for."""

import pytest
import torch
from torch import nn

from attnbook.core.devices import choose_device, model_device


@pytest.fixture
def machine(monkeypatch):
    """A machine with some devices, and nothing in the environment."""

    def has(cuda=False, mps=False):
        monkeypatch.delenv("ATTNBOOK_DEVICE", raising=False)
        monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
        monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)

    return has


@pytest.mark.parametrize(
    ("cuda", "mps", "found"),
    [
        (True, True, "cuda"),
        (True, False, "cuda"),
        (False, True, "cpu"),  # MPS is untried: only by request
        (False, False, "cpu"),
    ],
)
def test_auto_takes_a_cuda_gpu_or_else_the_cpu(machine, monkeypatch, cuda, mps, found):
    machine(cuda, mps)
    assert choose_device() == torch.device(found)
    monkeypatch.setenv("ATTNBOOK_DEVICE", "auto")
    assert choose_device("auto") == torch.device(found)
    monkeypatch.setenv("ATTNBOOK_DEVICE", "")
    assert choose_device() == torch.device(found)
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cpu")
    assert choose_device() == torch.device("cpu")
    if mps:
        assert choose_device("mps") == torch.device("mps")


@pytest.mark.parametrize(
    ("name", "message"),
    [
        *((name, f"is '{name}', but .* choose cpu") for name in ("cuda", "mps")),
        *(
            (name, f"is '{name}'; choose among auto, cpu, cuda, mps$")
            for name in ("gpu", "CUDA", "cuda:1")
        ),
    ],
)
def test_a_device_that_is_not_there_is_refused(machine, monkeypatch, name, message):
    machine()
    with pytest.raises(ValueError, match=f"^device {message}"):
        choose_device(name)
    monkeypatch.setenv("ATTNBOOK_DEVICE", name)
    with pytest.raises(ValueError, match=f"^ATTNBOOK_DEVICE {message}"):
        choose_device()


def test_a_model_is_where_its_parameters_are():
    assert model_device(nn.Linear(1, 1, device="meta")) == torch.device("meta")
    assert model_device(nn.ReLU()) == torch.device("cpu")
