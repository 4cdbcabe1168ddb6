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

    bf16 has the range of fp32, so that the loss needs no scaling, as it would in fp16.
    GPUs have tensor cores for it since 2020, and some CPUs instructions.

    A recurrent model is not trained in bf16: under autocast cuDNN runs its GRU in fp16
    then, and without a scaled loss its gradients underflow.

    Args:
        wanted: "fp32", "bf16" or "auto".
        device: The device to compute on.
        recurrent: Whether the model holds an ``nn.GRU``; "auto" is then fp32.

    Raises:
        ValueError: If there is no such precision, or bf16 is wanted for a recurrent
            model.
    """
    if wanted == "auto":
        bf16 = not recurrent and has_bf16_products(device)
        return torch.bfloat16 if bf16 else torch.float32
    if wanted == "bf16" and recurrent:
        raise ValueError(
            "a recurrent model cannot be trained in bf16, since cuDNN runs its GRU in "
            "fp16 then; take fp32 or auto"
        )
    kinds = {"fp32": torch.float32, "bf16": torch.bfloat16}
    if wanted not in kinds:
        raise ValueError(f"precision is {wanted!r}; choose auto, {', '.join(kinds)}")
    return kinds[wanted]


def has_bf16_products(device: torch.device) -> bool:
    """Whether a device multiplies matrices in bf16 by instructions of its own."""
    if device.type == "cuda":
        return torch.cuda.get_device_capability(device) >= (8, 0)
    if device.type != "cpu":
        return False
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
