"""The emulated GPU allows what a GPU allows, and refuses what a GPU refuses."""

import copy

import pytest
import torch
from emulated_cuda import GPU, DeviceMismatchError, GpuTensor, emulated_cuda
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


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
    "product": lambda: there(2, 3) @ here(3),
    "concatenation": lambda: torch.cat([here(3), there(3)]),
    "mask": lambda: there(3).masked_fill(here(3).bool(), 0.0),
    "choice": lambda: torch.where(here(3) > 0, there(3), there(3)),
    "layer": lambda: nn.Linear(3, 2)(there(3)),
    "number of a GPU and vector": lambda: here(3) + there(),
    "index of a GPU": lambda: here(3)[there(3).long()],
    "sum into the CPU": lambda: here().add_(there()),
    "gather": lambda: there(3).gather(0, here(3).long()),
    "lengths": lambda: pack_padded_sequence(there(1, 2, 3), there(1).long(), True),
    "generator": lambda: there(3).multinomial(1, generator=torch.Generator()),
    "generator, no tensor": lambda: torch.rand(
        3, device="cuda", generator=torch.Generator()
    ),
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
    "part that is copied": lambda: there(3).index_put_((torch.tensor(1),), there()),
    "new tensor": lambda: torch.zeros_like(there(3)),
    "generator": lambda: torch.rand(
        3, device="cuda", generator=torch.Generator("cuda")
    ),
    "row of a loop": lambda: [*there(3, 2)][1],
    "tuple": lambda: there(3).max(0).values,
    "split": lambda: there(4).chunk(2)[1],
    "transfer": lambda: here(3).to("cuda"),
    "transfer by a tensor": lambda: here(3).to(there(1)),
    "transfer by a keyword": lambda: here(3).to(device="cuda", dtype=torch.half),
}


@pytest.mark.parametrize("how", ALLOWED)
def test_what_a_gpu_allows_is_there_afterwards(how):
    result = ALLOWED[how]()
    assert result.device == GPU
    assert result.is_cuda


def test_numbers_are_those_of_the_cpu():
    x = torch.arange(6.0).view(2, 3)
    y = (x.to("cuda") * 2).softmax(-1)
    assert isinstance(y, GpuTensor)
    assert torch.equal(y.cpu(), (x * 2).softmax(-1))
    assert y.tolist() == y.cpu().tolist()


def test_a_transfer_is_a_copy_and_staying_is_none():
    x = here(3)
    y = x.to("cuda")
    y += 1
    assert x.tolist() == [1, 1, 1]
    assert y.to("cuda") is y
    assert y.to(y) is y
    z = y.cpu()
    z += 1
    assert y.tolist() == [2, 2, 2]
    assert type(z) is torch.Tensor
    assert type(torch.zeros_like(y, device="cpu")) is torch.Tensor


def test_the_memory_of_a_gpu_is_no_array():
    with pytest.raises(TypeError, match="can't convert cuda:0"):
        there(3).numpy()


def test_a_model_moves_with_its_ties_and_gradients():
    model = nn.Sequential(nn.Linear(2, 2), nn.Linear(2, 2), nn.BatchNorm1d(2))
    model[1].weight = model[0].weight
    model(here(3, 2)).sum().backward()
    assert model.to("cuda") is model
    assert model[1].weight is model[0].weight
    assert {p.device for p in model.parameters()} == {GPU}
    assert {b.device for b in model.buffers()} == {GPU}
    assert all(isinstance(p, nn.Parameter) for p in model.parameters())
    assert model[0].weight.grad.device == GPU
    twin = copy.deepcopy(model).half()
    assert twin[1].weight is twin[0].weight is not model[0].weight
    assert (twin[0].weight.dtype, model[0].weight.dtype) == (torch.half, torch.float)
    assert isinstance(twin[0].weight, nn.Parameter)
    assert type(model.cpu()[0].weight) is nn.Parameter


def test_lengths_of_packed_sequences_stay_on_the_cpu():
    packed = pack_padded_sequence(there(2, 3, 1), torch.tensor([3, 1]), True)
    assert packed.data.device == GPU
    assert packed.batch_sizes.device.type == "cpu"
    padded, lengths = pad_packed_sequence(packed, True)
    assert padded.device == GPU
    assert lengths.device.type == "cpu"


def test_autocast_is_that_of_the_device():
    with torch.autocast("cuda", torch.bfloat16):
        assert (there(2, 2) @ there(2, 2)).dtype == torch.bfloat16
    assert (there(2, 2) @ there(2, 2)).dtype == torch.float32


def test_afterwards_nothing_is_left():
    kept = torch.cuda.is_available, nn.Module._apply, torch.Generator, torch.autocast
    with emulated_cuda((7, 5)):
        assert torch.cuda.get_device_capability() == (7, 5)
        assert torch.cuda.is_available is not kept[0]
    now = torch.cuda.is_available, nn.Module._apply, torch.Generator, torch.autocast
    assert now == kept
