"""Training speed of a Transformer, and the gain by each optimisation.

Several methods take turns on the same sentences, so that other load on the machine
affects all of them. Speed is counted in real target tokens, without padding. Ids are
random, with lengths like those of the data.
"""

from __future__ import annotations

import dataclasses
import random
import time
from collections.abc import Callable, Iterator, Sequence
from statistics import median
from typing import NamedTuple

import torch
from torch import Tensor, nn

from attnbook.analysis.complexity import training_flops
from attnbook.analysis.cost import synchronize
from attnbook.core.checks import check_sizes
from attnbook.data.batching import Batch, IdPair, id_batch, token_batches
from attnbook.data.fixed_shapes import fixed_batch, fixed_batches
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig
from attnbook.nn.losses import label_smoothing_loss
from attnbook.nn.masks import padding_mask
from attnbook.translation.cuda_graphs import EAGER_CALLS, GraphedFunction
from attnbook.translation.feeds import target_tokens
from speed.baselines import MarianLogits, TorchTransformer, marian


class Workload(NamedTuple):
    """A model and the batches to train it on."""

    config: TransformerConfig
    batch_tokens: int
    batches: int  # per epoch, about
    length: tuple[float, float]  # mean and standard deviation in tokens, with EOS


# One token more than a multiple of 64, so that padding the vocabulary has an effect.
TINY = TransformerConfig(
    7937, d_model=128, n_heads=4, n_layers=4, d_ff=256, dropout=0.3
)
BASE = TransformerConfig(36993)
SMALL = TransformerConfig(257, d_model=32, n_heads=2, n_layers=1, d_ff=64)
WORKS = {
    "tiny": Workload(TINY, 8192, 24, (15.5, 5.1)),
    "base": Workload(BASE, 25_000, 16, (28, 14)),
    "cpu": Workload(TINY, 2048, 6, (15.5, 5.1)),
    "small": Workload(SMALL, 512, 3, (15.5, 5.1)),
}
"""Multi30k's tiny model and batches; the paper's; the tiny model with few batches, for
a CPU; a very small model, for trials."""


class Method(NamedTuple):
    """A method of training."""

    name: str
    model: str = "ours"  # "ours", "torch" or "marian"
    precision: torch.dtype = torch.bfloat16
    fused: bool = True  # Adam in one kernel
    padded: bool = True  # vocabulary rounded up to a multiple of 64
    fixed: bool = False  # batches of a few fixed shapes
    graphs: bool = False  # a CUDA graph for each shape
    mode: str | None = None  # of torch.compile; None: not compiled

    @property
    def needs_gpu(self) -> bool:
        """Whether the method is for GPUs only."""
        return self.graphs or self.mode is not None


PLAIN = Method("eager, fp32", precision=torch.float32, fused=False, padded=False)
EAGER = (
    PLAIN,
    (bf16 := PLAIN._replace(name="+ bf16", precision=torch.bfloat16)),
    (fused := bf16._replace(name="+ fused Adam", fused=True)),
    (padded := fused._replace(name="+ padded vocabulary", padded=True)),
    (fixed := padded._replace(name="+ fixed shapes", fixed=True)),
    (graphs := fixed._replace(name="+ CUDA graphs", graphs=True)),
    (TORCH := Method("nn.Transformer", "torch")),
    (MARIAN := Method("Marian", "marian")),
)
"""Each of ours adds one optimisation to those before it. The baselines have those that
apply to them too: bf16, fused Adam, a padded vocabulary."""

ON_CPU = (
    *(
        method._replace(precision=torch.float32)
        for method in EAGER
        if method not in (bf16, graphs)
    ),
    *(
        method._replace(name=f"{name}, bf16")
        for name, method in (
            ("fixed shapes", fixed),
            ("nn.Transformer", TORCH),
            ("Marian", MARIAN),
        )
    ),
)
"""The methods for a CPU, in fp32. The last ones are in bf16, which is faster only on a
processor with instructions for it."""

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
"""Compiling takes minutes, so compiled methods are measured separately, together with
one that is not compiled. Marian breaks into many graphs, because it samples which
layers to skip."""


def sample_token_pairs(work: Workload) -> list[IdPair]:
    """Sample pairs of random tokens that fill about the given number of batches."""
    rng = random.Random(0)
    mean, deviation = work.length

    def tokens(length: float) -> list[int]:
        n = round(min(max(length, 4), 3 * mean))
        return [rng.randrange(4, work.config.source_vocab_size) for _ in range(n)]

    pairs = []
    for _ in range(round(work.batches * work.batch_tokens / (1.1 * mean))):
        source = rng.gauss(mean - 1, deviation)
        pairs.append(IdPair(tokens(source), tokens(source + rng.gauss(0, mean / 6))))
    return pairs


def make_batches(method: Method, work: Workload, device: torch.device) -> list[Batch]:
    """Make batches of the pairs, of variable or fixed shapes, on the device."""
    pairs, rng = sample_token_pairs(work), random.Random(0)
    if method.fixed:
        groups = fixed_batches(pairs, work.batch_tokens, rng)
        made = [fixed_batch(group, work.batch_tokens) for group in groups]
    else:
        made = [id_batch(g) for g in token_batches(pairs, work.batch_tokens, rng)]
    return [Batch(*(ids.to(device) for ids in batch)) for batch in made]


def round_up(n: int, multiple: int = 64) -> int:
    """Round a vocabulary size up, so that all tiles of a matrix product are full.

    Args:
        n: Vocabulary size.
        multiple: 64 bf16 numbers are one cache line of a GPU.
    """
    check_sizes(n=n, multiple=multiple)
    return -(-n // multiple) * multiple


def build_model(method: Method, work: Workload) -> nn.Module:
    """Create an untrained model of the given sizes, ours or a baseline."""
    config = work.config
    if method.padded:
        vocab_size = round_up(config.source_vocab_size)
        config = dataclasses.replace(config, source_vocab_size=vocab_size)
    if method.model == "torch":
        return TorchTransformer(config)
    if method.model == "marian":
        return MarianLogits(marian(config))
    return Transformer(config)


class Training:
    """A training loop of one method, with its own model, optimizer and batches.

    Args:
        method: The method.
        work: The workload.
        device: The device.
    """

    def __init__(self, method: Method, work: Workload, device: torch.device):
        self.method, self.device = method, device
        self.peak = 0  # bytes on a GPU, after warm-up
        torch.manual_seed(0)
        self.model = build_model(method, work).to(device).train()
        self.optimizer = torch.optim.Adam(
            self.model.parameters(), lr=1e-4, fused=method.fused or None
        )
        self.batches = make_batches(method, work, device)
        self.loss: Callable = self._loss
        if method.mode is not None:
            # Rather no figure than one of code that falls back to eager execution.
            torch._dynamo.config.fail_on_recompile_limit_hit = True
            self.loss = torch.compile(self._loss, mode=method.mode, dynamic=True)
        self.gradient: Callable = self._gradient
        if method.graphs:
            for p in self.model.parameters():
                p.grad = torch.zeros_like(p)
            self.gradient = GraphedFunction(self._gradient)

    def one_epoch(self) -> Tensor:
        """Train on all batches once; return the loss of the last one."""
        for batch in self.batches:
            self.optimizer.zero_grad(set_to_none=not self.method.graphs)
            loss = self.gradient(*batch)
            nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
            self.optimizer.step()
        return loss

    def warm_up(self) -> None:
        """Compile, record and set up everything before it is timed_seconds."""
        for _ in range(EAGER_CALLS + 2 if self.method.needs_gpu else 1):
            loss = self.one_epoch()
        if not loss.isfinite():
            raise ValueError(f"{self.method.name}: the loss is {loss.item()}")

    def _gradient(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
        low = self.method.precision != torch.float32
        with torch.autocast(self.device.type, torch.bfloat16, enabled=low):
            loss = self.loss(src, tgt_in, tgt_out)
        loss.backward()
        return loss.detach()

    def _loss(self, src: Tensor, tgt_in: Tensor, tgt_out: Tensor) -> Tensor:
        losses = label_smoothing_loss(self.model(src, tgt_in), tgt_out)
        return losses.sum() / padding_mask(tgt_out).sum()


def training_speeds(
    methods: Sequence[Method],
    work: Workload,
    device: torch.device,
    throughputs: dict[torch.dtype, float],
    rounds: int = 5,
    known: Sequence[dict] = (),
) -> Iterator[list[dict]]:
    """Time methods of training, once as each is ready, then in turn.

    Args:
        methods: The methods; those for GPUs only are skipped on other devices.
        work: The workload.
        device: The device.
        throughputs: Operations per second of the device's matrix products, by
            precision.
        rounds: Timings of each method, of which the median is taken.
        known: Rows of methods that were measured before, and are not repeated.

    Yields:
        All rows so far, after each method and each round. A row has "name", and
        "tokens_per_second" (real target tokens), "ms_per_batch", "timings", "peak_mb"
        (on a GPU) and "share", the fraction of the device's throughput of matrix
        products in that precision; or "failed": the reason.
    """
    rows = {row["name"]: row for row in known}
    timings: list[Timings] = []
    for method in methods:
        if method.name in rows:
            continue
        run = prepare(method, work, device)
        rows[method.name] = {"name": method.name, "failed": run}
        if isinstance(run, Training):
            timings.append(Timings(run, work, throughputs[method.precision]))
            rows[method.name] = timings[-1].once_more()
        yield [*rows.values()]
    for _ in range(rounds - 1):
        for of_one in timings:
            rows[of_one.run.method.name] = of_one.once_more()
        yield [*rows.values()]


class Timings:
    """The timings of one method.

    Args:
        run: The method's training.
        work: The workload.
        throughput: Operations per second of the device's matrix products.
    """

    def __init__(self, run: Training, work: Workload, throughput: float):
        self.run, self.work, self.throughput = run, work, throughput
        self.seconds: list[float] = []
        self.failed: str | None = None

    def once_more(self) -> dict:
        """Time an epoch; the row of all timings."""
        try:
            if not self.failed:
                seconds = timed_seconds(self.run.one_epoch, self.run.device)
                self.seconds.append(seconds)
        except Exception as error:  # such as out of memory; the others continue
            self.failed = failure_message(error)
        if self.failed:
            return {"name": self.run.method.name, "failed": self.failed}
        row = speed_row(self.run, self.work, median(self.seconds), self.throughput)
        return {**row, "timings": len(self.seconds)}


def prepare(method: Method, work: Workload, device: torch.device) -> Training | str:
    """Create and warm up a training loop, or return why that is not possible.

    A method that fails must not stop the others on a rented machine.
    """
    if method.needs_gpu and device.type != "cuda":
        return "measured on a GPU only"
    cuda = device.type == "cuda"
    try:
        if cuda:
            torch.cuda.reset_peak_memory_stats()
            before = torch.cuda.memory_allocated()
        run = Training(method, work, device)
        run.warm_up()
        # Here, not later: a CUDA graph allocates when recorded, not when replayed.
        if cuda:
            run.peak = torch.cuda.max_memory_allocated() - before
    except Exception as error:
        return failure_message(error)
    return run


def failure_message(error: Exception) -> str:
    """The error in a line or two."""
    return f"{type(error).__name__}: {error}"[:500]


def timed_seconds(call: Callable[[], object], device: torch.device) -> float:
    """Seconds until the last kernel of a call has finished."""
    synchronize(device)
    start = time.perf_counter()
    call()
    synchronize(device)
    return time.perf_counter() - start


def speed_row(run: Training, work: Workload, seconds: float, throughput: float) -> dict:
    """The figures of one method."""
    pairs = sample_token_pairs(work)
    # Each sentence at its own length: operations on padding are not counted.
    flops = sum(
        training_flops(work.config, 1, len(source) + 1, len(target) + 1)
        for source, target in pairs
    )
    values = {
        "name": run.method.name,
        "tokens_per_second": round(target_tokens([pairs]) / seconds),
        "ms_per_batch": round(1000 * seconds / len(run.batches), 2),
        "batches": len(run.batches),
        "shapes": len({batch.src.shape for batch in run.batches}),
        "share": round(flops / seconds / throughput, 4),
    }
    if run.device.type == "cuda":
        values["peak_mb"] = run.peak >> 20
    return values
