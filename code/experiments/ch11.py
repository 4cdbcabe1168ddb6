"""Chapter 11: recall and induction by kind of layer, costs, what weights tell."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from itertools import islice, product
from unittest.mock import patch

import torch
from torch import Tensor, nn

from attnbook.analysis.cost import median_seconds, peak_bytes
from attnbook.core.divergence import check_finite
from attnbook.core.vocabulary import UNK
from attnbook.course.ch08.taggers import tagger
from attnbook.course.ch11.first_symbol import (
    LAYER_STACKS,
    LastPosition,
    convolutions,
    exponential_dilations,
    first_symbol_batches,
)
from attnbook.models import seq2seq
from attnbook.models.bahdanau import Bahdanau
from attnbook.models.luong import Luong
from attnbook.models.seq2seq import StaticContext
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import ScaledEmbedding, TransformerConfig
from attnbook.nn.losses import token_loss
from attnbook.nn.sequence_layers import (
    ConvolutionLayer,
    RecurrentLayer,
    SelfAttentionLayer,
    WindowedSelfAttention,
)
from attnbook.toy.data import TARGET
from attnbook.toy.task_models import InductionModel, Tagger
from attnbook.toy.tasks import (
    TASK_VOCAB_SIZE,
    induction_batches,
    last_position_accuracy,
    parities,
    random_symbols,
    task_accuracy,
    task_batches,
)
from attnbook.toy.training import fit, train_step
from experiments.registry import experiment, sweep

SEEDS = (0, 1, 2)

# Recall of the first symbol at the last position

RECALL_STEPS, RECALL_RATE, RECALL_WIDTH = 500, 3e-3, 32


@sweep(
    n=(8, 16, 32, 64),
    kind=LAYER_STACKS,
    seed=SEEDS,
    steps=RECALL_STEPS,
    rate=RECALL_RATE,
    d=RECALL_WIDTH,
)
def first_token(n: int, kind: str, seed: int) -> dict:
    """Train a kind of layer at a length, and test it on 2,000 new sequences."""
    layers = LAYER_STACKS[kind](n, RECALL_WIDTH)
    return train_last_position(layers, n, seed, RECALL_STEPS)


@sweep(
    n=(8, 16),
    kind=("contiguous", "GRU"),
    seed=SEEDS,
    steps=4 * RECALL_STEPS,
    rate=RECALL_RATE,
    d=RECALL_WIDTH,
)
def first_token_longer(n: int, kind: str, seed: int) -> dict:
    """The same with four times the steps, for the two kinds with long paths."""
    layers = LAYER_STACKS[kind](n, RECALL_WIDTH)
    return train_last_position(layers, n, seed, 4 * RECALL_STEPS)


def train_last_position(layers: list[nn.Module], n: int, seed: int, steps: int) -> dict:
    """Train one model.

    Returns:
        The number of "layers", and the accuracy ("right").
    """
    model = LastPosition(layers, RECALL_WIDTH)
    fit(model, first_symbol_batches(n, seed), steps, RECALL_RATE)
    test = next(first_symbol_batches(n, seed=99, batch_size=2000))
    return {
        "layers": len(layers),
        "right": round(last_position_accuracy(model, test), 4),
    }


# Two tasks at each kind of layer: what followed this symbol before, a running sum

Batch = tuple[Tensor, Tensor]  # ids, (B, n); targets, (B, 1)

N, WIDTH = 12, 64
FEW_STEPS, RATE = 400, 4e-3

LAYERS: dict[str, Callable[[int], nn.Module]] = {
    "self-attention": lambda d: SelfAttentionLayer(d, n_heads=1),
    "convolution": lambda d: nn.Sequential(ConvolutionLayer(d, N), nn.ReLU()),
    "dilated": lambda d: nn.Sequential(*convolutions(d, exponential_dilations(N))),
    "GRU": RecurrentLayer,
}
"""One layer of each kind, or three dilated convolutions; all see the N positions."""


@sweep(kind=LAYERS, seed=SEEDS, steps=FEW_STEPS, n=N, d=WIDTH, learning_rate=RATE)
def induction(kind: str, seed: int) -> dict:
    """Train a kind of layer, and test it on 2,000 new sequences."""
    return {"accuracy": induction_accuracy(kind, seed, FEW_STEPS)}


def induction_accuracy(kind: str, seed: int, steps: int) -> float:
    """Train one model and test it."""
    model = InductionModel(LAYERS[kind](WIDTH), WIDTH)
    fit(model, induction_batches(N, seed), steps, RATE)
    test = next(induction_batches(N, seed=99, batch_size=2000))
    return round(last_position_accuracy(model, test), 4)


SLOW = (("GRU", 256), ("GRU", 64), ("convolution", 64))
SLOW_STEPS, FIRST_STEPS, EVERY = 6000, 2000, 400


@experiment
def induction_updates() -> dict:
    """Fifteen times the updates at a constant learning rate, and a wider GRU.

    Returns:
        "runs": for each kind, width "d" and seed the "accuracy" every 400 updates.
    """
    runs = []
    for (kind, d), seed in product(SLOW, SEEDS):
        torch.manual_seed(seed)
        accuracy = accuracy_over_updates(kind, d, seed, SLOW_STEPS)
        runs.append({"kind": kind, "d": d, "seed": seed, "accuracy": accuracy})
        print(f"  {runs[-1]}", flush=True)
    about = {"n": N, "every": EVERY, "learning_rate": RATE}
    return {"steps": SLOW_STEPS, **about, "runs": runs}


def query_first(batch: Batch) -> Batch:
    """Move the last symbol of each sequence to its beginning."""
    ids, targets = batch
    return ids.roll(1, dims=1), targets


@sweep(
    kind=("GRU",),
    d=(WIDTH,),
    seed=SEEDS,
    steps=FIRST_STEPS,
    n=N,
    every=EVERY,
    learning_rate=RATE,
)
def induction_query_first(kind: str, d: int, seed: int) -> dict:
    """The same for a GRU that reads the repeated symbol first, and not last.

    So it knows from the beginning which pair to keep. Paths are one step shorter.
    """
    return {"accuracy": accuracy_over_updates(kind, d, seed, FIRST_STEPS, query_first)}


def accuracy_over_updates(
    kind: str,
    d: int,
    seed: int,
    steps: int,
    reorder: Callable[[Batch], Batch] = lambda batch: batch,
) -> list[float]:
    """Train one model, and test it again and again."""
    model = InductionModel(LAYERS[kind](d), d)
    optimizer = torch.optim.Adam(model.parameters(), lr=RATE)
    test = reorder(next(induction_batches(N, seed=99, batch_size=2000)))
    found = []
    batches = map(reorder, induction_batches(N, seed))
    for step, batch in enumerate(islice(batches, steps), 1):
        train_step(model, optimizer, batch, token_loss)
        if step % EVERY == 0:
            found.append(round(last_position_accuracy(model, test), 4))
    check_finite(model.parameters())
    return found


TAGGERS: dict[str, Callable[[], Tagger]] = {
    **{
        kind: lambda make=make: Tagger(
            ScaledEmbedding(TASK_VOCAB_SIZE, WIDTH), [make(WIDTH)]
        )
        for kind, make in LAYERS.items()
    },
    "two encoder layers": lambda: tagger("with", 2),
}
"""The same layers with an output at every position, and two of chapter 8's."""


@sweep(
    steps=(FEW_STEPS, 5 * FEW_STEPS),
    kind=TAGGERS,
    seed=SEEDS,
    n=N,
    d=WIDTH,
    learning_rate=RATE,
)
def running_parity(steps: int, kind: str, seed: int) -> dict:
    """A task with a state: is the sum of the symbols so far odd or even?

    Returns:
        The "accuracy" after the last symbol.
    """
    model = TAGGERS[kind]()
    fit(model, task_batches(parities, N, seed), steps, RATE)
    ids = random_symbols(2000, N, torch.Generator().manual_seed(99))
    return {"accuracy": round(task_accuracy(model, parities(ids))[-1].item(), 4)}


# Time and memory of each kind of layer, by length

HEAD_WIDTH, KERNEL, WINDOW = 64, 3, 64

KINDS: dict[str, Callable[[int], nn.Module]] = {
    "self-attention": lambda d: SelfAttentionLayer(d, d // HEAD_WIDTH),
    "restricted": lambda d: WindowedSelfAttention(d, d // HEAD_WIDTH, WINDOW),
    "GRU": RecurrentLayer,
    "convolution": lambda d: ConvolutionLayer(d, KERNEL),
    "dilated": lambda d: ConvolutionLayer(d, KERNEL, dilation=9),
}


@sweep(
    n=(128, 256, 512, 1024, 2048, 4096),
    d=(256,),
    kind=KINDS,
    kernel=KERNEL,
    window=WINDOW,
    head=HEAD_WIDTH,
)
def layer_cost(n: int, d: int, kind: str) -> dict[str, float]:
    """Measure the forward pass of one layer of each kind on one sequence.

    Returns:
        The median processor time in "seconds", and the peak memory in "bytes" beyond
        the weights and the input.
    """
    layer, x = KINDS[kind](d).eval(), torch.randn(1, n, d)
    call = partial(layer, x)
    with torch.inference_mode():
        call()  # the first call takes longer
        return {"seconds": median_seconds(call), "bytes": peak_bytes(call)}


# Training speed of whole translators, by length

TRANSLATORS: dict[str, Callable[[int, int], nn.Module]] = {
    "static context": lambda v, d: StaticContext(v, v, d // 2, d),
    "Bahdanau": lambda v, d: Bahdanau(v, v, d // 2, d, d),
    "Luong": lambda v, d: Luong(v, v, d // 2, 2 * d, input_feeding=False),
    "Transformer": lambda v, d: Transformer(
        TransformerConfig(v, v, d, n_heads=4, n_layers=2, d_ff=4 * d, norm_first=True)
    ),
}
"""The toy language's translators by width, Luong's without input feeding."""

AS_IT_IS = {
    "pack_padded_sequence": lambda x, *_, **__: x,
    "pad_packed_sequence": lambda x, **_: (x, None),
}
"""What encoders call, for texts that have no padding."""


@sweep(
    d=(64, 256),
    tokens=(2048, 8192),
    model=TRANSLATORS,
    length=(8, 32, 128, 512),
    words=len(TARGET),
)
def speed_by_length(d: int, tokens: int, model: str, length: int) -> dict:
    """Training on one thread, with equal numbers of target tokens in a batch.

    Sources and targets are random words, all of the same length, so that encoders
    needn't pack them, which took RNNs two fifths of their time at 512 and more.

    Returns:
        The target tokens per second of processor time, "speed", of a forward and
        backward pass.
    """
    translator = TRANSLATORS[model](len(TARGET), d)
    ids = torch.randint(UNK + 1, len(TARGET), (tokens // length, length))

    def one_pass() -> None:
        translator.zero_grad()
        token_loss(translator(ids, ids), ids).backward()

    with patch.multiple(seq2seq, **AS_IT_IS):
        one_pass()  # the first call takes longer
        return {"speed": round(tokens / median_seconds(one_pass))}


@sweep(d=(64, 256), tokens=(2048, 8192), model=TRANSLATORS, length=512)
def memory_by_length(d: int, tokens: int, model: str) -> dict:
    """Peak memory of one step of this training, beyond weights, in texts of 512."""
    translator = TRANSLATORS[model](len(TARGET), d)
    ids = torch.randint(UNK + 1, len(TARGET), (tokens // 512, 512))

    def one_pass() -> None:
        token_loss(translator(ids, ids), ids).backward()

    with patch.multiple(seq2seq, **AS_IT_IS):
        return {"bytes": peak_bytes(one_pass)}
