"""The device to compute on: a CPU, a CUDA GPU or Apple's GPU (MPS).

Most of what was measured in this course ran on a CPU, the rest on a CUDA GPU. MPS is
written for, but nobody has tried it yet. So it is used only by request.
"""

from __future__ import annotations

import os

import torch
from torch import nn

DEVICE_VARIABLE = "ATTNBOOK_DEVICE"

DEVICES = ("auto", "cpu", "cuda", "mps")
"""The names that a command and the environment may give."""


def choose_device(wanted: str = "auto") -> torch.device:
    """Choose the device to compute on.

    Args:
        wanted: One of :data:`DEVICES`. "auto" takes the one that the environment
            variable ``ATTNBOOK_DEVICE`` names. Where that is unset, or "auto" too, it
            takes a CUDA GPU if there is one, else the CPU.

    Raises:
        ValueError: If there is no such name, or this machine has no such device.
    """
    origin = "device"
    if wanted == "auto":
        origin, wanted = DEVICE_VARIABLE, os.environ.get(DEVICE_VARIABLE) or "auto"
    if wanted not in DEVICES:
        raise ValueError(f"{origin} is {wanted!r}; choose among {', '.join(DEVICES)}")
    found = {
        "cpu": True,
        "cuda": torch.cuda.is_available(),
        "mps": torch.backends.mps.is_available(),
    }
    if wanted == "auto":
        wanted = "cuda" if found["cuda"] else "cpu"
    if not found[wanted]:
        raise ValueError(
            f"{origin} is {wanted!r}, but PyTorch finds no such device on this "
            "machine; choose cpu, or auto for the best that there is"
        )
    return torch.device(wanted)


def model_device(model: nn.Module) -> torch.device:
    """The device of a model's parameters; the CPU for a model without any."""
    return next((p.device for p in model.parameters()), torch.device("cpu"))
