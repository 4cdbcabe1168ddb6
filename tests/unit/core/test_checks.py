"""Sizes that are none."""

import pytest

from attnbook.core.checks import check_sizes


@pytest.mark.parametrize("size", [0, -1, 1.0, "1", True, None])
def test_a_size_is_a_whole_number_from_1_on(size):
    check_sizes(rows=1, columns=2)
    with pytest.raises(ValueError, match=f"^columns is {size!r}; it must be a whole"):
        check_sizes(rows=1, columns=size)
