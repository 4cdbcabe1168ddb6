"""Sizes and shares that are none, and those of NumPy that are."""

import re
from importlib.metadata import version

import numpy as np
import pytest
import torch
from compare import make_transformer, sentences

import attnbook
from attnbook.core.checks import check_dropout, check_shares, check_sizes
from attnbook.nn import attention, causal_mask
from attnbook.nn.local_attention import MonotonicAlignment

NAN = float("nan")


def test_a_size_is_counted_from_1_on():
    check_sizes(rows=1, columns=2)
    check_sizes(-3, columns=np.int8(-3))
    for least, size in ((1, 0), (1, np.int64(0)), (2, 1)):
        wanted = f"columns is .*; .* whole number from {least} on$"
        with pytest.raises(ValueError, match=wanted):
            check_sizes(least, rows=least, columns=size)


@pytest.mark.parametrize(
    "size",
    [1.0, "1", True, None, NAN, np.float64(1), np.True_, torch.tensor(1)],
)
def test_a_size_is_a_whole_number(size):
    """1.0 is one, too; so the type is named, and what makes it."""
    wanted = (
        f"columns is {size!r}; it must be a whole number from 1 on, of type int: "
        "int(columns) turns a number into it"
    )
    with pytest.raises(ValueError, match=re.escape(wanted)):
        check_sizes(rows=1, columns=size)


@pytest.mark.parametrize("kind", [np.int64, np.int32, np.uint8])
def test_numpys_integers_are_whole_numbers(kind):
    """And what they make works: the same as with Python's."""
    sizes = {"d_model": 8, "n_heads": 2, "n_layers": 1, "d_ff": 12}
    models = []
    for number in (int, kind):
        torch.manual_seed(0)
        chosen = {name: number(size) for name, size in sizes.items()}
        models.append(make_transformer(number(12), **chosen).eval())
    src = sentences(0, [4, 2], 12)
    assert torch.equal(*(model(src, src) for model in models))
    assert torch.equal(causal_mask(kind(3), kind(4), kind(1)), causal_mask(3, 4, 1))
    assert MonotonicAlignment(kind(2)).half_width == 2


@pytest.mark.parametrize(
    "share",
    [1, 1.0, -0.1, 2, NAN, float("inf"), np.float32(1), "0.1", None, True, [0.1]],
)
def test_a_share_is_a_number_from_0_to_below_1(share):
    wanted = f"smoothing is {share!r}; it is a share, a number from 0 (none) to below 1"
    with pytest.raises(ValueError, match=re.escape(wanted)):
        check_shares(dropout=0.0, smoothing=share)
    with pytest.raises(ValueError, match=r"^dropout is .* a share") as error:
        check_dropout(share)
    other = isinstance(share, str | list | bool) or share is None
    assert ("float(dropout)" in str(error.value)) == other


@pytest.mark.parametrize("kind", [float, np.float32, np.float16])
def test_numpys_numbers_are_shares(kind):
    check_dropout(kind(0.2))
    x = torch.ones(1, 2, 3)
    assert attention(x, x, x, dropout=kind(0.2)).shape == (1, 2, 3)


def test_the_package_knows_its_version():
    assert attnbook.__version__ == version("attnbook")
    with pytest.raises(AttributeError, match="'attnbook' has no attribute 'x'"):
        _ = attnbook.x
