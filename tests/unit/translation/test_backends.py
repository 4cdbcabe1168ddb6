"""The precision that a device is given, and its memory."""

from types import SimpleNamespace

import pytest
import torch

from attnbook.translation import backends
from attnbook.translation.backends import choose_precision, set_backends

CPU, CUDA, MPS = (torch.device(name) for name in ("cpu", "cuda", "mps"))


@pytest.mark.parametrize(
    ("device", "capability", "wanted"),
    [
        (CPU, {}, torch.float32),
        (CPU, {"avx512_f": True, "avx512_bf16": False}, torch.float32),
        (CPU, {"avx512_bf16": True}, torch.bfloat16),
        (CPU, {"amx_bf16": True}, torch.bfloat16),
        (MPS, None, torch.float32),
        (CUDA, (7, 5), torch.float32),  # Colab's T4, which has fp16 alone
        (CUDA, (8, 0), torch.bfloat16),
        (CUDA, (9, 0), torch.bfloat16),
    ],
)
def test_auto_is_what_the_device_does_best(monkeypatch, device, capability, wanted):
    found = {"get_device_capability": lambda device: capability}
    cpu = SimpleNamespace(get_capabilities=lambda: capability)
    monkeypatch.setattr(backends.torch, "cuda", SimpleNamespace(**found))
    monkeypatch.setattr(backends.torch, "cpu", cpu)
    assert choose_precision("auto", device) == wanted
    assert choose_precision("auto", device, recurrent=True) == torch.float32


def test_what_is_asked_for_is_given():
    assert choose_precision("fp32", CUDA, recurrent=True) == torch.float32
    assert choose_precision("bf16", MPS) == torch.bfloat16
    with pytest.raises(ValueError, match=r"recurrent .* in bf16.*take fp32 or auto"):
        choose_precision("bf16", CUDA, recurrent=True)
    with pytest.raises(ValueError, match="precision is 'fp16'; choose auto, fp32, b"):
        choose_precision("fp16", CUDA)


def test_fp32_means_fp32_and_attention_is_pytorchs_own(monkeypatch):
    matmul = torch.get_float32_matmul_precision()
    gru, kernels = torch.backends.cudnn.allow_tf32, torch.backends.cuda
    attention = kernels.cudnn_sdp_enabled()
    try:
        torch.set_float32_matmul_precision("high")
        torch.backends.cudnn.allow_tf32 = True
        kernels.enable_cudnn_sdp(True)
        set_backends()
        assert torch.get_float32_matmul_precision() == "highest"
        assert not kernels.matmul.allow_tf32
        assert not torch.backends.cudnn.allow_tf32
        assert not kernels.cudnn_sdp_enabled()
    finally:
        torch.set_float32_matmul_precision(matmul)
        torch.backends.cudnn.allow_tf32 = gru
        kernels.enable_cudnn_sdp(attention)
