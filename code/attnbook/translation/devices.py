"""Device and precision of a training run, and its peak memory."""

from __future__ import annotations

import platform

import torch

try:
    import resource
except ImportError:  # on Windows
    resource = None


def best_device() -> torch.device:
    """A CUDA GPU if there is one, else Apple's (MPS), else the CPU.

    If it is a CUDA GPU, cuDNN's attention is turned off globally, so that PyTorch uses
    its own kernels.
    """
    if torch.cuda.is_available():
        # cuDNN plans its attention for each new shape, which takes up to a second.
        torch.backends.cuda.enable_cudnn_sdp(False)
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """Choose the floating-point type of matrix products.

    bf16 has the range of fp32; fp16 has a smaller one, so that the loss must be scaled.
    GPUs from before 2020, such as Colab's free T4, have tensor cores for fp16 only. A
    CPU is fastest in fp32 at the sizes of this course.

    Args:
        wanted: "fp32", "bf16", "fp16" or "auto".
        device: The device to compute on.

    Raises:
        ValueError: If there is no such precision, or fp16 is requested without CUDA.
    """
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    if wanted == "auto":
        if device.type != "cuda":
            return torch.float32
        native = torch.cuda.get_device_capability(device) >= (8, 0)
        return torch.bfloat16 if native else torch.float16
    if wanted not in kinds:
        raise ValueError(f"precision is {wanted!r}; choose auto, {', '.join(kinds)}")
    if wanted == "fp16" and device.type != "cuda":
        raise ValueError(
            f"fp16 needs a CUDA GPU, and this is {device.type}; take fp32 or auto"
        )
    return kinds[wanted]


def peak_memory(device: torch.device) -> int:
    """Peak memory so far in bytes: of the GPU, else of this process.

    It is 0 where it is unknown, as on Windows.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if platform.system() == "Darwin" else peak * 1024  # kilobytes
