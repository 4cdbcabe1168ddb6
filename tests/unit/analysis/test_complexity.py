"""Operations by formula are those that PyTorch's own counter finds."""

import dataclasses

import pytest
import torch
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode

from attnbook.analysis import cost
from attnbook.analysis.complexity import (
    forward_flops,
    training_flops,
)
from attnbook.analysis.cost import matmul_throughput
from attnbook.models.transformer import Transformer
from attnbook.nn.layers import TransformerConfig

SIZES = TransformerConfig(50, d_model=16, n_heads=4, n_layers=3, d_ff=24)


@pytest.mark.parametrize("norm_first", [False, True])
@pytest.mark.parametrize(("source", "target"), [(7, 5), (5, 9)])
def test_the_formula_agrees_with_the_counter(source, target, norm_first):
    model = Transformer(dataclasses.replace(SIZES, norm_first=norm_first))
    src, tgt_in = torch.full((2, source), 5), torch.full((2, target), 6)
    # The fused kernels' backward multiplies once more, to save memory.
    with sdpa_kernel(SDPBackend.MATH):
        with FlopCounterMode(display=False) as counter:
            logits = model(src, tgt_in)
        assert counter.get_total_flops() == forward_flops(SIZES, 2, source, target)
        with FlopCounterMode(display=False) as counter:
            logits.sum().backward()
    both = training_flops(SIZES, 2, source, target)
    assert counter.get_total_flops() == both - forward_flops(SIZES, 2, source, target)


def test_the_rate_is_operations_by_time_and_the_best_of_the_sizes(monkeypatch):
    clock = iter(range(1000))
    monkeypatch.setattr(cost.time, "perf_counter", lambda: next(clock))
    cpu = torch.device("cpu")
    products = round(cost.MIN_MULTIPLICATIONS / 64**3)
    assert matmul_throughput(cpu, torch.float32, (64,)) == 2 * 64**3 * products
    rates = [matmul_throughput(cpu, torch.float32, (n,)) for n in (16, 64, 500)]
    assert matmul_throughput(cpu, torch.float32, (16, 64, 500)) == max(rates)
