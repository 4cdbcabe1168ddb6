"""The emulated GPU allows what a GPU allows, and refuses what a GPU refuses."""

import copy

import pytest
import torch
from emulated_cuda import GPU, DeviceMismatchError, GpuTensor, emulated_cuda
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence


@pytest.fixture(autouse=True)
def gpu():
    with emulated_cuda():
        yield


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


ALLOWED = {
    "number of the CPU": lambda: there(3) + torch.tensor(2.0),
    "index of the CPU": lambda: there(3)[torch.tensor([0, 2])],
    "copy": lambda: there(3).copy_(here(3)),
    "row of a loop": lambda: [*there(3, 2)][1],
    "tuple": lambda: there(3).max(0).values,
    "transfer by a keyword": lambda: here(3).to(device="cuda", dtype=torch.half),
}


@pytest.mark.parametrize("how", ALLOWED)
def test_what_a_gpu_allows_is_there_afterwards(how):
    result = ALLOWED[how]()
    assert isinstance(result, GpuTensor)
    assert result.device == GPU


def test_a_transfer_is_a_copy_and_staying_is_none():
    x = here(3)
    y = x.to("cuda")
    y += 1
    assert x.tolist() == [1, 1, 1]
    assert y.to("cuda") is y
    z = y.cpu()
    z += 1
    assert y.tolist() == [2, 2, 2]
    assert type(z) is torch.Tensor
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        y.numpy()


def test_a_model_moves_with_its_ties_and_gradients():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.BatchNorm1d(2))
    model[1].weight = model[0].weight
    model(here(3, 2)).sum().backward()
    assert model.to("cuda") is model
    assert model[1].weight is model[0].weight
    assert {x.device for x in (*model.parameters(), *model.buffers())} == {GPU}
    assert all(isinstance(p, nn.Parameter) for p in model.parameters())
    assert model[0].weight.grad.device == GPU
    twin = copy.deepcopy(model).half()
    assert twin[1].weight is twin[0].weight is not model[0].weight
    assert isinstance(twin[0].weight, nn.Parameter)
    assert type(model.cpu()[0].weight) is nn.Parameter


def test_afterwards_nothing_is_left():
    kept = torch.cuda.is_available, nn.Module._apply, torch.Generator, torch.autocast
    with emulated_cuda((7, 5)):
        assert torch.cuda.get_device_capability() == (7, 5)
        assert torch.cuda.is_available is not kept[0]
    now = torch.cuda.is_available, nn.Module._apply, torch.Generator, torch.autocast
    assert now == kept
