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

from attnbook.nn.layers import TransformerConfig


def attention_work(n: int, d: int, *, projections: bool = True) -> int:
    """Multiply-adds of self-attention: scores and means; W^Q, W^K, W^V and W^O."""
    return 2 * n * n * d + (4 * n * d * d if projections else 0)


def windowed_work(n: int, d: int, r: int, *, projections: bool = True) -> int:
    """Of restricted self-attention, where each position attends to r positions."""
    return 2 * r * n * d + (4 * n * d * d if projections else 0)


def recurrent_work(n: int, d: int, gates: int = 3) -> int:
    """Of a recurrent layer: 1 map of input and state (RNN), 3 (GRU) or 4 (LSTM)."""
    return 2 * gates * n * d * d


def convolution_work(n: int, d: int, k: int) -> int:
    """Of a convolution of width k: a matrix for each of the k distances."""
    return k * n * d * d


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


def forward_flops(
    config: TransformerConfig, batch: int, source: int, target: int
) -> int:
    """Operations of predicting a padded batch, a multiplication and an addition two.

    Only matrix products are counted: all else is few operations. The attention's
    products are counted for all pairs of positions, as they are computed before the
    mask.

    Args:
        config: Sizes of the model.
        batch: Sentences B.
        source: Positions S of each source.
        target: Positions T of each target.
    """
    d = config.d_model
    network = 2 * d * config.d_ff  # multiplications for one position
    encoder = source * (4 * d * d + network) + _attention(source, source, d)
    decoder = target * (6 * d * d + network) + source * 2 * d * d
    decoder += _attention(target, target, d) + _attention(target, source, d)
    words = target * d * (config.target_vocab_size or config.source_vocab_size)
    return 2 * batch * (config.n_layers * (encoder + decoder) + words)


def _attention(queries: int, keys: int, d_model: int) -> int:
    """Multiplications of all heads: scores, and weights times values."""
    return 2 * queries * keys * d_model


def training_flops(
    config: TransformerConfig, batch: int, source: int, target: int
) -> int:
    """Operations of one training step: a product has two gradients as large as it."""
    return 3 * forward_flops(config, batch, source, target)
