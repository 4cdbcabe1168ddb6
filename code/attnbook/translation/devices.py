"""Arithmetic of a training run: precision, PyTorch's backends, and peak memory."""

from __future__ import annotations

import platform

import torch

try:
    import resource
except ImportError:  # on Windows
    resource = None


def set_backends() -> None:
    """Choose how PyTorch computes on a CUDA GPU, in the whole process.

    "fp32" then means fp32 everywhere. By default PyTorch multiplies matrices in fp32,
    but cuDNN's GRU in TF32, which has 10 bits of precision instead of 23. And attention
    uses PyTorch's own kernels, since cuDNN plans its attention for each new shape,
    which takes up to a second.
    """
    torch.set_float32_matmul_precision("highest")
    torch.backends.cudnn.allow_tf32 = False
    torch.backends.cuda.enable_cudnn_sdp(False)


def choose_precision(
    wanted: str, device: torch.device, recurrent: bool = False
) -> torch.dtype:
    """Choose the floating-point type of matrix products.

    bf16 has the range of fp32; fp16 has a smaller one, so that the loss must be scaled.
    An update whose scaled gradients overflow is left out, but counted.
    GPUs of 2017 to 2019, such as Colab's free T4, have tensor cores for fp16 only;
    older ones have none. A CPU is faster in bf16 if it has instructions for it.

    A recurrent model is not trained in bf16: under autocast cuDNN runs its GRU in fp16
    then, too, and without a scaled loss its gradients underflow.

    Args:
        wanted: "fp32", "bf16", "fp16" or "auto".
        device: The device to compute on.
        recurrent: Whether the model holds an ``nn.GRU``; "auto" is then fp32.

    Raises:
        ValueError: If there is no such precision, fp16 is requested without CUDA, or
            bf16 for a recurrent model.
    """
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16, "fp16": torch.float16}
    if wanted == "auto":
        if recurrent:
            return torch.float32
        if device.type != "cuda":
            native = device.type == "cpu" and has_bf16_products()
            return torch.bfloat16 if native else torch.float32
        capability = torch.cuda.get_device_capability(device)
        if capability >= (8, 0):
            return torch.bfloat16
        return torch.float16 if capability >= (7, 0) else torch.float32
    if wanted not in kinds:
        raise ValueError(f"precision is {wanted!r}; choose auto, {', '.join(kinds)}")
    if wanted == "fp16" and device.type != "cuda":
        raise ValueError(
            f"fp16 needs a CUDA GPU, and this is {device.type}; take fp32 or auto"
        )
    if wanted == "bf16" and recurrent:
        raise ValueError(
            "a recurrent model cannot be trained in bf16, since cuDNN runs its GRU in "
            "fp16 then; take fp32 or auto"
        )
    return kinds[wanted]


def has_bf16_products() -> bool:
    """Whether the CPU multiplies matrices in bf16 by instructions of its own."""
    found = getattr(torch.cpu, "get_capabilities", dict)()  # PyTorch of old has none
    return any(found.get(name, False) for name in ("avx512_bf16", "amx_bf16"))


def peak_memory(device: torch.device) -> int:
    """Peak memory so far in bytes: of the GPU, else of this process.

    It is 0 where it is unknown, as on Windows. On MPS, too, it is that of the process:
    PyTorch tells no peak there.
    """
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    if resource is None:
        return 0
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    return peak if platform.system() == "Darwin" else peak * 1024  # kilobytes
