"""What a GPU is to do in a step, recorded once and replayed: CUDA graphs.

A step of a small model is more than a thousand short kernels. Naming each of them takes
the processor longer than running it takes the GPU, which waits. A recording is started
as a whole. It knows the places in memory, not the numbers in them, so each signature
(the shapes and dtypes of what goes in) has a recording of its own, and what goes in is
copied to where the first one's inputs lay.

Only a GPU can show that this is right: that what goes in is copied, that a result is
not written over by the next replay, and that neither stream runs ahead of the other.
The tests for it run where there is a GPU; on a processor the function is just called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor

EAGER_CALLS = 3
"""How often a signature is called before it is recorded, since libraries set themselves
up in the first calls."""

Function = Callable[..., Tensor]


Signature = tuple[tuple[torch.Size, torch.dtype], ...]


def signature(inputs: Sequence[Tensor]) -> Signature:
    """What a recording depends on: the shape and the dtype of each input."""
    return tuple((x.shape, x.dtype) for x in inputs)


class Replayed:
    """A function of tensors; its kernels are recorded for each signature of its inputs.

    It must do the same for all inputs of a signature: no decision by a value, no copy
    to the processor. What it changes besides, such as gradients, it must change in
    place: gradients exist before the first call and are set to zero, never to None.

    On a processor there is nothing to record, and the function is called each time.

    Args:
        function: Takes tensors of one device, returns one tensor.
    """

    def __init__(self, function: Function):
        self.function = function
        self.calls: Counter[Signature] = Counter()
        self.recordings: dict[Signature, Recording] = {}

    @cached_property
    def stream(self) -> torch.cuda.Stream:
        """Where all is recorded, and called before that."""
        return torch.cuda.Stream()

    @cached_property
    def pool(self) -> tuple[int, int]:
        """Memory that all recordings share, as no two run at a time."""
        return torch.cuda.graph_pool_handle()

    def __call__(self, *inputs: Tensor) -> Tensor:
        """Do what the function does; the result is a tensor of its own."""
        if not all(x.is_cuda for x in inputs):
            return self.function(*inputs)
        kind = signature(inputs)
        self.calls[kind] += 1
        if self.calls[kind] <= EAGER_CALLS:
            return self._eager(inputs)
        if kind not in self.recordings:
            self.recordings[kind] = Recording(
                self.function, inputs, self.pool, self.stream
            )
        return self.recordings[kind].replay(inputs)

    def _eager(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Call the function on a stream of its own, as recording asks for."""
        now = torch.cuda.current_stream()
        self.stream.wait_stream(now)
        with torch.cuda.stream(self.stream):
            out = self.function(*inputs)
        now.wait_stream(self.stream)
        for tensor in (*inputs, out):
            # Memory used on two streams must not be given away while one still reads.
            tensor.record_stream(now)
            tensor.record_stream(self.stream)
        return out


class Recording:
    """The kernels of one call; recording runs none of them.

    Args:
        function: As in :class:`Replayed`.
        inputs: Of the signature to record for.
        pool: Memory that it shares with other recordings.
        stream: That of the calls before, so that nothing of them is on another.
    """

    def __init__(
        self,
        function: Function,
        inputs: tuple[Tensor, ...],
        pool: tuple[int, int],
        stream: torch.cuda.Stream,
    ):
        self.inputs = [x.clone() for x in inputs]
        self.graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(self.graph, pool=pool, stream=stream):
            self.out = function(*self.inputs)

    def replay(self, inputs: tuple[Tensor, ...]) -> Tensor:
        """Run the kernels on other numbers."""
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given, non_blocking=True)
        self.graph.replay()
        return self.out.clone()  # the next replay writes over it
