"""How fast does our Transformer train beside ``torch.nn.Transformer``, on this CPU?

    python benchmarks/cpu_training_speed.py

Both have the same sizes, embeddings, positions, output, loss, optimizer and batches of
the toy language; runs alternate, so that whatever else the machine does slows both.
"""

from __future__ import annotations

import time
from itertools import islice
from statistics import median

import torch
from torch import Tensor, nn

from attnbook.batches import SOURCE, TARGET, toy_batches
from attnbook.fit import fit
from attnbook.masks import causal_mask, padding_mask
from attnbook.results import machine
from attnbook.threads import set_threads
from attnbook.transformer import Transformer

RUNS, STEPS = 5, 20
SIZES = {  # d_model, n_heads, n_layers, d_ff
    "the thread's": (64, 4, 2, 128),
    "Multi30k, tiny": (128, 4, 4, 256),
    "half of the base": (256, 8, 3, 1024),
}


class Theirs(nn.Module):
    """``nn.Transformer`` between the embeddings and the output of ours."""

    def __init__(self, ours: Transformer, *sizes: int):
        super().__init__()
        d_model, n_heads, n_layers, d_ff = sizes
        self.source_embedding = ours.source_embedding
        self.target_embedding = ours.target_embedding
        self.positions, self.out = ours.positions, ours.out
        self.layers = nn.Transformer(
            d_model,
            n_heads,
            n_layers,
            n_layers,
            d_ff,
            dropout=0.0,
            batch_first=True,
            norm_first=True,
        )

    def forward(self, src: Tensor, tgt_in: Tensor) -> Tensor:
        """Predict as ours; in PyTorch's masks True means: may not attend."""
        pads = ~padding_mask(src)
        found = self.layers(
            self.positions(self.source_embedding(src)),
            self.positions(self.target_embedding(tgt_in)),
            tgt_mask=~causal_mask(tgt_in.shape[1]),
            tgt_is_causal=True,
            src_key_padding_mask=pads,
            memory_key_padding_mask=pads,
        )
        return self.out(found)


def seconds(model: nn.Module, batches: list) -> float:
    """Train for some steps; seconds a step."""
    start = time.perf_counter()
    fit(model, batches, len(batches), rate=1e-4)
    return (time.perf_counter() - start) / len(batches)


def main() -> None:
    """Print the median of the ratios, for each size."""
    set_threads()
    print(f"torch {torch.__version__}; {machine()}")
    batches = list(islice(toy_batches(seed=0), STEPS))
    for name, sizes in SIZES.items():
        torch.manual_seed(0)
        d_model, n_heads, n_layers, d_ff = sizes
        ours = Transformer(
            len(SOURCE),
            len(TARGET),
            d_model=d_model,
            n_heads=n_heads,
            n_layers=n_layers,
            d_ff=d_ff,
            dropout=0.0,
            norm_first=True,
        )
        theirs = Theirs(ours, *sizes)
        for model in (ours, theirs):
            seconds(model, batches[:3])  # warm up
        pairs = [
            (seconds(ours, batches), seconds(theirs, batches)) for _ in range(RUNS)
        ]
        speed = median(their / our for our, their in pairs)
        ms = " and ".join(
            f"{1000 * median(times):.1f}" for times in zip(*pairs, strict=True)
        )
        print(
            f"{name:17} ours and theirs {ms} ms a step; ours is {speed:.2f} × as fast"
        )


if __name__ == "__main__":
    main()
