"""CUDA graphs: the kernels of a training step, recorded once and replayed.

A step of a small model has more than a thousand short kernels. Launching each of them
takes the CPU longer than running it takes the GPU, which waits. A CUDA graph is
launched as a whole. It contains memory addresses, not values, so each signature (the
shapes and dtypes of the inputs) has its own graph, and new inputs are copied to the
addresses of the first ones.

Only a GPU can show that this is right: that inputs are copied, that a result is not
overwritten by the next replay, and that neither stream runs ahead of the other. The
tests for it run where there is a GPU; on a CPU the function is just called.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from functools import cached_property

import torch
from torch import Tensor

EAGER_CALLS = 3
"""Number of eager calls of a signature before it is recorded, since libraries are
initialised in the first calls."""

Function = Callable[..., Tensor]
Signature = tuple[tuple[torch.Size, torch.dtype], ...]


def signature(inputs: Sequence[Tensor]) -> Signature:
    """The shape and the dtype of each input, on which a recording depends."""
    return tuple((x.shape, x.dtype) for x in inputs)


class GraphedFunction:
    """A function of tensors with a CUDA graph for each signature of its inputs.

    It must do the same for all inputs of a signature: no branches on values, no copies
    to the CPU. What it modifies, such as gradients, it must modify in place: gradients
    exist before the first call and are set to zero, never to None.

    On a CPU there is nothing to record, and the function is called each time.

    Args:
        function: Takes tensors on one device, returns one tensor.
    """

    def __init__(self, function: Function):
        self.function = function
        self.calls: Counter[Signature] = Counter()
        self.recordings: dict[Signature, Recording] = {}

    @cached_property
    def stream(self) -> torch.cuda.Stream:
        """The stream of all recordings and of the eager calls before them."""
        return torch.cuda.Stream()

    @cached_property
    def pool(self) -> tuple[int, int]:
        """Memory pool that all recordings share, as no two run at a time."""
        return torch.cuda.graph_pool_handle()

    def __call__(self, *inputs: Tensor) -> Tensor:
        """Call the function; the result is a new tensor."""
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
        """Call the function on the stream of the recordings, as they require."""
        now = torch.cuda.current_stream()
        self.stream.wait_stream(now)
        with torch.cuda.stream(self.stream):
            out = self.function(*inputs)
        now.wait_stream(self.stream)
        for tensor in (*inputs, out):
            # Memory used on two streams must not be reused while one still reads it.
            tensor.record_stream(now)
            tensor.record_stream(self.stream)
        return out


class Recording:
    """A CUDA graph of one call; recording does not run the kernels.

    Args:
        function: As in :class:`GraphedFunction`.
        inputs: Inputs of the signature to record.
        pool: Memory pool shared with other recordings.
        stream: The stream of the eager calls, so that they are finished.
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
        """Run the kernels on other inputs."""
        for mine, given in zip(self.inputs, inputs, strict=True):
            mine.copy_(given, non_blocking=True)
        self.graph.replay()
        return self.out.clone()  # the next replay overwrites it
