"""The emulated GPU refuses what a GPU refuses: else the tests beside find nothing."""

import pytest
import torch
from emulated_cuda import DeviceMismatchError, emulated_cuda
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence

pytestmark = pytest.mark.usefixtures("gpu")


def here(*shape):
    return torch.ones(shape)


def there(*shape):
    return torch.ones(shape, device="cuda")


MIXES = {
    "sum": lambda: here(3) + there(3),
    "concatenation": lambda: torch.cat([here(3), there(3)]),
    "choice": lambda: torch.where(here(3) > 0, there(3), there(3)),
    "layer": lambda: nn.Linear(3, 2)(there(3)),
    "number of a GPU and vector": lambda: here(3) + there(),
    "index of a GPU": lambda: here(3)[there(3).long()],
    "sum into the CPU": lambda: here().add_(there()),
    "lengths": lambda: pack_padded_sequence(there(1, 2, 3), there(1).long(), True),
    "generator": lambda: there(3).multinomial(1, generator=torch.Generator()),
    "generator of a GPU": lambda: torch.rand(3, generator=torch.Generator("cuda")),
}


@pytest.mark.parametrize("how", MIXES)
def test_what_mixes_devices_is_refused(how):
    with pytest.raises(DeviceMismatchError):
        MIXES[how]()


def test_a_transfer_is_a_copy_and_staying_is_none():
    x = here(3)
    y = x.to("cuda")
    y += 1
    z = y.cpu()
    z += 1
    assert y.to("cuda") is y
    assert (x.tolist(), y.tolist()) == ([1, 1, 1], [2, 2, 2])
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        y.numpy()


def test_afterwards_nothing_is_left():
    kept = torch.cuda.is_available, nn.Module._apply, torch.Generator, torch.autocast
    with emulated_cuda((7, 5)):
        assert torch.cuda.is_available is not kept[0]
    now = torch.cuda.is_available, nn.Module._apply, torch.Generator, torch.autocast
    assert now == kept
