"""One attention layer that reads two bits."""

import pytest
import torch
from compare import close

from attnbook.toy.bit_pairs import NETWORKS, PAIRS, XOR, PairReader, train_on_pairs


def test_the_answers_are_the_xor_of_the_bits():
    for (question, first, second), answer in zip(
        PAIRS.tolist(), XOR.tolist(), strict=True
    ):
        assert question == 2
        assert answer == first ^ second
    assert len({tuple(ids) for ids in PAIRS.tolist()}) == 4


def test_equal_weights_average_the_values():
    torch.manual_seed(0)
    model = PairReader(NETWORKS["none"](), equal_weights=True).double()
    x = model.embedding(PAIRS) + model.positions.weight  # (4, 3, D)
    attention = model.attention
    mean = attention.W_O(attention.W_V(x).mean(1))  # (4, D)
    wanted = model.out(2 * (x[:, 0] + mean))  # nothing adds its input once more
    close(model(PAIRS), wanted)


@pytest.mark.parametrize("network", ["none", "linear"])
def test_without_relu_and_with_equal_weights_logits_are_additive(network):
    torch.manual_seed(0)
    model = PairReader(NETWORKS[network](), equal_weights=True).double()
    both_0, last, first, both_1 = model(PAIRS)
    close(first + last, both_0 + both_1)


def test_with_relu_xor_is_learned_and_the_queries_stay_zero():
    torch.manual_seed(0)
    model = PairReader(NETWORKS["ReLU"](), equal_weights=True)
    loss, right = train_on_pairs(model, steps=200, learning_rate=1e-2)
    assert right == 4
    assert loss < 0.1
    assert not any(p.any() for p in model.attention.W_Q.parameters())


def test_steps_are_counted_from_one():
    with pytest.raises(ValueError, match="steps is 0"):
        train_on_pairs(PairReader(NETWORKS["none"]()), steps=0, learning_rate=0.1)
