"""Where to compute, and with how many bits."""

from __future__ import annotations

import platform

import torch

try:
    import resource
except ImportError:  # on Windows
    resource = None


def best_device() -> torch.device:
    """A CUDA GPU if there is one, else Apple's (MPS), else the processor.

    On a CUDA GPU it also turns cuDNN's attention off, for PyTorch's own kernels.
    """
    if torch.cuda.is_available():
        # cuDNN plans its attention anew for each shape of batch, for up to a second.
        torch.backends.cuda.enable_cudnn_sdp(False)
        return torch.device("cuda")
    if torch.backends.mps.is_available():
        return torch.device("mps")
    return torch.device("cpu")


def choose_precision(wanted: str, device: torch.device) -> torch.dtype:
    """Choose the kind of number that matrices are multiplied in.

    bf16 has the range of fp32 and needs nothing else; fp16 has a small range, so that
    the loss must be scaled. GPUs before 2020, such as Colab's free T4, have units for
    fp16 only. A processor is fastest in fp32 at the sizes of this course.

    Args:
        wanted: "fp32", "bf16", "fp16" or "auto".
        device: Where.

    Raises:
        ValueError: If it is another word, or fp16 is asked for without CUDA.
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
    """Bytes held at most so far: of the GPU, else of this process.

    It is 0 where the system does not tell, as on Windows.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if resource is None:
        return 0
    held = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return held if platform.system() == "Darwin" else held * 1024  # kilobytes
