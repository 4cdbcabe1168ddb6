"""The device, and the precision it is given."""

import os
from types import SimpleNamespace

import pytest
import torch

from attnbook.translation import devices
from attnbook.translation.devices import best_device, choose_precision, peak_memory

CPU, CUDA, MPS = (torch.device(name) for name in ("cpu", "cuda", "mps"))


@pytest.mark.parametrize(
    ("cuda", "mps", "wanted"),
    [
        (True, True, "cuda"),
        (True, False, "cuda"),
        (False, True, "mps"),
        (False, False, "cpu"),
    ],
)
def test_the_fastest_device_is_taken(monkeypatch, cuda, mps, wanted):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: cuda)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: mps)
    assert best_device().type == wanted


@pytest.mark.parametrize(
    ("device", "capability", "wanted"),
    [
        (CPU, None, torch.float32),
        (MPS, None, torch.float32),
        (CUDA, (7, 5), torch.float16),  # Colab's T4
        (CUDA, (8, 0), torch.bfloat16),
        (CUDA, (9, 0), torch.bfloat16),
    ],
)
def test_auto_is_what_the_device_does_best(monkeypatch, device, capability, wanted):
    monkeypatch.setattr(
        devices.torch.cuda, "get_device_capability", lambda device: capability
    )
    assert choose_precision("auto", device) == wanted


@pytest.mark.parametrize("device", [CPU, CUDA, MPS])
def test_what_is_asked_for_is_given(device):
    assert choose_precision("fp32", device) == torch.float32
    assert choose_precision("bf16", device) == torch.bfloat16
    if device is CUDA:
        assert choose_precision("fp16", device) == torch.float16
    else:
        with pytest.raises(ValueError, match=f"fp16 needs a CUDA GPU.*{device.type}"):
            choose_precision("fp16", device)


def test_another_word_is_refused():
    with pytest.raises(ValueError, match="precision is 'half'; choose auto, fp32, bf1"):
        choose_precision("half", CPU)


@pytest.mark.parametrize(
    ("system", "factor"), [("Linux", 1024), ("Darwin", 1)], ids=["kB", "bytes"]
)
def test_memory_is_told_in_bytes(monkeypatch, system, factor):
    """``getrusage`` counts kilobytes on Linux, and bytes on macOS."""
    usage = SimpleNamespace(
        RUSAGE_SELF=0, getrusage=lambda who: SimpleNamespace(ru_maxrss=3000)
    )
    monkeypatch.setattr(devices, "resource", usage)
    monkeypatch.setattr(devices.platform, "system", lambda: system)
    assert peak_memory(CPU) == 3000 * factor


def test_the_peak_lies_between_what_was_taken_and_what_there_is():
    if devices.resource is None:  # on Windows
        assert peak_memory(CPU) == 0
        return
    taken = torch.ones(2**24)
    there_is = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    assert taken.nbytes < peak_memory(CPU) < there_is


def test_of_a_gpu_its_own_memory_is_told(monkeypatch):
    monkeypatch.setattr(devices.torch.cuda, "max_memory_allocated", lambda device: 77)
    assert peak_memory(CUDA) == 77
