"""Distributed data-parallel training under ``torchrun``, or a single process."""

from __future__ import annotations

import os
from contextlib import AbstractContextManager, nullcontext

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attnbook.translation.devices import best_device


class Processes:
    """The group of training processes, and this process's rank in it.

    ``torchrun`` sets the rank of each process by environment variables. Without them
    this is the only process, and no method does anything.

    Attributes:
        rank: Index of this process, from 0.
        world: Number of processes.
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
        """Make the backward pass average the gradients over all processes."""
        return DistributedDataParallel(model) if self.world > 1 else model

    def no_sync(self, model: nn.Module) -> AbstractContextManager:
        """Accumulate gradients locally; the last batch synchronises them all."""
        return model.no_sync() if self.world > 1 else nullcontext()

    def sum(self, number: Tensor) -> float:
        """Sum a number over all processes."""
        if self.world > 1:
            number = number.clone()
            dist.all_reduce(number)
        return number.item()

    def broadcast(self, number: float) -> float:
        """Return the first process's number, so that all processes decide alike."""
        if self.world == 1:
            return number
        shared = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, 0)
        return shared.item()

    def wait(self) -> None:
        """Wait for all processes."""
        if self.world > 1:
            dist.barrier()

    def close(self) -> None:
        """Leave the process group."""
        if self.world > 1:
            dist.destroy_process_group()
