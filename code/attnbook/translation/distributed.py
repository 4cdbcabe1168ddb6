"""Distributed data-parallel training under ``torchrun``, or a single process.

Each process takes a batch of each update. All must see the same data and run folder,
which the first one writes; ``docs/training.md`` has the commands. Only processes on one
CPU have been tried so far, not several GPUs or machines.
"""

from __future__ import annotations

import os
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attnbook.core.devices import choose_device

TIMEOUT = timedelta(hours=1)
"""How long a process waits, at the longest for subwords learned from a large text."""


def is_first() -> bool:
    """Whether this is the process that speaks for all."""
    return os.environ.get("RANK", "0") == "0"


class Processes:
    """The group of training processes; without ``torchrun`` this one alone.

    Args:
        device: As :func:`~attnbook.core.devices.choose_device` takes it.

    Attributes:
        rank: Index of this process, from 0; ``torchrun`` sets it in the environment.
        world: Number of processes.
        device: The device of this process; of several GPUs one of its own.

    Raises:
        ValueError: If there is no such device, or several processes are to use MPS.
    """

    def __init__(self, device: str = "auto") -> None:
        self.rank = int(os.environ.get("RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))
        self.device = choose_device(device)
        gpu = self.device.type == "cuda"
        if gpu:
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
            torch.cuda.set_device(self.device)
        if self.world > 1 and self.device.type == "mps":
            raise ValueError(
                f"{self.world} processes on mps, which only one can use; choose device "
                "cpu, or start the run without torchrun"
            )
        if self.world > 1 and not dist.is_initialized():
            backend, place = ("nccl", self.device) if gpu else ("gloo", None)
            dist.init_process_group(backend, timeout=TIMEOUT, device_id=place)

    def average_gradients(self, model: nn.Module) -> nn.Module:
        """Wrap a model so that backward averages the gradients of all processes."""
        return DistributedDataParallel(model) if self.world > 1 else model

    def sum(self, numbers: Tensor) -> list[float]:
        """Sum each of several numbers over all processes."""
        if self.world > 1:
            dist.all_reduce(numbers)
        return numbers.tolist()

    def mean(self, number: float) -> float:
        """The mean of the processes' numbers, by which all decide alike."""
        if self.world == 1:
            return number
        return self.sum(torch.tensor([number], device=self.device))[0] / self.world

    def wait(self) -> None:
        """Wait for all processes."""
        if self.world > 1:
            dist.barrier()

    def close(self) -> None:
        """Leave the process group."""
        if self.world > 1:
            dist.destroy_process_group()
