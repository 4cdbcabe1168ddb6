"""What a GPU is to do in a step, recorded once and replayed: CUDA graphs.

A step of a small model is more than a thousand short kernels. Naming each of them takes
the processor longer than running it takes the GPU, which waits. A recording is started
as a whole. It knows the places in memory, not the numbers in them, so each shape has a
recording of its own, and what goes in is copied to where the first one's inputs lay.
"""

from __future__ import annotations

from collections.abc import Callable

import torch
from torch import Tensor

EAGER_CALLS = 3
"""How often a shape is called before it is recorded, since libraries set themselves
up in the first calls."""

Function = Callable[..., Tensor]


class Replayed:
    """A function of tensors whose kernels are recorded for each shape of its inputs.

    It must do the same for all inputs of a shape: no decision by a value, no copy to
    the processor. What it changes besides, such as gradients, it must change in place:
    gradients exist before the first call and are set to zero, never to None.

    Args:
        function: Takes tensors on a GPU, returns one tensor.
    """

    def __init__(self, function: Function):
        self.function = function
        self.calls: dict[tuple[torch.Size, ...], int] = {}
        self.recordings: dict[tuple[torch.Size, ...], Recording] = {}
        self.stream = torch.cuda.Stream()
        self.pool = torch.cuda.graph_pool_handle()

    def __call__(self, *inputs: Tensor) -> Tensor:
        """Do what the function does; the result is a tensor of its own."""
        shapes = tuple(x.shape for x in inputs)
        seen = self.calls[shapes] = self.calls.get(shapes, 0) + 1
        if seen <= EAGER_CALLS:
            return self._eager(inputs)
        if shapes not in self.recordings:
            self.recordings[shapes] = Recording(
                self.function, inputs, self.pool, self.stream
            )
        return self.recordings[shapes].replay(inputs)

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
        inputs: Of the shapes to record for.
        pool: Memory that all recordings share, as no two run at a time.
        stream: That of the calls before, so that nothing of them is on another.
    """

    def __init__(
        self,
        function: Function,
        inputs: tuple[Tensor, ...],
        pool: tuple,
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
