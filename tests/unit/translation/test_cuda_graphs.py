"""Recorded steps: what a processor can show of them, and what only a GPU can.

On a processor: what tells recordings apart, and that the function is called as it is.

On a GPU only: that a recording is made after some calls, that it computes with the
numbers it is given (they are copied in), that its result stays (it is copied out), and
that the streams wait for each other. Without a GPU no test of those lines can fail; a
stand-in for one would test the stand-in.
"""

import pytest
import torch
from torch import nn

from attnbook.translation.cuda_graphs import EAGER_CALLS, GraphedFunction, signature


@pytest.mark.parametrize(
    ("inputs", "same"),
    [
        ([torch.ones(2, 3), torch.ones(4)], True),
        ([torch.ones(3, 2), torch.ones(4)], False),
        ([torch.ones(4), torch.ones(2, 3)], False),
        ([torch.ones(2, 3)], False),
        ([torch.ones(2, 3), torch.ones(4, dtype=torch.bfloat16)], False),
        ([torch.ones(2, 3), torch.ones(4, dtype=torch.int64)], False),
    ],
    ids=["values", "shape", "order", "number", "precision", "kind of number"],
)
def test_a_recording_is_for_shapes_and_dtypes(inputs, same):
    first = signature([torch.zeros(2, 3), torch.zeros(4)])
    assert (signature(inputs) == first) == same


def test_on_a_processor_the_function_is_called_each_time():
    asked = []

    def add(x, y):
        asked.append((x, y))
        return x + y

    replayed = GraphedFunction(add)
    for call in range(EAGER_CALLS + 3):
        x, y = torch.full((2,), float(call)), torch.ones(2)
        assert replayed(x, y).tolist() == [call + 1.0] * 2
        assert all(a is b for a, b in zip(asked[-1], (x, y), strict=True))
    assert len(asked) == EAGER_CALLS + 3
    assert not replayed.recordings


if torch.cuda.is_available():  # a machine without a GPU skips nothing

    def recorded(function, *inputs):
        """The function, recorded for these inputs."""
        replayed = GraphedFunction(function)
        for _ in range(EAGER_CALLS + 1):
            replayed(*inputs)
        assert list(replayed.recordings) == [signature(inputs)]
        return replayed

    def test_new_numbers_go_in_and_old_results_stay():
        ones = torch.ones(1000, device="cuda")
        double = recorded(lambda x: 2 * x, ones)
        results = [double(n * ones) for n in range(4)]
        for n, result in enumerate(results):
            assert torch.equal(result, 2 * n * ones)
        assert len(double.recordings) == 1
        low = ones.bfloat16()
        for _ in range(EAGER_CALLS + 2):
            assert double(low).dtype == torch.bfloat16
        assert len(double.recordings) == 2

    def test_the_streams_wait_for_each_other():
        """Long work before and after each call, on the stream of the caller."""
        large = torch.rand(4096, 4096, device="cuda")
        replayed = GraphedFunction(lambda x: x @ large)
        for call in range(EAGER_CALLS + 3):
            x = large
            for _ in range(10):
                x = x @ large / 2048
            found = replayed(x * call)
            wanted = (x * call) @ large
            torch.testing.assert_close(found, wanted)

    def test_a_replayed_step_has_the_loss_and_gradient_of_a_plain_one():
        layer = nn.Linear(64, 64, device="cuda")
        layer.weight.grad = torch.zeros_like(layer.weight)
        layer.bias.grad = torch.zeros_like(layer.bias)

        def step(x):
            layer.zero_grad(set_to_none=False)
            loss = layer(x).square().mean()
            loss.backward()
            return loss.detach()

        replayed = recorded(step, torch.ones(8, 64, device="cuda"))
        for seed in range(3):
            torch.manual_seed(seed)
            x = torch.randn(8, 64, device="cuda")
            found = replayed(x), layer.weight.grad.clone()
            wanted = step(x), layer.weight.grad
            torch.testing.assert_close(found, wanted)

    def test_a_seed_set_before_a_replay_decides_its_dropout():
        ones = torch.ones(1000, device="cuda")
        drop = recorded(lambda x: torch.dropout(x, 0.5, True), ones)
        drawn = []
        for seed in (1, 1, 2):
            torch.manual_seed(seed)
            drawn.append(drop(ones))
        assert drawn[0].equal(drawn[1])
        assert not drawn[0].equal(drawn[2])
