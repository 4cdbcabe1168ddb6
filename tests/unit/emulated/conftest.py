"""Each test of this folder runs twice: on the CPU, and on the emulated GPU."""

from contextlib import nullcontext

import pytest
from emulated_cuda import emulated_cuda


@pytest.fixture(params=["cpu", "cuda"])
def device(request):
    """The name of a device; a GPU is emulated while the test runs."""
    with emulated_cuda() if request.param == "cuda" else nullcontext():
        yield request.param
