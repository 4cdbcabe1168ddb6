"""An emulated GPU: its tensors say that they are on cuda:0, and compute on the CPU.

So code that mixes devices fails here as it would on a GPU, and the branches for a GPU
run on a machine without one. The results are true numbers: those of the CPU.

It cannot show what a GPU does at its own pace or by kernels of its own:

- Streams and CUDA graphs. Three mistakes in ``translation/cuda_graphs`` pass: the
  result of a graph is not cloned, its inputs are not copied, a stream is not waited
  for. The tests in ``test_cuda_graphs`` that find them need a GPU.
- cuDNN's GRU, fused kernels, TF32, the order of sums; several GPUs; their memory.

``Processes.sum`` would give the same results without ``clone``: nobody reads the number
that ``all_reduce`` would overwrite. So no test can find that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch import Tensor, nn
from torch.overrides import TorchFunctionMode

GPU = torch.device("cuda", 0)
CPU = torch.device("cpu")

RealGenerator = torch.Generator
real_autocast = torch.autocast
real_apply = nn.Module._apply


class DeviceMismatchError(RuntimeError):
    """An operation that a GPU would refuse."""


class GpuTensor(Tensor):
    """A tensor on the emulated GPU."""

    device = property(lambda self: GPU)
    is_cuda = property(lambda self: True)

    @classmethod
    def __torch_function__(cls, func, types, args=(), kwargs=None):
        """Run an operation as the GPU would."""
        return call(func, args, kwargs or {})


class Generator(RealGenerator):
    """A generator of random numbers on the CPU or on the emulated GPU."""

    device = property(lambda self: self.place)

    def __new__(cls, device: torch.device | str = CPU) -> Generator:
        """Make one that draws the numbers of a CPU generator."""
        generator = super().__new__(cls)
        generator.place = GPU if on_gpu(device) else CPU
        return generator


class Mode(TorchFunctionMode):
    """Sees the operations that make a tensor on the GPU from none that is there."""

    def __torch_function__(self, func, types, args=(), kwargs=None):
        """Run an operation on the emulated GPU if it concerns it."""
        kwargs = kwargs or {}
        if func.__name__ == "pin_memory":  # it would ask a real GPU
            return args[0]
        concerned = [kwargs.get("device"), kwargs.get("generator")]
        concerned += args[1:] if func.__name__ == "to" else []
        if any(map(on_gpu, [*concerned, *tensors(args, kwargs)])):
            return call(func, args, kwargs)
        return func(*args, **kwargs)


def on_gpu(x: Any) -> bool:
    """Whether something is on the emulated GPU, or is its name."""
    if isinstance(x, str | torch.device):
        return torch.device(x).type == "cuda"
    return isinstance(x, GpuTensor) or (isinstance(x, Generator) and x.place == GPU)


def tensors(*values: Any) -> Iterator[Tensor]:
    """All tensors in arguments, which may be nested."""
    for value in values:
        if isinstance(value, Tensor):
            yield value
        elif isinstance(value, list | tuple):
            yield from tensors(*value)
        elif isinstance(value, dict):
            yield from tensors(*value.values())


def to_gpu(value: Any) -> Any:
    """Put the tensors of a result on the GPU, without a copy."""
    if type(value) is Tensor:
        return value.as_subclass(GpuTensor)
    if isinstance(value, list | tuple) and list(tensors(value)):
        parts = map(to_gpu, value)
        return type(value)(*parts) if hasattr(value, "_make") else type(value)(parts)
    return value


def plain(tensor: Tensor) -> Tensor:
    """The same memory as an ordinary tensor."""
    return tensor.as_subclass(Tensor)


def call(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Run an operation, and say where its result is.

    Raises:
        DeviceMismatchError: If a GPU would refuse it.
    """
    name = func.__name__
    with torch._C.DisableTorchFunctionSubclass():
        if name in SPECIAL:
            return SPECIAL[name](*args, **kwargs)
        check_devices(name, args, kwargs)
        device = kwargs.get("device")
        out = func(*args, **{k: v for k, v in kwargs.items() if k != "device"})
        if name in RETURN_CPU_LENGTHS:
            return to_gpu(out[0]), out[1]
        if device is not None and not on_gpu(device):
            return plain(out)
        return to_gpu(out)


MAY_MIX = {
    *("copy_", "module_load", "_has_compatible_shallow_copy_type"),  # copies
    *("__get__", "__set__", "__delete__"),  # attributes of a tensor
    *("__getitem__", "__setitem__"),  # an index may be on the CPU
    *("gru", "_pack_padded_sequence", "_pad_packed_sequence"),  # lengths are on the CPU
}
RETURN_CPU_LENGTHS = {"_pack_padded_sequence", "_pad_packed_sequence"}


def check_devices(name: str, args: tuple, kwargs: dict) -> None:
    """Raise a DeviceMismatchError if a GPU would refuse the operation."""
    found = list(tensors(args, kwargs))
    here = [x for x in found if on_gpu(x)]
    # A number may be on the CPU, except where it would be overwritten.
    overwritten = args[:1] if name.endswith("_") and name[-2] != "_" else ()
    elsewhere = [x for x in found if not on_gpu(x)]
    elsewhere = [x for x in elsewhere if x.dim() or any(x is y for y in overwritten)]
    if here and elsewhere and name not in MAY_MIX:
        shapes = [[tuple(x.shape) for x in part] for part in (here, elsewhere)]
        raise DeviceMismatchError(f"{name} of cuda:0 {shapes[0]} and CPU {shapes[1]}")
    must_be_on_the_cpu = ()
    if name in ("__getitem__", "__setitem__") and not on_gpu(args[0]):
        must_be_on_the_cpu = tensors(args[1])  # the index
    elif name == "_pack_padded_sequence":
        must_be_on_the_cpu = args[1:2]  # the lengths
    if any(map(on_gpu, must_be_on_the_cpu)):
        raise DeviceMismatchError(f"{name}: index or lengths are on cuda:0")
    generator = kwargs.get("generator")
    uses_gpu = bool(here) or on_gpu(kwargs.get("device"))
    if generator and uses_gpu != on_gpu(generator):
        raise DeviceMismatchError(f"{name}: its generator is on {generator.device}")


def move(tensor: Tensor, *args: Any, **kwargs: Any) -> Tensor:
    """``Tensor.to``: a copy, unless nothing changes."""
    kwargs = {k: v for k, v in kwargs.items() if k != "copy"}
    if args and isinstance(args[0], Tensor):
        args = (args[0].device, args[0].dtype, *args[1:])
    device, dtype, _, _ = torch._C._nn._parse_to(*args, **kwargs)
    to_there = on_gpu(device) if device else on_gpu(tensor)
    if to_there == on_gpu(tensor) and dtype in (None, tensor.dtype):
        return tensor
    moved = plain(tensor).to(dtype or tensor.dtype, copy=True)
    return to_gpu(moved) if to_there else moved


def refuse_numpy(tensor: Tensor, *args: Any, **kwargs: Any) -> None:
    """``Tensor.numpy``: a GPU's memory is not the CPU's."""
    raise TypeError("can't convert cuda:0 device type tensor to numpy")


def copy_whole(tensor: Tensor, memo: dict) -> Tensor:
    """``copy.deepcopy``."""
    copied = to_gpu(plain(tensor).detach().clone())
    return copied.requires_grad_(tensor.requires_grad)


SPECIAL: dict[str, Callable] = {
    "to": move,
    "cpu": lambda tensor: move(tensor, CPU),
    "cuda": lambda tensor: move(tensor, GPU),
    "pin_memory": lambda tensor: tensor,
    "numpy": refuse_numpy,
    "__array__": refuse_numpy,
    "__deepcopy__": copy_whole,
    "__repr__": lambda tensor, **_: f"cuda:0 {plain(tensor)!r}",
}
"""Operations that are not those of the CPU, by name."""


def move_module(module: nn.Module, *args: Any, **kwargs: Any) -> nn.Module:
    """``Module.to`` and the like, which by default keep the class of a parameter."""
    before = torch.__future__.get_swap_module_params_on_conversion()
    torch.__future__.set_swap_module_params_on_conversion(True)
    try:
        return real_apply(module, *args, **kwargs)
    finally:
        torch.__future__.set_swap_module_params_on_conversion(before)


class Autocast(real_autocast):
    """``torch.autocast`` for the device that computes: the CPU."""

    def __init__(self, device_type: str, *args: Any, **kwargs: Any):
        super().__init__(
            "cpu" if device_type == "cuda" else device_type, *args, **kwargs
        )


@contextmanager
def emulated_cuda(capability: tuple[int, int] = (9, 0)) -> Iterator[None]:
    """Make PyTorch believe in a GPU.

    Args:
        capability: Compute capability: (7, 5) has tensor cores for fp16 alone.
    """
    with pytest.MonkeyPatch.context() as patch, Mode():
        patch.setattr(nn.Module, "_apply", move_module)
        patch.setattr(torch, "autocast", Autocast)
        patch.setattr(torch, "Generator", Generator)
        patch.setattr(torch.backends.cudnn, "is_acceptable", lambda _: False)
        for name, value in {
            "is_available": True,
            "is_bf16_supported": capability >= (8, 0),
            "get_device_capability": capability,
            "get_device_name": "emulated GPU",
            "max_memory_allocated": 2**20,
            "is_current_stream_capturing": False,  # it would ask the driver
            **dict.fromkeys(("set_device", "manual_seed_all", "synchronize")),
        }.items():
            patch.setattr(torch.cuda, name, lambda *_, value=value: value)
        yield
