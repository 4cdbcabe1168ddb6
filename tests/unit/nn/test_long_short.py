"""Long–short attention: a loop over neighbours, and what must not change."""

import pytest
import torch
from compare import close, double, numbers, randomise, same

from attnbook.analysis.complexity import count
from attnbook.nn.long_short import LocalBranch, LongShortAttention, real_positions
from attnbook.nn.masks import key_mask
from attnbook.nn.multi_head import MultiHeadAttention


def by_loop(branch, x, real):
    """Gate, convolution and projection, position by position: x is (S, d)."""
    d, width = x.shape[1], branch.conv.kernel_size[0]
    both = x @ branch.gate.weight.T + branch.gate.bias  # (S, 2 d)
    gated = both[:, :d] / (1 + torch.exp(-both[:, d:]))
    rows = []
    for i in range(len(x)):
        row = branch.conv.bias
        for tap in range(width):
            j = i + tap - width // 2
            if 0 <= j < len(x) and real[j]:
                row = row + gated[j] * branch.conv.weight[:, 0, tap]
        rows.append(row @ branch.out.weight.T + branch.out.bias)
    return torch.stack(rows)


@pytest.mark.parametrize("width", [1, 3, 5, 9])
def test_the_local_branch_mixes_neighbours(width):
    branch = randomise(double(LocalBranch, 4, width))
    (x,) = numbers(0, (2, 6, 4))
    real = torch.tensor([[True] * 6, [True] * 4 + [False] * 2])
    loops = [by_loop(branch, *row) for row in zip(x, real, strict=True)]
    same(branch(x, real), torch.stack(loops), [x, *branch.parameters()])


@pytest.fixture
def layer():
    return randomise(double(LongShortAttention, 8, 2, 3))


def test_each_half_has_its_own_way(layer):
    (x,) = numbers(0, (2, 5, 8))
    far, near = x[..., :4], x[..., 4:]
    wanted = torch.cat([layer.attention(far, far, far), layer.local(near)], -1)
    same(layer(x), wanted, [x, *layer.parameters()])


def test_padding_changes_nothing(layer):
    """The outputs of real positions are those of the sentence alone."""
    ids = torch.tensor([[5, 6, 7, 8, 0, 0]])
    mask = key_mask(ids)
    (x,) = numbers(0, (1, 6, 8))
    alone = layer(x[:, :4])
    close(layer(x, x, x, mask)[:, :4], alone)
    other = torch.cat([x[:, :4], 9 * x[:, 4:]], 1)
    close(layer(other, other, other, mask)[:, :4], alone)


def test_real_positions_are_read_off_the_mask():
    ids = torch.tensor([[5, 6, 0], [5, 0, 0]])
    mask = key_mask(ids)
    assert torch.equal(real_positions(mask, torch.zeros(2, 3, 4)), ids > 0)


def test_it_is_lighter_than_attention_by_the_formula():
    d, n, k = 64, 30, 5
    layer, plain = LongShortAttention(d, 2, k), MultiHeadAttention(d, 4)
    x = torch.zeros(1, n, d)
    weights = sum(p.numel() for p in layer.parameters() if p.dim() > 1)
    assert weights == 1.75 * d * d + k * d / 2
    assert count(lambda: plain(x, x, x)) == 4 * n * d * d + 2 * n * n * d
    assert count(lambda: layer(x)) == 1.75 * n * d * d + n * n * d + k * n * d / 2
