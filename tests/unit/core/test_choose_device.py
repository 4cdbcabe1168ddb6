"""Which device a name, or the environment, stands for."""

import pytest
import torch
from torch import nn

from attnbook.core.devices import DEVICES, choose_device, model_device


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


@pytest.mark.parametrize("name", [name for name in DEVICES if name != "auto"])
def test_a_device_that_is_there_is_taken(machine, monkeypatch, name):
    machine(cuda=True, mps=True)
    assert choose_device(name) == torch.device(name)
    monkeypatch.setenv("ATTNBOOK_DEVICE", name)
    assert choose_device() == torch.device(name)


def test_a_name_is_stronger_than_the_environment(machine, monkeypatch):
    machine(cuda=True)
    monkeypatch.setenv("ATTNBOOK_DEVICE", "cuda")
    assert choose_device("cpu") == torch.device("cpu")


@pytest.mark.parametrize("name", ["cuda", "mps"])
def test_a_device_that_is_not_there_is_refused(machine, monkeypatch, name):
    machine()
    with pytest.raises(ValueError, match=f"^device is '{name}', but .* choose cpu"):
        choose_device(name)
    monkeypatch.setenv("ATTNBOOK_DEVICE", name)
    with pytest.raises(ValueError, match=f"^ATTNBOOK_DEVICE is '{name}', but"):
        choose_device()


@pytest.mark.parametrize("name", ["gpu", "CUDA", "cuda:1", ""])
def test_another_name_is_refused(machine, name):
    machine(cuda=True)
    message = f"^device is '{name}'; choose among auto, cpu, cuda, mps$"
    with pytest.raises(ValueError, match=message):
        choose_device(name)


def test_the_environment_is_checked_too(machine, monkeypatch):
    machine(cuda=True)
    monkeypatch.setenv("ATTNBOOK_DEVICE", "gpu")
    with pytest.raises(ValueError, match=r"^ATTNBOOK_DEVICE is 'gpu'; choose among"):
        choose_device()


def test_a_model_is_where_its_parameters_are():
    assert model_device(nn.Linear(1, 1, device="meta")) == torch.device("meta")
    assert model_device(nn.ReLU()) == torch.device("cpu")
