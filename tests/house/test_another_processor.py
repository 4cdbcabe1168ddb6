"""The pretended processor, on which training rounds otherwise: docs/writing.md."""

import os
import subprocess
import sys
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1]
STEP = """
import torch
p = torch.nn.Parameter(torch.ones(1000))
p.grad = torch.ones(1000)
torch.optim.SGD([p], lr=1.0).step()
print(*p.tolist())  # 1 − 1: what is left is the noise
"""


def test_each_gradient_is_off_by_about_a_millionth():
    def left(seed):
        done = subprocess.run(
            [sys.executable, "-c", f"import another_processor{STEP}"],
            env=os.environ | {"ATTNBOOK_ROUNDING": seed, "PYTHONPATH": str(TESTS)},
            stdout=subprocess.PIPE,
            check=True,
        )
        return [float(x) for x in done.stdout.split()]

    first = left("1")
    assert first == left("1")
    assert first != left("2")
    assert 0.9e-6 < (sum(x * x for x in first) / 1000) ** 0.5 < 1.1e-6
