"""Distributed data-parallel training under ``torchrun``, or a single process.

On one machine with 4 GPUs, each of which gets a process and a share of each update::

    torchrun --nproc-per-node 4 -m attnbook train

``docs/training.md`` has the commands for several machines. All must see the same data
and the same run folder, on a shared file system: the first process writes the subwords
and the state to resume from, and the others read them. The local network should be
fast, as each update exchanges the gradients of all weights.

Only several processes on one CPU have been tried so far, not several GPUs or machines.
"""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from datetime import timedelta

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.parallel import DistributedDataParallel

from attnbook.core.devices import choose_device

TIMEOUT = timedelta(hours=1)
"""Time after which a process that waits for the others gives up. The longest wait is
for the first process, which learns the subwords from all of the training text."""


def is_first() -> bool:
    """Whether this is the process that speaks for all."""
    return os.environ.get("RANK", "0") == "0"


class Processes:
    """The group of training processes, and this process's rank in it.

    ``torchrun`` sets the rank of each process by environment variables. Without them
    this is the only process, and no method does anything.

    Args:
        device: Name of the device, as :func:`~attnbook.core.devices.choose_device`
            takes it; each process gets a GPU of its own.

    Attributes:
        rank: Index of this process, from 0.
        world: Number of processes.
        device: The device of this process.

    Raises:
        ValueError: If there is no such device, or several processes are to use MPS.
    """

    def __init__(self, device: str = "auto") -> None:
        self.rank = int(os.environ.get("RANK", 0))
        self.world = int(os.environ.get("WORLD_SIZE", 1))
        self.device = choose_device(device)
        if self.device.type == "cuda":
            self.device = torch.device("cuda", int(os.environ.get("LOCAL_RANK", 0)))
            torch.cuda.set_device(self.device)
        if self.world > 1 and not dist.is_initialized():
            self._join()

    def _join(self) -> None:
        """Join the process group."""
        if self.device.type == "mps":
            raise ValueError(
                f"{self.world} processes on mps, which only one can use; choose device "
                "cpu, or start the run without torchrun"
            )
        cuda = self.device.type == "cuda"
        dist.init_process_group(
            "nccl" if cuda else "gloo",
            timeout=TIMEOUT,
            device_id=self.device if cuda else None,
        )

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

    def sum(self, numbers: Tensor) -> float | list[float]:
        """Sum a number, or each of several, over all processes."""
        if self.world > 1:
            numbers = numbers.clone()
            dist.all_reduce(numbers)
        return numbers.tolist()

    def share_alike(self, batches: int) -> int:
        """The least number of batches, this or more, of which all get equally many."""
        return math.ceil(batches / self.world) * self.world

    def broadcast(self, number: float) -> float:
        """Return the first process's number, so that all processes decide alike."""
        if self.world == 1:
            return number
        shared = torch.tensor(number, dtype=torch.float64, device=self.device)
        dist.broadcast(shared, 0)
        return shared.item()

    def gather(self, share: Sequence[str]) -> list[Sequence[str]]:
        """Collect the texts of all processes, in the order of their ranks."""
        shares = [share] * self.world
        if self.world > 1:
            dist.all_gather_object(shares, share)
        return shares

    def spread(
        self, texts: Sequence[str], function: Callable[[Sequence[str]], Sequence[str]]
    ) -> list[str]:
        """Apply a function to a share of texts in each process; all get all results."""
        results = [""] * len(texts)
        found = self.gather(function(texts[self.rank :: self.world]))
        for rank, share in enumerate(found):
            results[rank :: self.world] = share
        return results

    def wait(self) -> None:
        """Wait for all processes."""
        if self.world > 1:
            dist.barrier()

    def close(self) -> None:
        """Leave the process group."""
        if self.world > 1:
            dist.destroy_process_group()
