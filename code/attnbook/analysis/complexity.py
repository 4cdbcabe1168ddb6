"""How much work is a layer, and how much is sequential? By formula and counted.

Formulas count multiply-adds (a product that is added to a sum) over n positions of
width d, without the batch: Vaswani et al. 2017, table 1, with the factors written out.
What grows with n · d alone (biases, softmax, activations) is left out.
"""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils.flop_counter import FlopCounterMode


def attention_work(n: int, d: int, *, projections: bool = True) -> int:
    """Multiply-adds of self-attention: scores and means; W^Q, W^K, W^V and W^O."""
    return 2 * n * n * d + (4 * n * d * d if projections else 0)


def count(call: Callable[[], object]) -> int:
    """Count the multiply-adds of matrix products and convolutions in a call.

    PyTorch's counter reckons a multiply-add as two operations. It does not know the
    fused attention kernel of the processor, so that one is taken apart here; nor the
    kernel of ``nn.LSTM``, which it counts as nothing.
    """
    with sdpa_kernel(SDPBackend.MATH), FlopCounterMode(display=False) as counter:
        call()
    return counter.get_total_flops() // 2


def longest_chain(out: Tensor) -> int:
    """Count the operations that must wait for each other: the longest path to ``out``.

    Walks back through the graph that PyTorch keeps for the gradients. Operations on no
    common path could run at the same time, on hardware with room for them.

    Weights and changes of shape count, too. A fused kernel is one operation,
    whatever it does inside, such as that of ``nn.LSTM`` on the processor: its chain
    says nothing.

    Args:
        out: A result that has gradients.

    Raises:
        ValueError: If it has none.
    """
    if out.grad_fn is None:
        raise ValueError(
            "this result keeps no graph; compute it from weights that have gradients, "
            "and not under torch.no_grad()"
        )
    depth: dict = {}
    todo = [out.grad_fn]
    while todo:  # no recursion: a recurrent layer is deeper than Python allows
        node = todo[-1]
        before = [other for other, _ in node.next_functions if other is not None]
        unknown = [other for other in before if other not in depth]
        if unknown:
            todo += unknown
        else:
            depth[node] = 1 + max((depth[other] for other in before), default=0)
            todo.pop()
    return depth[out.grad_fn]
