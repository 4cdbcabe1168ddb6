"""What a training run is fed with: the batches of each epoch, and where they lie."""

from __future__ import annotations

import random
from collections.abc import Sequence

import torch

from attnbook.data.batching import Batch, IdPair, id_batch, token_batches
from attnbook.data.fixed_shapes import fixed_batch, fixed_batches
from attnbook.data.subwords import Subwords
from attnbook.translation.configs import Config
from attnbook.translation.corpora import Texts


def encode_pairs(subwords: Subwords, both: Texts) -> list[IdPair]:
    """Encode sentences and translations as ids."""
    return [
        IdPair(subwords.encode(s), subwords.encode(t))
        for s, t in zip(both.source, both.target, strict=True)
    ]


def target_tokens(batches: Sequence[Sequence[IdPair]]) -> int:
    """Number of target tokens, including ``EOS`` but not padding."""
    return sum(len(pair.target) + 1 for pairs in batches for pair in pairs)


def to_device(batch: Batch, device: torch.device) -> Batch:
    """Copy a batch to a device; to a GPU asynchronously."""
    if device.type == "cuda":
        return Batch(*(ids.pin_memory().to(device, non_blocking=True) for ids in batch))
    return Batch(*(ids.to(device) for ids in batch))


class Feed:
    """Batches that are cut anew for each epoch, and made when they are needed.

    Args:
        pairs: The training split.
        config: The config of the run.
        device: Where the batches are to be.
    """

    def __init__(self, pairs: Sequence[IdPair], config: Config, device: torch.device):
        self.pairs, self.config, self.device = pairs, config, device

    def cut(self, epoch: int) -> list[list[IdPair]]:
        """Cut the pairs into the batches of an epoch; deterministic."""
        return token_batches(self.pairs, self.config.batch_tokens, self._rng(epoch))

    def make(self, pairs: list[IdPair]) -> Batch:
        """The batch of pairs that were cut together, on the device."""
        return to_device(id_batch(pairs), self.device)

    def groups(self, epoch: int) -> list[list[list[IdPair]]]:
        """The batches of an epoch, grouped by update.

        With several batches per update, the last ones that do not fill one are dropped.

        Raises:
            ValueError: If there are too few batches for a single update.
        """
        batches, size = self.cut(epoch), self.config.batches_per_update
        if len(batches) < size:
            raise ValueError(
                f"an epoch has {len(batches)} batches, fewer than the {size} of an "
                "update: lower batches_per_update or batch_tokens"
            )
        return [batches[i : i + size] for i in range(0, len(batches) - size + 1, size)]

    def _rng(self, epoch: int) -> random.Random:
        """The text is part of the seed: the order of recorded runs depends on it."""
        return random.Random(f"{self.config.seed}, pass {epoch}")


class FixedFeed(Feed):
    """Batches of a few fixed shapes, cut once and kept on the device.

    Epochs differ in their order only, so nothing has to be made or copied, and CUDA
    graphs find the shapes that they were recorded for. Each position takes 24 bytes.
    """

    def __init__(self, pairs: Sequence[IdPair], config: Config, device: torch.device):
        super().__init__(pairs, config, device)
        size, rng = config.batch_tokens, random.Random(f"{config.seed}, cut")
        self.batches = fixed_batches(pairs, size, rng)
        # The lists live as long as this feed, so that their ids tell them apart.
        self.made = {
            id(cut): to_device(fixed_batch(cut, size), device) for cut in self.batches
        }

    def cut(self, epoch: int) -> list[list[IdPair]]:
        """The same batches in the order of the epoch."""
        return self._rng(epoch).sample(self.batches, len(self.batches))

    def make(self, pairs: list[IdPair]) -> Batch:
        """The batch, which is there."""
        return self.made[id(pairs)]
