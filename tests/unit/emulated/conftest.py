"""What must run on a GPU runs here on an emulated one."""

import pytest
from emulated_cuda import emulated_cuda


@pytest.fixture
def gpu():
    """The name of a GPU, which is emulated while the test runs."""
    with emulated_cuda():
        yield "cuda"
