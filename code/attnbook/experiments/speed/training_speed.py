"""How fast a Transformer trains, and what each means of speed brings.

Several ways of training take turns on the same sentences, so that whatever else a
machine does slows them all. Speed is counted in real target tokens: what is padded is
work, but no gain. Ids are drawn at random, with lengths as those of the data.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Sequence
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.complexity import training_flops
from attnbook.analysis.cost import synchronize
from attnbook.core.checks import check_sizes
from attnbook.data.batching import Batch, IdPair, id_batch, token_batches
from attnbook.data.fixed_shapes import fixed_batch, fixed_batches
from attnbook.experiments.speed.baselines import MarianLogits, TorchTransformer, marian
from attnbook.experiments.speed.cuda_graphs import EAGER_CALLS, Replayed
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import label_smoothing_loss
from attnbook.nn.masks import padding_mask
from attnbook.translation.trainer import target_tokens


class Work(NamedTuple):
    """What is trained on what."""

    config: TransformerConfig
    batch_tokens: int
    batches: int  # of an epoch, about
    length: tuple[float, float]  # mean and deviation, in tokens, EOS included


# One token more than a multiple of 64, so that padding the vocabulary has an effect.
TINY = TransformerConfig(
    7937, d_model=128, n_heads=4, n_layers=4, d_ff=256, dropout=0.3
)
BASE = TransformerConfig(36993)
SMALL = TransformerConfig(257, d_model=32, n_heads=2, n_layers=1, d_ff=64)
WORKS = {
    "tiny": Work(TINY, 8192, 24, (15.5, 5.1)),
    "base": Work(BASE, 25_000, 16, (28, 14)),
    "cpu": Work(TINY, 2048, 6, (15.5, 5.1)),
    "small": Work(SMALL, 512, 3, (15.5, 5.1)),
}
"""Multi30k's tiny model and batches; the paper's; the tiny model for some minutes of a
processor; a model that takes no time, for trials."""


class Way(NamedTuple):
    """How a step is made."""

    name: str
    model: str = "ours"  # "ours", "torch" or "marian"
    precision: torch.dtype = torch.bfloat16
    fused: bool = True  # Adam in one kernel
    padded: bool = True  # vocabulary rounded up to a multiple of 64
    fixed: bool = False  # batches of few shapes
    graphs: bool = False  # each shape's kernels recorded and replayed
    mode: str | None = None  # of torch.compile; None is without

    @property
    def needs_gpu(self) -> bool:
        """Whether it makes sense on a GPU only."""
        return self.graphs or self.mode is not None


PLAIN = Way("eager, fp32", precision=torch.float32, fused=False, padded=False)
EAGER = (
    PLAIN,
    (bf16 := PLAIN._replace(name="+ bf16", precision=torch.bfloat16)),
    (fused := bf16._replace(name="+ fused Adam", fused=True)),
    (padded := fused._replace(name="+ padded vocabulary", padded=True)),
    (fixed := padded._replace(name="+ fixed shapes", fixed=True)),
    (graphs := fixed._replace(name="+ CUDA graphs", graphs=True)),
    (TORCH := Way("nn.Transformer", "torch")),
    (MARIAN := Way("Marian", "marian")),
)
"""Each of ours has what those before it have, and one thing more. The peers have what
serves them too: bf16, fused Adam, a padded vocabulary."""

ON_CPU = (
    *(
        way._replace(precision=torch.float32)
        for way in EAGER
        if way not in (bf16, graphs)
    ),
    fixed._replace(name="fixed shapes, bf16"),
)
"""What is left on a processor, which has nothing to launch and is often slow in bf16,
so that all is in fp32."""

COMPILED = (
    graphs._replace(name="CUDA graphs, not compiled"),
    fixed._replace(name="torch.compile", mode="default"),
    fixed._replace(name="torch.compile and its graphs", mode="reduce-overhead"),
    graphs._replace(name="torch.compile and our graphs", mode="default"),
)
COMPILED_PEERS = (
    TORCH,
    TORCH._replace(name="nn.Transformer, compiled", mode="default"),
    MARIAN._replace(name="Marian, compiled", mode="default"),
)
"""Compiling takes minutes; its ways are therefore measured apart, each time beside one
that is not compiled. Marian breaks into many graphs, as it draws which layers to skip.
"""


def draw_pairs(work: Work) -> list[IdPair]:
    """Draw pairs of random words that fill about as many batches as asked for."""
    rng = random.Random(0)
    mean, deviation = work.length

    def words(length: float) -> list[int]:
        n = round(min(max(length, 4), 3 * mean))
        return [rng.randrange(4, work.config.source_vocab_size) for _ in range(n)]

    pairs = []
    for _ in range(round(work.batches * work.batch_tokens / (1.1 * mean))):
        source = rng.gauss(mean - 1, deviation)
        pairs.append(IdPair(words(source), words(source + rng.gauss(0, mean / 6))))
    return pairs


def make_batches(way: Way, work: Work, device: torch.device) -> list[Batch]:
    """Put the pairs into batches, of any shapes or of few, and onto the device."""
    pairs, rng = draw_pairs(work), random.Random(0)
    if way.fixed:
        groups = fixed_batches(pairs, work.batch_tokens, rng)
        made = [fixed_batch(group, work.batch_tokens) for group in groups]
    else:
        made = [id_batch(g) for g in token_batches(pairs, work.batch_tokens, rng)]
    return [Batch(*(ids.to(device) for ids in batch)) for batch in made]


def round_up(n: int, multiple: int = 64) -> int:
    """Round a number of words up, so that a matrix product's tiles are all full.

    Args:
        n: Words.
        multiple: Of what; 64 bf16 numbers are one line of a GPU's cache.
    """
    check_sizes(n=n, multiple=multiple)
    return -(-n // multiple) * multiple


def build(way: Way, work: Work) -> nn.Module:
    """Make an untrained model, ours or a peer, of the sizes asked for."""
    config = work.config
    if way.padded:
        vocab_size = round_up(config.source_vocab_size)
        config = dataclasses.replace(config, source_vocab_size=vocab_size)
    if way.model == "torch":
        return TorchTransformer(config)
    if way.model == "marian":
        return MarianLogits(marian(config))
    return Transformer(config)


class Training:
    """One way of training, with a model, an optimizer and batches of its own.

    Args:
        way: How.
        work: What.
        device: Where.
    """

    def __init__(self, way: Way, work: Work, device: torch.device):
        self.way, self.device = way, device
        self.peak = 0  # bytes on a GPU, once warmed up
        torch.manual_seed(0)
        self.model = build(way, work).to(device).train()
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=1e-4, fused=way.fused or None
        )
        self.batches = make_batches(way, work, device)
        self.loss: Callable = self._loss
        if way.mode is not None:
            # Rather no figure than one of code that was given up on and run eagerly.
            torch._dynamo.config.fail_on_recompile_limit_hit = True
            self.loss = torch.compile(self._loss, mode=way.mode, dynamic=True)
        self.gradient: Callable = self._gradient
        if way.graphs:
            for p in self.model.parameters():
                p.grad = torch.zeros_like(p)
            self.gradient = Replayed(self._gradient)

    def one_epoch(self) -> Tensor:
        """Train on all batches once; return the last one's loss."""
        for batch in self.batches:
            self.optimizer.zero_grad(set_to_none=not self.way.graphs)
            loss = self.gradient(*batch)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        return loss

    def warm_up(self) -> None:
        """Have all compiled, recorded and set up before it is timed."""
        for _ in range(EAGER_CALLS + 2 if self.way.needs_gpu else 1):
            loss = self.one_epoch()
        if not loss.isfinite():
            raise ValueError(f"{self.way.name}: the loss is {loss.item()}")

    def _gradient(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
        low = self.way.precision != torch.float32
        with torch.autocast(self.device.type, torch.bfloat16, enabled=low):
            loss = self.loss(src, tgt_in, tgt_out)
        loss.backward()
        return loss.detach()

    def _loss(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
        losses = label_smoothing_loss(self.model(src, tgt_in), tgt_out)
        return losses.sum() / padding_mask(tgt_out).sum()


def training_speeds(
    ways: Sequence[Way],
    work: Work,
    device: torch.device,
    rates: dict[torch.dtype, float],
    rounds: int = 5,
) -> list[dict]:
    """Time ways of training in turn.

    Args:
        ways: Which; those that only make sense on a GPU are left out elsewhere.
        work: What to train.
        device: Where.
        rates: Operations a second of the device's matrix products, by precision.
        rounds: Turns; medians are taken.

    Returns:
        For each way its "name", and "tokens_per_second" (real target tokens),
        "ms_per_batch", "peak_mb" (on a GPU) and "share" of the device's own rate of
        matrix products in that precision; or "failed": why not.
    """
    runs = {way: ready(way, work, device) for way in ways}
    seconds: dict[Way, list[float]] = {way: [] for way in ways}
    for _ in range(rounds):
        for way, run in runs.items():
            if isinstance(run, Training):
                try:
                    seconds[way].append(timed(run.one_epoch, device))
                except Exception as error:  # out of memory, say; the others go on
                    runs[way] = failure(error)
    rows = []
    for way, run in runs.items():
        if isinstance(run, Training):
            rows.append(row(run, work, median(seconds[way]), rates[way.precision]))
        else:
            rows.append({"name": way.name, "failed": run})
    return rows


def ready(way: Way, work: Work, device: torch.device) -> Training | str:
    """Make and warm up a way of training, or tell why it cannot be had.

    One way that fails must not cost the others their turn on a rented machine.
    """
    if way.needs_gpu and device.type != "cuda":
        return "measured on a GPU only"
    cuda = device.type == "cuda"
    try:
        if cuda:
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        run = Training(way, work, device)
        run.warm_up()
        # Here, not later: a recording takes its memory once, and none when replayed.
        if cuda:
            run.peak = torch.cuda.max_memory_allocated() - before
    except Exception as error:
        return failure(error)
    return run


def failure(error: Exception) -> str:
    """What went wrong, in a line or two."""
    return f"{type(error).__name__}: {error}"[:500]


def timed(call: Callable[[], object], device: torch.device) -> float:
    """Seconds that a call takes, to the end of its last kernel."""
    synchronize(device)
    start = time.perf_counter()
    call()
    synchronize(device)
    return time.perf_counter() - start


def row(run: Training, work: Work, seconds: float, rate: float) -> dict:
    """What is told of one way of training."""
    pairs = draw_pairs(work)
    # Each sentence at its own length: what is calculated for pads is not counted.
    flops = sum(
        training_flops(work.config, 1, len(source) + 1, len(target) + 1)
        for source, target in pairs
    )
    values = {
        "name": run.way.name,
        "tokens_per_second": round(target_tokens([pairs]) / seconds),
        "ms_per_batch": round(1000 * seconds / len(run.batches), 2),
        "batches": len(run.batches),
        "shapes": len({batch.src.shape for batch in run.batches}),
        "share": round(flops / seconds / rate, 4),
    }
    if run.device.type == "cuda":
        values["peak_mb"] = run.peak >> 20
    return values
