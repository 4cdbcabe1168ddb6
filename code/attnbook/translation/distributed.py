"""One process, or several that train one model together under ``torchrun``."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attnbook.translation.devices import best_device


class Processes:
    """Which of how many processes this is, and what they do together.

    ``torchrun`` tells each process its place by environment variables; without them
    this is the only one, and nothing here does anything.

    Attributes:
        rank: Number of this process, from 0.
        world: How many there are.
        device: The device of this process.
    """

    def __init__(self) -> None:
        self.rank = int(os.environ.get("RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))
        self.device = best_device()
        if self.device.type == "cuda":
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
            torch.cuda.set_device(self.device)
        if self.world > 1 and not dist.is_initialized():
            dist.init_process_group("nccl" if self.device.type == "cuda" else "gloo")

    @property
    def first(self) -> bool:
        """Whether this process writes the files and shows the progress."""
        return self.rank == 0

    def wrap(self, model: nn.Module) -> nn.Module:
        """Let backward average the gradients of all processes."""
        return DistributedDataParallel(model) if self.world > 1 else model

    def alone(self, model: nn.Module) -> AbstractContextManager:
        """Keep gradients to this process; those of its last batch carry them all."""
        return model.no_sync() if self.world > 1 else nullcontext()

    def sum(self, number: Tensor) -> float:
        """Add a number up over all processes."""
        if self.world > 1:
            number = number.clone()
            dist.all_reduce(number)
        return number.item()

    def of_first(self, number: float) -> float:
        """Take the first process's number, so that all decide alike."""
        if self.world == 1:
            return number
        shared = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, 0)
        return shared.item()

    def wait(self) -> None:
        """Wait until all processes are here."""
        if self.world > 1:
            dist.barrier()

    def close(self) -> None:
        """Leave the process group."""
        if self.world > 1:
            dist.destroy_process_group()
